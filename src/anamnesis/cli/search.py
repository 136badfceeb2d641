"""`anamnesis search`: finds the notes that best match a query."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from anamnesis.age import age
from anamnesis.cli.explanation import draw_explained
from anamnesis.cli.naming import remember
from anamnesis.cli.note_rows import draw_rows, paged
from anamnesis.cli.options import RECONCILE, as_json, filters, long_option, open_memory, project_here, sort_option
from anamnesis.cli.output import console, in_a_line, on_terminal, print_json, print_lines, report_unreadable
from anamnesis.cli.text_input import STDIN, given_text
from anamnesis.notes import as_dict
from anamnesis.plural import counted
from anamnesis.recall.query import Mode, query_terms
from anamnesis.store import Hit, MemoryStore
from anamnesis.store.highlights import Span, matches
from anamnesis.store.recording import record

if TYPE_CHECKING:
    from rich.text import Text

    from anamnesis.cli.screen import Screen

# Only the beginning of a longer text is marked and excerpted.
_LONGEST_READ = 200_000
_EXCERPT = 240


@click.command()
@click.argument("query", nargs=-1, required=True)
@filters
@click.option("-k", type=click.IntRange(min=0), default=8, show_default=True, help="At most this many.")
@sort_option("score")
@click.option("--words", "mode", flag_value="words", default=None, help="Rank by words alone, not by meaning.")
@long_option
@click.option("--explain", is_flag=True, help="Show why each note was found: its words, its passage, its score.")
@as_json
def command(
    query: tuple[str, ...],
    k: int,
    order: str,
    mode: Mode | None,
    is_long: bool,
    explain: bool,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Find the notes that best match QUERY by words and meaning, the best first.

    A phrase in double quotes is matched literally: anamnesis search '"busy timeout" sqlite'. With `-` the query is read
    from standard input.

    On a terminal, a line per note as in `anamnesis list`; with --long, also the part that matches. Weak hits are dim.
    Among equal hits, those of this folder's project come first. --sort orders the K best.

    \b
    In a pipe: id, score, type, project, title, separated by tabs; then, if the note is not yours, outdated,
    contradicted or stale, that.
    JSON: [{"id", "type", "title", "project", "machine_id", "scope", "tags", "created_at",
            "updated_at", "prov_source", "prov_model", "prov_session", "confidence",
            "supersedes", "body", "score", "fit", "weak"}]
    Of a note that is not yours also "origin", and "unreviewed" unless you have accepted it.
    With --explain also "why": {"words", "passage", "parts", "evidence", "use"}. Of an outdated note also "outdated_by",
    the id of the newer one, of a contradicted one "contradicts", the ids of the others, and of one about code
    that is gone "stale", the reason.
    """
    text = " ".join(query) if query != (STDIN,) else given_text(STDIN)[0]
    with open_memory(only_to_read=True) as vault:
        project = wanted.pop("project")
        at_hand = None if project or mode else project_here().key
        report_unreadable(vault.notes)
        hits = vault.notes.hits(
            text, k=k, project=project, mode=mode or "fused", explain=explain, at_hand=at_hand, **wanted
        )
        record(vault.notes.root, "found", [hit.memory.id for hit in _worth_showing(hits) if not hit.is_weak])
        if not hits and project:
            vault.notes.check_project(project)
        for_people = on_terminal() and not as_json
        bridge = vault.status() if for_people else None
        filtered = any(wanted.values())
        advice = _nothing_found(vault.notes, text, project, filtered=filtered) if for_people and k and not hits else []
    hits = _in_order(hits, order)
    if as_json:
        print_json([_as_dict(hit) for hit in hits])
    elif on_terminal():
        _draw_hits(text, hits, advice, explain=explain, is_long=is_long)
        _draw_waiting(bridge.waiting.observations if bridge else 0)
    else:
        found = [(hit.memory, _score(hit), hit.marks.sentences()) for hit in _worth_showing(hits)]
        print_lines([(note.id, score, note.type, note.project, note.title, *marks) for note, score, marks in found])


def _draw_hits(query: str, hits: list[Hit], advice: list[str], *, explain: bool, is_long: bool) -> None:
    for line in advice:
        console().print(line, style="dim")
    shown = _worth_showing(hits)
    remember(hit.memory.id for hit in shown)
    with paged() as screen:
        if shown and all(hit.is_weak for hit in shown):
            screen.print("Nothing clearly fits; the closest notes:", style="yellow")
        if explain:
            draw_explained(screen, shown)
        else:
            _draw_long(screen, query, shown) if is_long else _draw(screen, query, shown)


def _draw_waiting(count: int) -> None:
    if count:
        waiting = counted(count, "observation is not a note", "observations are not notes")
        console().draw("[yellow]{} yet:[/] {}", waiting, RECONCILE)


def _nothing_found(store: MemoryStore, query: str, project: str | None, *, filtered: bool) -> list[str]:
    """Lines with what to try next. `filtered`: the search has other filters than the project."""
    terms = query_terms(query).terms
    if not terms:
        return ["Nothing found: the query has no words."]
    if not store.count():
        return ['Nothing found: there are no notes yet. Write one: anamnesis write "Title" "What to remember"']
    spelling, projects = store.suggest(query)
    lines = []
    if spelling:
        corrected = re.sub(r"\w+", lambda match: spelling.get(match[0], match[0]), query)
        lines.append(f"Did you mean: {corrected}")
    if projects and (project or filtered):
        found = ", ".join(f"{name} ({count})" for name, count in projects.items())
        lines.append(f"Without {'filters' if filtered else 'the project'}, these projects have matches: {found}")
    if not projects and any(" " in term for term in terms):
        lines.append("Without the quotes, any of the words is enough.")
    where = f" -p {project}" if project else ""
    return [
        f"Nothing found{f' in {project}' if project else ''}.",
        *(lines or [f"Try other words, or: anamnesis list{where}"]),
    ]


def _as_dict(hit: Hit) -> dict[str, Any]:
    fit = None if hit.fit is None else round(hit.fit, 3)
    found = {**as_dict(hit.memory), "score": round(hit.score, 6), "fit": fit, "weak": hit.is_weak}
    found |= hit.marks.shown()
    return {**found, "why": hit.why.shown()} if hit.why else found


def _worth_showing(hits: list[Hit]) -> list[Hit]:
    """The hits without those that score 0.000, unless all do."""
    return [hit for hit in hits if round(hit.score, 3)] or hits


def _score(hit: Hit) -> str:
    """The score in three decimals, never 0.000: among a few notes, every word is in most of them and weighs little."""
    return f"{max(hit.score, 0.001):.3f}"


def _in_order(hits: list[Hit], order: str) -> list[Hit]:
    """The hits by score, as they are, or in one of the orders of a list."""
    if order == "score":
        return hits
    field = f"{order}_at" if order in ("updated", "created") else order
    newest = sorted(hits, key=lambda hit: (hit.memory.updated_at, hit.memory.id), reverse=True)
    return sorted(newest, key=lambda hit: getattr(hit.memory, field).lower(), reverse=field.endswith("_at"))


def _draw(screen: Screen, query: str, hits: list[Hit]) -> None:
    notes = [hit.memory for hit in hits]
    marks = matches([in_a_line(note.title) for note in notes], query)
    remarks = {hit.memory.id: hit.marks.brief for hit in hits if hit.marks.brief}
    draw_rows(screen, notes, marks, {hit.memory.id for hit in hits if hit.is_weak}, remarks)


def _draw_long(screen: Screen, query: str, hits: list[Hit]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    best = max((hit.score for hit in hits), default=0.0)
    bodies = [" ".join(hit.memory.body[:_LONGEST_READ].split()) for hit in hits]
    titles = matches([hit.memory.title for hit in hits], query)
    for number, (hit, title, body, spans) in enumerate(
        zip(hits, titles, bodies, matches(bodies, query), strict=True), start=1
    ):
        note = hit.memory
        strength = "▮" * max(1, round(5 * hit.score / best)) if best > 0 else "▮"
        named = _marked(note.title, title, "dim" if hit.is_weak else "bold")
        head = Text.assemble((f"{number:>2} ", "dim"), named, "  ", (f"{strength:<5}", "cyan"))
        screen.print(head)
        facts = [note.type, note.project, age(note.updated_at), *map(in_a_line, hit.marks.sentences())]
        screen.print(Text(f"   {note.id}  {' · '.join(facts)}", "dim"))
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
