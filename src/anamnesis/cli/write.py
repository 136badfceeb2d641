"""`anamnesis write`: creates a note from arguments, from a pipe or from an editor."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from anamnesis.cli.completing import complete_notes, complete_tags
from anamnesis.cli.context import settings
from anamnesis.cli.naming import ResolvedNote, resolve_note
from anamnesis.cli.options import as_json, open_store, project_option, space_option
from anamnesis.cli.output import in_a_line, on_terminal, print_json, print_redacted, resemblance
from anamnesis.cli.spaces import space_warnings
from anamnesis.cli.text_input import STDIN, decoded, decoded_argument, edited, given_text
from anamnesis.errors import InvalidArgument, InvalidNote
from anamnesis.notes import SCOPES, TYPES, Memory, as_dict
from anamnesis.notes.spaces import space_line
from anamnesis.plural import counted
from anamnesis.store import MemoryStore
from anamnesis.store.lookup import duplicates
from anamnesis.store.recording import record
from anamnesis.store.spaces import lines_of_project, shared_space_of, who_reads

_LONGEST_TITLE = 300


@click.command()
@click.argument("title", default="")
@click.argument("body", required=False)
@click.option("-t", "--type", type=click.Choice(TYPES), default="semantic", show_default=True, help="Its type.")
@project_option("Its project.", default="global", is_new=True)
@click.option("--tag", "tags", multiple=True, shell_complete=complete_tags, help="A tag; may be given more than once.")
@click.option("--scope", type=click.Choice(SCOPES), default="portable", show_default=True, help="Its scope.")
@click.option(
    "--supersedes", multiple=True, metavar="ID", shell_complete=complete_notes, help="A note that this one replaces."
)
@space_option("The space of the hub that gets it; `~` is your own. By default, the one that its project belongs to.")
@as_json
def command(
    title: str,
    body: str | None,
    supersedes: tuple[str, ...],
    as_json: bool,
    tags: tuple[str, ...],
    space: str | None,
    **given: str,
) -> None:
    """Write a note. Without BODY, the text is read from a pipe, else from your editor; `-` is standard input.

    Without TITLE, the first line of the text is the title. ID is as in `anamnesis show`. Lines on stderr report
    redacted secrets and decoding, and warn about a duplicate and a note that says nearly the same (if a daemon runs,
    whose model compares them).

    \b
    In a pipe: the id of the new note. If others will read it, stderr names their space.
    JSON: the note, as in show.
    """
    older = _superseded(supersedes)
    title, body, reports = _text(title, body)
    if len(title) > _LONGEST_TITLE:
        raise InvalidNote(
            f"The title has {len(title)} characters, and {_LONGEST_TITLE} are allowed.", "Put the rest into the body."
        )
    if space and given["scope"] != SCOPES[0]:
        raise InvalidArgument(f"A {given['scope']} note cannot be in a space.", "Leave out --space or --scope.")
    with open_store() as store:
        texts: dict[str, Any] = {"title": title, "body": body, "project": given["project"], "tags": list(tags)}
        note = store.write(
            type=given["type"],
            machine_id=settings().machine_id,
            scope=given["scope"],
            supersedes=[each.id for each in older],
            extra=lines_of_project(store, given["project"], given["scope"], space_line(space or "")),
            **texts,
        )
        record(store.root, "superseded", [each.id for each in older])
        warnings = [*_warnings(store, note, older)]
        goes_to, readers = shared_space_of(store, note), who_reads(store, note)
    print_redacted(texts, note)
    stays = [*space_warnings(space or goes_to)]
    for line in [*dict.fromkeys(reports), *warnings, *(stays or filter(None, [readers]))]:
        click.echo(line, err=True)
    if as_json:
        print_json(as_dict(note) | ({"space": goes_to} if goes_to else {}))
    else:
        click.echo(f"Written: {note.id}" if on_terminal() else note.id)


def _superseded(given: Sequence[str]) -> list[ResolvedNote]:
    """The notes that the new one replaces, resolved before its text is typed; raises if one does not exist."""
    if not given:
        return []
    with open_store(only_to_read=True) as store:
        older = [resolve_note(store, each) for each in given]
        for each in older:
            store.get(each.id)
    return older


def _warnings(store: MemoryStore, note: Memory, older: Sequence[ResolvedNote]) -> Iterator[str]:
    for each in older:
        if each.is_guess:
            yield f"It supersedes {each.id} ({in_a_line(each.title)})."
    if same := [each for each in duplicates(store, note) if each not in note.superseded]:
        has = "has" if len(same) == 1 else "have"
        yield (
            f"{counted(len(same), 'note')} {has} the same title and text: {', '.join(same)}."
            f" To remove this one: anamnesis delete {note.id}"
        )
    yield from resemblance(store, note, same)


def _text(title: str, body: str | None) -> tuple[str, str, list[str]]:
    """Title and body from arguments, a pipe or an editor, and sentences on how they were decoded."""
    is_whole = title in ("", STDIN) and body in (None, STDIN)
    if body is not None and not is_whole:
        (title, of_title), (body, of_body) = given_text(title), given_text(body)
        return title, body, [each for each in (of_title, of_body) if each]
    is_piped = STDIN in (title, body)
    title, of_title = ("", "") if is_piped else decoded_argument(title)
    text, of_text = given_text(STDIN) if is_piped else _read(title)
    reports = [each for each in (of_title, of_text) if each]
    if title and not sys.stdin.isatty():
        return title, text.removesuffix("\n"), reports
    first, _, rest = text.lstrip("# \t\r\n").partition("\n")
    first = first.strip()
    if len(first) <= _LONGEST_TITLE:
        return first, rest.strip("\n"), reports
    reports.append(f"The first line has {len(first)} characters; the title is its beginning, the body has all of it.")
    beginning = first[:_LONGEST_TITLE].rpartition(" ")[0] or first[: _LONGEST_TITLE - 1]
    return f"{beginning}…", f"{first}\n{rest}".strip("\n"), reports


def _read(title: str) -> tuple[str, str]:
    """A text from a pipe or an editor, and a sentence on how it was decoded."""
    if not sys.stdin.isatty():
        return decoded(sys.stdin.buffer.read())
    text = edited(f"# {title}\n\n" if title else "# ")
    if text is None or not text.strip("# \n"):
        raise InvalidNote("Nothing was written.", "Save a text in the editor, or give TITLE and BODY.")
    return text, ""
