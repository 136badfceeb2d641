"""Bare notes: files without front matter that people put into the folder. Pure."""

from __future__ import annotations

from anamnesis.notes.record import TYPES, Memory, MemoryType
from anamnesis.notes.ulid import moment_of, number_of

_MOST_CHARACTERS = 5_000_000
_LONGEST_TITLE = 200
# A file that begins so has a broken front matter or the markers of a merge, and is not a bare note.
_NOT_BARE = ("---", "<<<<<<<")
_FENCES = ("```", "~~~")


def is_bare(text: str, path: str) -> bool:
    """Whether a file is a note without front matter: a text that does not start like front matter.

    A file that is named by a ULID, as we name notes, has lost its front matter, and is not a note until that is back.
    """
    if len(text) > _MOST_CHARACTERS or "\0" in text:
        return False
    start = text.removeprefix("\ufeff").lstrip()
    name = path.rpartition("/")[2]
    if number_of(name.partition(".")[0]) is not None:
        return False
    return bool(start) and not start.startswith(_NOT_BARE)


def bare_note(text: str, path: str, note_id: str, updated_at: str, scope: str) -> Memory:
    """The note of a file without front matter; it was created at the time of its id."""
    text = text.removeprefix("\ufeff")
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    return Memory(
        id=note_id,
        type=_type_of(path),
        title=_title_of(text) or _words(path.rpartition("/")[2].removesuffix(".md")) or note_id,
        body=text.removesuffix(newline),
        scope=scope,
        created_at=moment_of(note_id) or updated_at,
        updated_at=updated_at,
        newline=newline,
    )


def _type_of(path: str) -> MemoryType:
    folders = path.split("/")[1:-1]
    return next((folder for folder in folders if folder in TYPES), "semantic")


def _words(name: str) -> str:
    return " ".join(name.replace("_", " ").replace("-", " ").split())


def _title_of(text: str) -> str:
    """The first heading outside of code blocks; "" if there is none."""
    is_code = False
    for line in text.splitlines():
        if line.lstrip().startswith(_FENCES):
            is_code = not is_code
        words = line.strip("#").strip()
        if not is_code and words and 1 <= len(line) - len(line.lstrip("#")) <= 6 and line.lstrip("#")[0] in " \t":
            return " ".join(words.split())[:_LONGEST_TITLE].strip()
    return ""
