"""`anamnesis reindex`: rebuilds the index from the files."""

from __future__ import annotations

import click

from anamnesis.cli.options import as_json, open_store
from anamnesis.cli.output import print_json, progress_bar
from anamnesis.plural import counted


@click.command()
@as_json
def command(as_json: bool) -> None:
    """Rebuild the index from the note files. No note is changed, and searches work while it runs.

    JSON: {"indexed", "unreadable_files"}
    """
    with open_store() as store:
        with progress_bar("Reading notes") as progress:
            indexed = store.reindex(progress)
        unreadable = len(store.problems())
    if as_json:
        print_json({"indexed": indexed, "unreadable_files": unreadable})
    else:
        click.echo(f"Indexed {counted(indexed, 'note')}.")
        if unreadable:
            files = counted(unreadable, "file is not a note", "files are not notes")
            click.echo(f"{files}; `anamnesis doctor` says why.", err=True)
