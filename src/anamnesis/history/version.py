"""One version of a note, and one entry of its history. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from anamnesis.history.diffs import diff, summary, text_of
from anamnesis.notes import Memory
from anamnesis.notes.foreign import SOURCE as IMPORT
from anamnesis.notes.foreign import Origin, claim_of

# If several sources have the same version, the first of these is named.
SOURCES = ("git", "now", "journal", "trash", "kept")


@dataclass(frozen=True, slots=True)
class Version:
    """A note's content, its time, its source and its origin. The note is None if it was deleted, or hidden by Engram.

    `by` is the user of the hub who wrote it, or the machine whose sync committed it.
    """

    at: str
    source: str
    note: Memory | None
    commit: str = ""
    by: str = ""
    origin: Origin | None = None
    text: str = field(init=False)

    def __post_init__(self) -> None:
        if self.note and self.note.is_hidden:
            object.__setattr__(self, "note", None)
        object.__setattr__(self, "text", text_of(self.note))


@dataclass(frozen=True, slots=True)
class Revision:
    """A numbered version, 1 for the oldest, with the one before it."""

    number: int
    version: Version
    before: Version | None

    @property
    def summary(self) -> str:
        was, now = self.before.note if self.before else None, self.version.note
        changed = summary(was, now)
        return f"{changed}, {claim_of(now)}" if now and self._is_claimed(was, now) else changed

    def _is_claimed(self, was: Memory | None, now: Memory) -> bool:
        """Whether the version is of another machine than the one that the note names, or of a member of a team, who
        can name any; imports name their program."""
        is_new = was is None or was.machine_id != now.machine_id
        is_others = self.version.by not in ("", now.machine_id)
        return is_new and is_others and now.prov_source != IMPORT

    @property
    def diff(self) -> str:
        was = self.before.text if self.before else ""
        names = (
            f"revision {self.number - 1}" if was else "/dev/null",
            f"revision {self.number}" if self.version.text else "/dev/null",
        )
        return diff(was, self.version.text, names)


def numbered(versions: Iterable[Version]) -> list[Revision]:
    """Versions as revisions, the oldest first: equal neighbours are one, and a deletion is never the first."""
    kept: list[Version] = []
    for version in versions:
        if kept and kept[-1].text == version.text:
            kept[-1] = _one(kept[-1], version)
        elif kept or version.note:
            kept.append(version)
    return [
        Revision(number, version, before)
        for number, (version, before) in enumerate(zip(kept, [None, *kept], strict=False), 1)
    ]


def _one(first: Version, second: Version) -> Version:
    """One version from two sources, with the earlier time."""
    better = min(first, second, key=lambda version: SOURCES.index(version.source))
    return replace(better, at=min(first.at, second.at))
