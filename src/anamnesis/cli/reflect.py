"""`anamnesis reflect`: folds what happened in sessions into durable notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json, open_store, project_option
from anamnesis.cli.output import bare_table, console, in_a_line, on_terminal, print_json, print_lines, progress_bar
from anamnesis.plural import counted

if TYPE_CHECKING:
    from anamnesis.dream.reflecting import ReflectionResult, Way
    from anamnesis.store import MemoryStore


@click.command()
@project_option("Only episodes of this project.")
@click.option("--rules", is_flag=True, help="Use rules, even if a model is configured.")
@click.option("--dry-run", is_flag=True, help="Show what would be learned, and change nothing.")
@as_json
def command(project: str | None, rules: bool, dry_run: bool, as_json: bool) -> None:
    """Turn episodes into durable notes: causes, decisions, conventions and preferences that sessions stated.

    Each new note names its sources. These get the tag `reflected`: new sessions no longer get them, but searches still
    find them. Knowledge that a durable note already holds is not written again, and an episode without durable
    knowledge is left alone. Changes to notes that you pinned or edited are not applied but listed by
    `anamnesis review`. `anamnesis dream undo` undoes a reflection.

    The model of `reflection_provider` reads the episodes if one is configured, else rules do. If the model fails,
    nothing is changed. The daemon reflects by rules when it is idle.

    \b
    In a pipe: learned, confirmed, held or review; id; confidence; sources; title, separated by tabs.
    JSON: {"way", "looked_at", "left", "seconds", "learned": [a note as in show, with "sources"],
    "confirmed": [{"id", "sources"}], "held": [{"id", "sources"}], "review": [proposals as in
    dream]}; also "id", that of the reflection, if anything was changed. "confirmed" are earlier notes
    that further episodes state, "held" the notes that already hold what episodes state.
    """
    from anamnesis.dream.reflecting import reflect

    with open_store() as store, progress_bar("Reflecting") as progress:
        outcome = reflect(store, _way(store, rules), project=project, dry_run=dry_run, progress=progress)
    if as_json:
        print_json(_as_dict(outcome))
    elif on_terminal():
        _draw(outcome, is_rehearsed=dry_run)
    else:
        print_lines([*_lines(outcome)])


def _way(store: MemoryStore, rules: bool) -> Way:
    from anamnesis.dream.reflecting import by_rules, with_model

    reflection = settings().reflection
    if rules or reflection.provider == "heuristic":
        return by_rules(store)
    return with_model(store, reflection, settings().machine_id)


def _as_dict(outcome: ReflectionResult) -> dict[str, Any]:
    from anamnesis.dream.dream_journal import shown
    from anamnesis.dream.episodes import proposal_of
    from anamnesis.notes import as_dict
    from anamnesis.notes.marks import SOURCES, linked

    learned = [note for folding in outcome.done for note in folding.learned]
    confirmed = [note for folding in outcome.done for note in folding.confirmed]
    return {
        **({"id": outcome.change.id} if outcome.change else {}),
        "way": outcome.way,
        "looked_at": outcome.looked_at,
        "left": outcome.left,
        "seconds": round(outcome.seconds, 3),
        "learned": [{**as_dict(note), "sources": linked(note, SOURCES)} for note in learned],
        "confirmed": [{"id": note.id, "sources": linked(note, SOURCES)} for note in confirmed],
        "held": [{"id": id, "sources": sources} for id, sources in _held(outcome).items()],
        "review": [shown(proposal_of(folding), "review") for folding in outcome.review],
    }


def _held(outcome: ReflectionResult) -> Mapping[str, Sequence[str]]:
    """The notes that already hold what episodes state, with these episodes."""
    held: dict[str, list[str]] = {}
    for folding in outcome.done:
        for episode, notes in folding.covered.items():
            for note in notes:
                held.setdefault(note, []).append(episode)
    return held


def _lines(outcome: ReflectionResult) -> Iterator[Sequence[object]]:
    found = _as_dict(outcome)
    for note in found["learned"]:
        yield "learned", note["id"], f"{note['confidence']:.2f}", " ".join(note["sources"]), note["title"]
    for name in ("confirmed", "held"):
        yield from ((name, note["id"], "", " ".join(note["sources"]), "") for note in found[name])
    for proposal in found["review"]:
        notes = " ".join(proposal["notes"])
        yield "review", proposal["id"], f"{proposal['confidence']:.2f}", notes, proposal["reason"]


def _draw(outcome: ReflectionResult, *, is_rehearsed: bool) -> None:
    from rich.table import Column
    from rich.text import Text

    from anamnesis.notes.marks import SOURCES, linked

    screen = console()
    table = bare_table(Column("", no_wrap=True), Column("learned", ratio=3), "sure", Column("from", ratio=2))
    for folding in outcome.done:
        titles = {episode.id: episode.title for episode in folding.episodes}
        for note in folding.learned:
            sources = "; ".join(in_a_line(titles[id]) for id in linked(note, SOURCES) if id in titles)
            kind = Text(note.type, "green" if note.type == "procedural" else "cyan")
            table.add_row(kind, in_a_line(note.title), f"{note.confidence:.0%}", Text(sources, "dim"))
    if table.row_count:
        screen.print(table)
    screen.print(_summary(outcome, is_rehearsed), style="dim")
    if outcome.left:
        screen.print(
            f"{counted(outcome.left, 'episode is', 'episodes are')} left for the next reflection.", style="dim"
        )
    if outcome.change:
        screen.print(f"`anamnesis dream undo {outcome.change.id}` reverts it.", style="dim")
    if outcome.review:
        screen.print("`anamnesis review` lists what is for you.", style="dim")


def _summary(outcome: ReflectionResult, is_rehearsed: bool) -> str:
    learned = sum(len(folding.learned) for folding in outcome.done)
    episodes = sum(len(folding.episodes) for folding in outcome.done)
    examined = counted(outcome.looked_at, "unreflected episode")
    folded = f"{counted(learned, 'new note')} from {counted(episodes, 'episode')}"
    held = (
        f", and {counted(count, 'note holds', 'notes hold')} some of it already"
        if (count := len(_held(outcome)))
        else ""
    )
    verb = "Would write" if is_rehearsed else "Wrote"
    return f"Examined {examined} by {outcome.way}. {verb} {folded}{held}."
