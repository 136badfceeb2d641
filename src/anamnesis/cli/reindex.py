"""`anamnesis reindex`: rebuilds the index from the files, and embeds the notes that are not embedded yet."""

from __future__ import annotations

import sys

import click

from anamnesis.cli.options import as_json, open_store
from anamnesis.cli.output import counting_bar, print_json, progress_bar
from anamnesis.plural import counted
from anamnesis.store import MemoryStore


@click.command()
@as_json
def command(as_json: bool) -> None:
    """Rebuild the index from the note files. No note is changed, and searches work while it runs.

    Then embeds the notes that are not embedded yet, so that they are found by meaning. Ctrl-C stops the embedding; the
    next run continues it.

    JSON: {"indexed", "embedded", "unreadable_files"}
    """
    with open_store() as store:
        with progress_bar("Reading notes") as progress:
            indexed = store.reindex(progress)
        unreadable = len(store.problems())
        is_whole = _embed(store)
        embedded = indexed - store.ranking.pending()
    if as_json:
        print_json({"indexed": indexed, "embedded": embedded, "unreadable_files": unreadable})
    else:
        click.echo(f"Indexed {counted(indexed, 'note')}.")
        if unreadable:
            files = counted(unreadable, "file is not a note", "files are not notes")
            click.echo(f"{files}; `anamnesis doctor` gives the reasons.", err=True)
    if not is_whole:
        click.echo(f"{embedded:,} of {counted(indexed, 'note')} are embedded; `anamnesis reindex` continues.", err=True)
        sys.exit(130)


def _embed(store: MemoryStore) -> bool:
    """Embed all notes, and remove the vectors of deleted ones; False if the user interrupted it."""
    total = store.ranking.pending()
    try:
        with counting_bar("Embedding notes", total) as advance:
            store.embed(advance)
        store.ranking.forget_deleted()
    except KeyboardInterrupt:
        return False
    return True
