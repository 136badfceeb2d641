"""The exception tree. Every message names the thing and the cause; the hint names the next step."""

from __future__ import annotations

import errno

_IN_ITS_PLACE = "Something else is in its place: move that away."
# What to do about an error of the system, by its code.
_REMEDIES = {
    errno.EACCES: "Its permissions do not allow it: change them, or ask its owner.",
    errno.EPERM: "Its owner or the system does not allow it: change that, or ask its owner.",
    errno.EROFS: "Its disk is read-only: make it writable.",
    errno.ENOSPC: "Its disk is full: free some space.",
    errno.ENOENT: "Check the path, and whether its disk is mounted.",
    errno.ENOTDIR: _IN_ITS_PLACE,
    errno.EISDIR: _IN_ITS_PLACE,
    errno.EEXIST: _IN_ITS_PLACE,
    errno.ELOOP: "It is a link that leads to itself: replace it.",
    errno.ENAMETOOLONG: "Use a shorter name.",
    errno.EIO: "Its disk may be failing: save a backup.",
    errno.EMFILE: "Too many files are open: raise the limit with `ulimit -n`.",
}


class AnamnesisError(Exception):
    """An error that the user can understand and act on; each surface maps it once."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message.rstrip('.')}. {self.hint}" if self.hint else self.message


class InvalidNote(AnamnesisError, ValueError):
    """A file or a value that is not a note; with the field and the line of the file, if known."""

    def __init__(self, message: str, hint: str = "", line: int = 0, field: str = "") -> None:
        super().__init__(message, hint)
        self.line = line
        self.field = field


class InvalidArgument(AnamnesisError, ValueError):
    """An invalid value of a filter, a limit or a setting."""


class NoteNotFound(AnamnesisError, KeyError):
    """No note has this id."""


class NoteConflict(AnamnesisError):
    """Two versions of a note conflict; both are kept."""


class StoreUnavailable(AnamnesisError):
    """The files or the index cannot be read or written now."""


class Unwritable(StoreUnavailable):
    """The disk cannot be written: it is read-only, full, or not writable for this user."""


class LockHeld(StoreUnavailable):
    """Another process has held a lock for longer than the timeout."""


def remedy(error: OSError) -> str:
    """What to do about an error of the system; "" if nothing is known."""
    return _REMEDIES.get(error.errno or 0, "")


def explained(error: OSError) -> StoreUnavailable:
    """An error of the system with path, reason and remedy, for the outermost boundary of every surface."""
    reason = (error.strerror or str(error) or type(error).__name__).rstrip(".")
    place = "" if error.filename is None else f"{error.filename} cannot be used: "
    return StoreUnavailable(f"{place}{reason}.", remedy(error))
