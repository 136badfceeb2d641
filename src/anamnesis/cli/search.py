"""`anamnesis search`: the notes that best match any words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from anamnesis.cli.nothing_found import nothing_found
from anamnesis.cli.options import RECONCILE, as_json, filters, open_memory
from anamnesis.cli.output import age, console, on_terminal, print_json, print_lines
from anamnesis.notes import as_dict
from anamnesis.store import Hit
from anamnesis.store.marking import Span, matches

if TYPE_CHECKING:
    from rich.text import Text

# A longer text is marked, and its excerpt chosen, by its beginning alone.
_LONGEST_READ = 200_000
_EXCERPT = 240


@click.command()
@click.argument("query", nargs=-1, required=True)
@filters
@click.option("-k", type=click.IntRange(min=0), default=8, show_default=True, help="How many at the most.")
@as_json
def command(
    query: tuple[str, ...], project: str | None, type: str | None, scope: str | None, k: int, as_json: bool
) -> None:
    """Find the notes that best match any words of QUERY, the best first.

    A phrase in double quotes counts as it stands: anamnesis search '"busy timeout" sqlite'.

    \b
    In a pipe: id, score, type, project, title, separated by tabs.
    JSON: [{"id", "type", "title", "project", "machine_id", "scope", "tags", "created_at",
            "updated_at", "prov_source", "prov_model", "prov_session", "confidence",
            "supersedes", "body", "score"}]
    """
    text = " ".join(query)
    with open_memory(only_to_read=True) as vault:
        hits = vault.notes.hits(text, project=project, type=type, scope=scope, k=k)
        if not hits and project:
            vault.notes.check_project(project)
        for_people = on_terminal() and not as_json
        bridge = vault.status() if for_people else None
        filtered = bool(type or scope)
        advice = nothing_found(vault.notes, text, project, filtered=filtered) if for_people and k and not hits else []
    if as_json:
        print_json([{**as_dict(hit.memory), "score": round(hit.score, 6)} for hit in hits])
    elif on_terminal():
        for line in advice:
            console().print(line, style="dim")
        _draw(text, _worth_showing(hits))
        if bridge and bridge.waiting.observations:
            console().draw("[yellow]{:,} observations are not notes yet:[/] {}", bridge.waiting.observations, RECONCILE)
    else:
        found = [(hit.memory, _score(hit)) for hit in _worth_showing(hits)]
        print_lines([(note.id, score, note.type, note.project, note.title) for note, score in found])


def _worth_showing(hits: list[Hit]) -> list[Hit]:
    """The hits without those that only share words with most notes, as long as there are others."""
    return [hit for hit in hits if round(hit.score, 3)] or hits


def _score(hit: Hit) -> str:
    """The score in three decimals, never 0.000: among a few notes, every word is in most of them and weighs little."""
    return f"{max(hit.score, 0.001):.3f}"


def _draw(query: str, hits: list[Hit]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    screen = console()
    best = max((hit.score for hit in hits), default=0.0)
    bodies = [" ".join(hit.memory.body[:_LONGEST_READ].split()) for hit in hits]
    titles = matches([hit.memory.title for hit in hits], query)
    for number, (hit, title, body, spans) in enumerate(
        zip(hits, titles, bodies, matches(bodies, query), strict=True), start=1
    ):
        note = hit.memory
        strength = "▮" * max(1, round(5 * hit.score / best)) if best > 0 else "▮"
        head = Text.assemble(
            (f"{number:>2} ", "dim"), _marked(note.title, title, "bold"), "  ", (f"{strength:<5}", "cyan")
        )
        screen.print(head)
        screen.print(Text(f"   {note.id}  {note.type} · {note.project} · {age(note.updated_at)}", "dim"))
        screen.print(Padding(_excerpt(body, spans), (0, 0, 1, 3)))


def _marked(text: str, spans: list[Span], style: str = "") -> Text:
    from rich.text import Text

    marked = Text(text, style)
    for start, end in spans:
        marked.stylize("yellow", start, end)
    return marked


def _excerpt(body: str, spans: list[Span]) -> Text:
    """The part of a text around the first match, marked."""
    start = max(0, spans[0][0] - _EXCERPT // 4) if spans else 0
    end = start + _EXCERPT
    before, after = "…" if start else "", "…" if end < len(body) else ""
    shift = len(before) - start
    inside = [(first + shift, min(last, end) + shift) for first, last in spans if first < end]
    return _marked(f"{before}{body[start:end]}{after}", inside)
