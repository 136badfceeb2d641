"""Draws what `anamnesis init` did: the agents in a table, the number of files, and the next step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.cli.context import settings
from anamnesis.cli.init_questions import feature_columns, shortened, ticks
from anamnesis.cli.output import bare_table, console
from anamnesis.cli.plans import action
from anamnesis.onboard import machine
from anamnesis.onboard.agent import Agent
from anamnesis.onboard.agents import AGENTS
from anamnesis.onboard.ledger import FOLDER
from anamnesis.onboard.plan import Plan
from anamnesis.plural import counted, listed

if TYPE_CHECKING:
    from rich.text import Text

_DONE = {"create": "new", "change": "changed", "remove": "removed"}


def draw_report(agents: Sequence[Agent], done: Plan, news: Sequence[str]) -> None:
    """Draw the agents that were set up, and the sentences of `news`."""
    from rich.text import Text

    screen = console()
    if not any(agent.name in AGENTS for agent in agents):
        screen.print(f"No agent was found. Name one with --agent: {', '.join(AGENTS)}.")
    if agents:
        table = bare_table("", "agent", *feature_columns(), "files")
        for agent in agents:
            table.add_row(*_row(agent, done))
        screen.print(table)
    screen.print(_count(done))
    for line in news:
        screen.print(line)
    changed = [agent for agent in agents if any(agent.name in change.agents for change in done.changes)]
    for agent in agents:
        if agent.remark and (agent in changed or agent.plugin):
            screen.print(Text.assemble((f"{agent.title}: ", "bold"), agent.remark), style="yellow")
    for line in _gaps(changed, done):
        screen.print(line, style="yellow")
    if changed:
        _draw_program()
    _draw_next([agent.title for agent in changed if agent.name in AGENTS])


def _gaps(agents: Sequence[Agent], done: Plan) -> Iterator[str]:
    """Sentences on the features that the agents lack, as they have no hook for them."""
    known = [agent for agent in agents if agent.name in AGENTS and agent.edits]
    if without_notes := [agent for agent in known if not agent.verbs & {"inject", "recall"}]:
        is_written = any(agent.instructions in change.edits for agent in without_notes for change in done.changes)
        advice = "" if is_written else " `anamnesis init --instructions` adds a line that asks it to."
        yield f"No hook can give notes to {_titles(without_notes)}: the model has to search for them.{advice}"
    if uncaptured := [agent for agent in known if "capture" not in agent.verbs]:
        yield f"No hook reports the end of a session of {_titles(uncaptured)}: their sessions are not captured."


def _titles(agents: Sequence[Agent]) -> str:
    return listed(agent.title for agent in agents)


def _row(agent: Agent, done: Plan) -> list[Text]:
    from rich.text import Text

    is_refused = any(agent.name in refusal.agents for refusal in done.refusals)
    launcher = Path(machine.program(settings()).words[0])  # all agents share it
    own = (change for change in done.changes if agent.name in change.agents and change.file != launcher)
    counts = Counter(_DONE[action(change)] for change in own)
    state = ", ".join(f"{number} {what}" for what, number in counts.items())
    sign = Text("✗", "red") if is_refused else Text("✓", "green")
    return [sign, Text(agent.title, "bold"), *ticks(agent), Text(state or ("refused" if is_refused else "as before"))]


def _count(done: Plan) -> str:
    """How many files were written, in a sentence."""
    if not done.changes:
        return "No file had to change."
    counts = Counter(_DONE[action(change)] for change in done.changes)
    parts = ", ".join(f"{number} {what}" for what, number in counts.items())
    saved = f" Their previous contents are in {shortened(settings().home / FOLDER)}." if counts["changed"] else ""
    return f"{counted(len(done.changes), 'file')} written ({parts}).{saved}"


def _draw_program() -> None:
    """Print which program agents start, if it may disappear."""
    screen = console()
    program = machine.program(settings())
    if machine.runs_from_cache():
        screen.print(
            "anamnesis runs from a cache that may be cleared: install it, then run this command again.", style="yellow"
        )
    elif program.runs:
        screen.print(
            f"Agents start {shortened(Path(program.words[0]))}, which runs {program.runs[0]} in a virtual environment."
            " If that folder moves, run `anamnesis init` there again.",
            style="yellow",
        )


def _draw_next(titles: Sequence[str]) -> None:
    if titles:
        them = "them" if len(titles) > 1 else "it"
        console().draw("Next: restart {} to give {} a memory.", listed(titles), them, style="bold")
        console().print("`anamnesis doctor` checks the setup, `anamnesis uninstall` removes it.", style="dim")
    else:
        console().print('Next: anamnesis write "Title" "What to remember"', style="bold")
