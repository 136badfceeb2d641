"""The questions of `anamnesis init`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anamnesis.cli.context import settings
from anamnesis.cli.output import bare_table, console
from anamnesis.cli.plans import action
from anamnesis.config import setting
from anamnesis.errors import InvalidArgument
from anamnesis.onboard.agent import FEATURES, Agent
from anamnesis.onboard.agents import AGENTS
from anamnesis.onboard.plan import Plan
from anamnesis.onboard.setup import plan_setup
from anamnesis.plural import listed, these

if TYPE_CHECKING:
    from rich.table import Column
    from rich.text import Text

# How many files a confirmation lists.
_MOST_FILES = 15


class _AgentName(click.Choice[str]):
    """The name of an agent, also as its makers write it: claude-code, "Gemini CLI", factory-droid."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        plain = re.sub(r"[^a-z]|^factory|^github", "", value.lower())
        forms = {form: name for name in self.choices for form in _forms(name.replace("-", ""))}
        return super().convert(forms.get(plain, value), param, ctx)


def agent_option(help: str) -> Callable[..., Any]:
    """The option that selects agents."""
    return click.option(
        "--agent",
        "names",
        multiple=True,
        type=_AgentName(list(AGENTS)),
        metavar="NAME",
        help=f"{help} One of: {', '.join(AGENTS)}.",
    )


def _forms(name: str) -> tuple[str, ...]:
    return f"{name}cli", f"{name}code", name


def features(agent: Agent) -> dict[str, bool]:
    """The features of an agent: the server, and the hooks at session start, at a prompt and at session end."""
    return {name: verb in agent.verbs for name, verb in FEATURES.items()}


def feature_columns() -> list[Column]:
    """The columns of a table that shows the features of agents."""
    from rich.table import Column

    return [Column({"mcp": "MCP"}.get(name, name), justify="center") for name in FEATURES]


def ticks(agent: Agent) -> list[Text]:
    """The features of an agent, in a table's row."""
    from rich.text import Text

    return [Text("✓", "green") if has else Text("–", "dim") for has in features(agent).values()]


def ask_agents(found: Sequence[Agent]) -> list[Agent]:
    """Ask which of the detected agents to set up."""
    draw_agents(found)
    names = {str(number): agent for number, agent in enumerate(found, 1)} | {agent.name: agent for agent in found}

    def chosen(answer: str) -> list[Agent]:
        words = re.split(r"[\s,]+", answer.strip().lower())
        if words in (["all"], ["none"]):
            return list(found) if words == ["all"] else []
        unknown = [word for word in words if word not in names]
        if unknown:
            raise click.UsageError(f"{unknown[0]} is not in the list.")
        return [agent for agent in found if agent in [names[word] for word in words]]

    answer: list[Agent] = click.prompt("Set up which (numbers, names, all or none)", default="all", value_proc=chosen)
    return answer


def draw_agents(found: Sequence[Agent]) -> None:
    """Show the detected agents and their features."""
    from rich.table import Column
    from rich.text import Text

    screen = console()
    screen.draw("Notes are kept in [bold]{}[/] on [bold]{}[/].", shortened(settings().home), settings().machine_id)
    table = bare_table(Column(justify="right"), "found", *feature_columns(), "")
    for number, agent in enumerate(found, 1):
        plan = plan_setup([agent])
        state = "" if plan.changes or plan.refusals else "set up"
        table.add_row(Text(str(number), "dim"), Text(agent.title, "bold"), *ticks(agent), Text(state, "dim"))
    screen.print(table)
    screen.print(
        "At start and prompt, an agent gets relevant notes; at its end, a session becomes a note.", style="dim"
    )


def ask_instructions(agents: Sequence[Agent]) -> list[Agent]:
    """Ask whether to add a line to the instructions of agents without hooks; returns these agents, or none."""
    without_hooks = [agent for agent in agents if agent.instructions]
    if not without_hooks:
        return []
    names = listed(agent.title for agent in without_hooks)
    question = f"{names}: no hooks. Add a line about the memory to the instructions?"
    return without_hooks if click.confirm(question, default=True) else []


def ask_remote() -> dict[str, str | None]:
    """Ask which git repository syncs the notes."""
    question = "Git repository that carries the notes between your machines (empty: none yet)"
    answer = _ask("remote", question, default="")
    return {"remote": answer} if answer else {}


def ask_reflection() -> dict[str, str | None]:
    """Ask whether a model summarises sessions, and how it is reached; by default, rules do it without one."""
    question = "When a session ends, rules on this machine write its note. Let a model summarise it instead?"
    if not click.confirm(question, default=False):
        return {}
    answers: dict[str, str | None] = {"reflection_provider": "openai"}
    for name, question in (
        ("reflection_base_url", "Address of an OpenAI-compatible endpoint"),
        ("reflection_model", "Model"),
    ):
        answers[name] = _ask(name, question, default=setting(name).default)
    key = _ask("reflection_api_key", "API key, which is not shown (empty: none)", default="", hide_input=True)
    return answers | ({"reflection_api_key": key} if key else {})


def _ask(name: str, question: str, *, default: str, hide_input: bool = False) -> str:
    """Ask for the value of a setting until it is valid."""

    def checked(answer: str) -> str:
        try:
            return setting(name).check(answer) if answer.strip() else ""
        except InvalidArgument as error:
            raise click.UsageError(str(error)) from error

    answer: str = click.prompt(
        question, default=default, show_default=bool(default), value_proc=checked, hide_input=hide_input
    )
    return answer


def confirm(plan: Plan) -> bool:
    """Ask whether these files may be changed."""
    from rich.text import Text

    table = bare_table(show_header=False)
    for change in plan.changes[:_MOST_FILES]:
        table.add_row(Text(action(change), "dim"), Text(shortened(change.file), overflow="fold"))
    console().print(table)
    count = len(plan.changes)
    more = f"and {count - _MOST_FILES} more; " if count > _MOST_FILES else ""
    command = click.get_current_context().info_name
    click.echo(f"  {more}`anamnesis {command} --print` shows every change as a diff.")
    return click.confirm(f"Change {these(count, 'file')}?", default=True)


def shortened(path: Path) -> str:
    """A path with the user's home folder as `~`."""
    home = settings().user_home
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
