"""`anamnesis write`: creates a note from arguments, from a pipe or from an editor."""

from __future__ import annotations

import sys
from typing import Any

import click

from anamnesis.cli.context import settings
from anamnesis.cli.editor import edited
from anamnesis.cli.naming import full_id
from anamnesis.cli.options import as_json, open_store, project_option
from anamnesis.cli.output import on_terminal, print_json, tell_redacted
from anamnesis.errors import InvalidNote
from anamnesis.notes import SCOPES, TYPES, as_dict


@click.command()
@click.argument("title", default="")
@click.argument("body", required=False)
@click.option("-t", "--type", type=click.Choice(TYPES), default="semantic", show_default=True, help="Its type.")
@project_option("Its project.", default="global", is_new=True)
@click.option("--tag", "tags", multiple=True, help="A tag; may be given more than once.")
@click.option("--scope", type=click.Choice(SCOPES), default="portable", show_default=True, help="Its scope.")
@click.option("--supersedes", multiple=True, metavar="ID", help="A note that this one replaces.")
@as_json
def command(
    title: str,
    body: str | None,
    type: str,
    project: str,
    tags: tuple[str, ...],
    scope: str,
    supersedes: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a note. Without BODY, it is read from a pipe, or else from your editor.

    Where no TITLE is given, the first line of what is read is the title. A line on stderr names the kinds of secrets
    that were redacted.

    \b
    In a pipe: the id of the new note.
    JSON: the note, as of show.
    """
    if body is None:
        title, body = _read(title)
    with open_store() as store:
        given: dict[str, Any] = {"title": title, "body": body, "project": project, "tags": list(tags)}
        note = store.write(
            type=type,
            machine_id=settings().machine_id,
            scope=scope,
            supersedes=[full_id(store, each) for each in supersedes],
            **given,
        )
    tell_redacted(given, note)
    if as_json:
        print_json(as_dict(note))
    else:
        click.echo(f"Written: {note.id}" if on_terminal() else note.id)


def _read(title: str) -> tuple[str, str]:
    """Title and body from a pipe or an editor."""
    if sys.stdin.isatty():
        text = edited(f"# {title}\n\n" if title else "# ")
        if text is None or not text.strip("# \n"):
            raise InvalidNote("Nothing was written.", "Save a text in the editor, or give TITLE and BODY.")
        title = ""
    else:
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    if title:
        return title, text.removesuffix("\n")
    first, _, rest = text.lstrip("# \t\r\n").partition("\n")
    return first.strip(), rest.strip("\n")
