"""Files in git's trees: differences between two trees, and safe paths. Pure."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from anamnesis.store.files import ACCEPTED, is_type_folder, without_shapeless

_GITLINK = "160000"
# Paths that no repository may make us write: git's own folder in all its spellings, and ways out of the folder.
_UNSAFE = re.compile(
    r"(?:^|/)(?:|\.{1,2}|\.git[ .]*|git~\d+)(?:/|$)|\0" + (r"|[\\:]" if sys.platform == "win32" else ""), re.IGNORECASE
)


def is_safe(path: str) -> bool:
    """Whether a file of a tree may be written to this path."""
    return not _UNSAFE.search(without_shapeless(path)) and not is_type_folder(path)


@dataclass(frozen=True, slots=True)
class Blob:
    """A file in a tree."""

    mode: str
    id: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A path in two trees; None for the tree that lacks it."""

    path: str
    before: Blob | None
    after: Blob | None

    @property
    def is_file(self) -> bool:
        """Whether it is a file, and not a reference to another repository."""
        return not any(blob and blob.mode == _GITLINK for blob in (self.before, self.after))

    @property
    def is_refused(self) -> bool:
        """Whether it brings a file, a link or a repository with the name of a note type's folder, or removes what the
        user has accepted: these lines are only added to."""
        return is_type_folder(self.path) if self.after else self.path == ACCEPTED
