"""`anamnesis related`: lists the notes that are closest to a note."""

from __future__ import annotations

import click

from anamnesis.cli.naming import full_id, remember
from anamnesis.cli.note_rows import draw_rows, paged
from anamnesis.cli.options import as_json, note_id, open_store
from anamnesis.cli.output import in_a_line, on_terminal, print_json, print_lines
from anamnesis.notes import as_dict


@click.command()
@note_id()
@click.option("-k", type=click.IntRange(min=0), default=5, show_default=True, help="At most this many.")
@as_json
def command(note_id: str, k: int, as_json: bool) -> None:
    """List the notes that are about the same as a note, the closest first.

    ID is as in `anamnesis show`. Notes are compared by meaning, or by words if the model does not answer in time.
    On a terminal, a line per note as in `anamnesis list`.

    \b
    In a pipe: id, score, type, project, title, separated by tabs, then as in search. A copy scores 1.
    JSON: as in search, without "body".
    """
    with open_store(only_to_read=True) as store:
        note = store.get(full_id(store, note_id))
        hits = store.related(note.id, k=k)
    if as_json:
        found = [(as_dict(hit.memory, body=False), hit) for hit in hits]
        print_json([{**note, "score": round(hit.score, 6), **hit.marks.shown()} for note, hit in found])
        return
    if not hits:
        click.echo(f"No note is about the same as {note.id} ({in_a_line(note.title)}).", err=not on_terminal())
    elif on_terminal():
        remember(hit.memory.id for hit in hits)
        with paged() as screen:
            remarks = {hit.memory.id: hit.marks.brief for hit in hits if hit.marks.brief}
            draw_rows(screen, [hit.memory for hit in hits], remarks=remarks)
    else:
        rows = [(hit.memory, f"{hit.score:.3f}", hit.marks.sentences()) for hit in hits]
        print_lines([(found.id, score, found.type, found.project, found.title, *marks) for found, score, marks in rows])
