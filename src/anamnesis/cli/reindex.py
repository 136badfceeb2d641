"""`anamnesis reindex`: rebuilds the index from the files."""

from __future__ import annotations

import click

from anamnesis.cli.options import as_json, open_store
from anamnesis.cli.output import print_json, progress_bar


@click.command()
@as_json
def command(as_json: bool) -> None:
    """Rebuild the index from the note files. Nothing is lost by it, and searches go on meanwhile.

    JSON: {"indexed", "unreadable_files"}
    """
    with open_store() as store:
        with progress_bar("Reading notes") as progress:
            indexed = store.reindex(progress)
        unreadable = len(store.problems())
    if as_json:
        print_json({"indexed": indexed, "unreadable_files": unreadable})
    else:
        click.echo(f"Indexed {indexed} notes.")
        if unreadable:
            click.echo(f"{unreadable} files are not notes; `anamnesis doctor` says why.", err=True)
