"""The versions of a note in git. The number of git processes does not depend on the number of commits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from anamnesis.errors import InvalidNote
from anamnesis.history.version import Version
from anamnesis.notes import SCOPES, TYPES, Memory, decode, parse
from anamnesis.notes.acceptance import text_of
from anamnesis.notes.bare import bare_note, is_bare
from anamnesis.store.files import TREES
from anamnesis.sync.machines import author
from anamnesis.sync.repository import Repository
from anamnesis.sync.tree import Blob

_PORTABLE = SCOPES[0]
_SHORT = 7
# Names may hold any character except NUL and those that end a line or a name.
_FORMAT = "--format=tformat:%x00commit%x00%H%x00%ct%x00%an%x00%ae%x00"
# All of history, each merge compared with every parent, independent of the user's settings for `log`.
_OPTIONS = (
    "--full-history",
    "--date-order",
    "--diff-merges=separate",
    "--raw",
    "--no-abbrev",
    "--no-renames",
    "--no-follow",
    "--no-show-signature",
    "--no-color",
)


@dataclass(slots=True)
class _Commit:
    id: str
    moment: int
    by: str
    files: dict[str, Blob | None] = field(default_factory=dict)


def committed(folder: Path, note_id: str, path: str = "") -> list[Version]:
    """A note's versions in a folder's repository, the oldest first: at its path by type, and at `path`."""
    repository = Repository(folder, "")
    if not repository.exists or not repository.head():
        return []
    paths = {f"{kind}/{note_id}.md" for kind in TYPES} | ({path} if path else set())
    commits = _commits(repository.git("log", "-z", *_OPTIONS, _FORMAT, "HEAD", "--", *sorted(paths)))
    contents = repository.contents(blob for commit in commits for blob in commit.files.values())
    found = []
    for commit in commits:
        at = datetime.fromtimestamp(commit.moment, UTC).isoformat()
        held = {name: contents[blob.id] for name, blob in commit.files.items() if blob}
        notes = [_note(data, note_id, name if name == path else "", at) for name, data in held.items()]
        there = [note for note in notes if note]
        if there or not notes:  # else the file is not a note, or another one
            found.append(Version(at, "git", there[0] if there else None, commit.id[:_SHORT], commit.by))
    return found


def with_writers(versions: Iterable[Version], writers: Mapping[str, str]) -> list[Version]:
    """The versions, those of which the hub has named the writer by that user: a commit names who synced them here."""
    return [
        replace(each, by=writers[digest]) if each.note and (digest := digest_of(each.note)) in writers else each
        for each in versions
    ]


def digest_of(note: Memory) -> str:
    return text_of(note).digest


def _commits(output: bytes) -> list[_Commit]:
    """The commits in the output of `log`, the oldest first. A merge occurs once per parent that it differs from."""
    words = iter(output.decode("utf-8", "surrogateescape").split("\0"))
    found: dict[str, _Commit] = {}
    current = None
    for word in words:
        if word == "commit":
            id, moment, name, email = (next(words) for _ in range(4))
            current = found.setdefault(id, _Commit(id, int(moment), author(name, email)))
        elif current and word.lstrip("\n").startswith(":"):
            _, mode, _, blob, _ = word.lstrip("\n").split(" ")
            current.files[next(words)] = Blob(mode, blob) if blob.strip("0") else None
    return list(found.values())[::-1]


def _note(data: bytes, note_id: str, own_path: str, at: str) -> Memory | None:
    """The note in a file; without front matter, a file is the note's only if it is at the note's own path."""
    try:
        text = decode(data)
        if own_path and is_bare(text, place := f"{TREES[_PORTABLE]}/{own_path}"):
            return bare_note(text, place, note_id, at, _PORTABLE)
        note = parse(text, scope=_PORTABLE)
    except InvalidNote:
        return None
    return note if note.id == note_id else None
