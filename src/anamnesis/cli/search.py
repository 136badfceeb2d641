"""`anamnesis search`: the notes that best match any words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from anamnesis.cli.last_result import remember
from anamnesis.cli.options import RECONCILE, as_json, filters, long_option, open_memory, sort_option
from anamnesis.cli.output import age, console, on_terminal, print_json, print_lines
from anamnesis.cli.rows import draw_rows, paged
from anamnesis.notes import as_dict
from anamnesis.plural import counted
from anamnesis.recall.query import words
from anamnesis.store import Hit

if TYPE_CHECKING:
    from anamnesis.cli.screen import Screen


@click.command()
@click.argument("query", nargs=-1, required=True)
@filters
@click.option("-k", type=click.IntRange(min=0), default=8, show_default=True, help="How many at the most.")
@sort_option("score")
@long_option
@as_json
def command(query: tuple[str, ...], k: int, order: str, is_long: bool, as_json: bool, **wanted: Any) -> None:
    """Find the notes that best match any words of QUERY, the best first.

    On a terminal, a line per note as in `anamnesis list`; with --long, the part of each that matches. Any --sort
    orders the K best.

    \b
    In a pipe: id, score, type, project, title, separated by tabs.
    JSON: [{"id", "type", "title", "project", "machine_id", "scope", "tags", "created_at",
            "updated_at", "prov_source", "prov_model", "prov_session", "confidence",
            "supersedes", "body", "score"}]
    """
    text = " ".join(query)
    with open_memory(only_to_read=True) as vault:
        hits = vault.notes.hits(text, k=k, **wanted)
        bridge = vault.status() if on_terminal() and not as_json else None
    if order != "score":
        hits = _in_order(hits, order)
    if as_json:
        print_json([{**as_dict(hit.memory), "score": round(hit.score, 6)} for hit in hits])
    elif on_terminal():
        remember(hit.memory.id for hit in hits)
        with paged() as screen:
            _draw(screen, text, hits, is_long)
        if bridge and bridge.waiting.observations:
            waiting = counted(bridge.waiting.observations, "observation is not a note", "observations are not notes")
            console().draw("[yellow]{} yet:[/] {}", waiting, RECONCILE)
    else:
        found = [(hit.memory, f"{hit.score:.3f}") for hit in hits]
        print_lines([(note.id, score, note.type, note.project, note.title) for note, score in found])


def _draw(screen: Screen, query: str, hits: list[Hit], is_long: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    if not hits:
        screen.print("Nothing found.", style="dim")
    pattern = re.compile("|".join(re.escape(word) for word in words(query)) or r"(?!)", re.IGNORECASE)
    if not is_long:
        draw_rows(screen, [hit.memory for hit in hits], mark=pattern)
        return
    best = max((hit.score for hit in hits), default=0.0)
    for number, hit in enumerate(hits, start=1):
        note = hit.memory
        strength = "▮" * max(1, round(5 * hit.score / best)) if best > 0 else "▮"
        head = Text.assemble((f"{number:>2} ", "dim"), (note.title, "bold"), "  ", (f"{strength:<5}", "cyan"))
        head.highlight_regex(pattern, "yellow")
        screen.print(head)
        screen.print(Text(f"   {note.id}  {note.type} · {note.project} · {age(note.updated_at)}", "dim"))
        excerpt = Text(_excerpt(note.body, pattern))
        excerpt.highlight_regex(pattern, "yellow")
        screen.print(Padding(excerpt, (0, 0, 1, 3)))


def _excerpt(body: str, pattern: re.Pattern[str], width: int = 240) -> str:
    """The part of a text around the first of the query's words."""
    text = " ".join(body.split())
    match = pattern.search(text)
    start = max(0, match.start() - width // 4) if match else 0
    part = text[start : start + width]
    return f"{'…' if start else ''}{part}{'…' if start + width < len(text) else ''}"


def _in_order(hits: list[Hit], order: str) -> list[Hit]:
    """The hits in one of the orders of a list."""
    field = f"{order}_at" if order in ("updated", "created") else order
    newest = sorted(hits, key=lambda hit: (hit.memory.updated_at, hit.memory.id), reverse=True)
    return sorted(newest, key=lambda hit: getattr(hit.memory, field).lower(), reverse=field.endswith("_at"))
