"""The exception tree. Every message names the thing and the cause; the hint names the next step."""

from __future__ import annotations


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
