"""accepted.txt in both trees of notes: which texts of other people and programs the user has accepted.

Git carries the file of the portable notes to the user's other machines. The file of the machine-local ones also says
that the tags which recorded this in earlier releases were read: from then on they mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from anamnesis.disk import size_and_mtime, write_atomically
from anamnesis.notes import Memory
from anamnesis.notes.acceptance import (
    UNDECIDED,
    Decisions,
    decided,
    decision_about,
    read_decisions,
    text_of,
    written,
)
from anamnesis.store.files import ACCEPTED, TREES, telling

Seen = tuple[tuple[int, int] | None, ...]


class Accepted:
    """The decisions of a home. `alone` holds the store's lock."""

    def __init__(self, root: Path, alone: Callable[[], AbstractContextManager[None]]) -> None:
        self._root = root
        self._paths = {scope: root / tree / ACCEPTED for scope, tree in TREES.items()}
        self._alone = alone
        self._seen: Seen | None = None
        self._decisions: Decisions = {}

    def of(self, notes: Iterable[Memory]) -> dict[str, str]:
        """The decisions about the present texts of these notes, by note; none for a withdrawn one."""
        known = self._read()
        return {note.id: name for note in notes if (name := decision_about(known, note))} if known else {}

    def decide(self, notes: Iterable[Memory], decision: str) -> None:
        """Record a decision of the user about the present texts of these notes."""
        scopes = {text_of(note): note.scope for note in notes}
        with self._alone():
            known = self._read()
            added = decided(known, scopes, decision)
            for scope in TREES:
                here = {text: each for text, each in added.items() if scopes[text] == scope}
                if here:
                    self._write(scope, {**self._in(scope), **here})

    def exchanged(self) -> Decisions:
        """The decisions about portable notes, which all machines of the user have."""
        return self._in("portable")

    def unite(self, others: Decisions) -> None:
        """Add the decisions of the user's other machines about portable notes."""
        with self._alone():
            known = self._in("portable")
            added = {text: each for text, each in others.items() if each > known.get(text, UNDECIDED)}
            if added:
                self._write("portable", {**known, **added})

    def change_user(self, former: Path, user: Path) -> None:
        """Save the decisions about portable notes in a file of the former user, and take those of this one from theirs.

        What one user has accepted must not be accepted for another on all machines.
        """
        with self._alone():
            known, own = self._in("portable"), read_decisions(_text(user))
            if known:
                _save(former, known)
            if known or own:
                self._write("portable", own)

    def begin(self) -> None:
        """Record that the decisions of earlier releases have been read."""
        self._write("machine-local", self._in("machine-local"))

    def forget(self, notes: Collection[str]) -> None:
        """Remove the lines of purged notes."""
        with self._alone():
            for path in (*self._paths.values(), *self._root.glob("accepted-*.txt")):  # also of other logins
                known = read_decisions(_text(path))
                if any(text.note in notes for text in known):
                    _save(path, {text: each for text, each in known.items() if text.note not in notes})

    def _write(self, scope: str, decisions: Decisions) -> None:
        _save(self._paths[scope], decisions)

    def _in(self, scope: str) -> Decisions:
        return read_decisions(_text(self._paths[scope]))

    def stamp(self) -> Seen:
        """What changes with the files."""
        return tuple(size_and_mtime(path) for path in self._paths.values())

    def _read(self) -> Decisions:
        """The decisions of both files, read again when one of them has changed."""
        seen = self.stamp()
        if seen != self._seen:
            self._decisions = read_decisions(*map(_text, self._paths.values()))
            self._seen = seen
        return self._decisions


def _save(path: Path, decisions: Decisions) -> None:
    with telling("write", path):
        write_atomically(path, written(decisions).encode("utf-8"))


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
