"""Resolves arguments to notes: an id, a title or a part of either, or @1 for the first row of the last result."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from anamnesis.cli.context import settings
from anamnesis.cli.output import SHORT_ID, in_a_line, on_terminal
from anamnesis.disk import write_atomically
from anamnesis.errors import AnamnesisError, InvalidArgument, NoteNotFound
from anamnesis.plain import one_line
from anamnesis.plural import counted, these
from anamnesis.store import Memory, MemoryStore
from anamnesis.store.lookup import Name, named

_ROW = re.compile(r"@([0-9]{1,9})")
_LONGEST_TITLE = 60
_SHOW_AGAIN = "`anamnesis list` and `anamnesis search` on a terminal show new rows."


class ResolvedNote(NamedTuple):
    """A note that an argument names. It is a guess unless the argument is an id, or as much of one as lists show."""

    id: str
    title: str
    is_guess: bool
    is_known: bool = True


def resolve_note(store: MemoryStore, given: str, *, live: bool = True, deleted: bool = False) -> ResolvedNote:
    """The note that an argument names, among the live or the deleted ones. An unknown id is returned unchanged."""
    row = _ROW.fullmatch(given.strip())
    wanted = _row(int(row[1])) if row else given
    found = named(store, wanted) if live else []
    if deleted and not found:
        found = named(store, wanted, _deleted(store))
    if len(found) > 1:
        names = ", ".join(f"{each.id} ({one_line(each.title, _LONGEST_TITLE)})" for each in found)
        raise NoteNotFound(f"{given!r} names several notes: {names}.", "Give more characters, or an id.")
    if found:
        return ResolvedNote(*found[0], is_guess=not _is_sure(given, found[0].id))
    return ResolvedNote(wanted, "", is_guess=False, is_known=False)


def full_id(store: MemoryStore, given: str) -> str:
    """The id of the note that an argument names."""
    return resolve_note(store, given).id


def resolve_notes(store: MemoryStore, given: Iterable[str], verb: str, yes: bool) -> list[Memory]:
    """The notes that arguments name, each once; raises if one does not exist, and asks about guesses."""
    names = [resolve_note(store, each) for each in given]
    notes = [store.get(each) for each in dict.fromkeys(name.id for name in names)]
    confirm_guesses(names, verb, yes)
    return notes


def confirm_guesses(names: Sequence[ResolvedNote], verb: str, yes: bool) -> None:
    """Ask before a command acts on guessed notes."""
    guesses = [each for each in names if each.is_guess]
    if guesses and not yes:
        guessed = ", ".join(f"{each.id} ({one_line(each.title, _LONGEST_TITLE)})" for each in guesses)
        refusal = f"{guessed} is a guess, and there is no terminal to confirm it on."
        ask(
            guesses,
            f"{verb} {these(len(guesses), 'note')}?",
            refusal,
            f"Give {SHORT_ID} characters of an id, or add --yes.",
        )


def ask(names: Iterable[ResolvedNote], question: str, refusal: str, hint: str) -> None:
    """Show the notes and ask; without a terminal, raise."""
    if not (sys.stdin.isatty() and on_terminal()):
        raise InvalidArgument(refusal, hint)
    for each in names:
        click.echo(f"  {each.id}  {in_a_line(each.title)}")
    click.confirm(question, abort=True)


def _is_sure(given: str, note_id: str) -> bool:
    return given == note_id or (len(given) >= SHORT_ID and given.upper() in note_id.upper())


def _deleted(store: MemoryStore) -> list[Name]:
    from anamnesis.store.deleted import deleted_notes

    return list({each.id: Name(each.id, each.title) for each in reversed(deleted_notes(store))}.values())


def remember(ids: Iterable[str]) -> None:
    """Save the ids of a shown result, for `@1`. A failed write is ignored."""
    with contextlib.suppress(OSError, AnamnesisError):
        write_atomically(_file(), json.dumps([*ids]).encode(), mode=0o600, durable=False)


def _row(number: int) -> str:
    """The id in a row of the last result; the first is 1."""
    try:
        ids = [str(each) for each in json.loads(_file().read_bytes())]
    except (OSError, ValueError, TypeError):
        raise NoteNotFound(f"@{number} names no note: no result is remembered.", _SHOW_AGAIN) from None
    if not 0 < number <= len(ids):
        raise NoteNotFound(f"@{number} names no note: the last result had {counted(len(ids), 'note')}.", _SHOW_AGAIN)
    return ids[number - 1]


def _file() -> Path:
    return settings().home / "last-result.json"
