"""The errors of the hub, each with its HTTP status."""

from __future__ import annotations

from anamnesis.errors import AnamnesisError, InvalidArgument, InvalidNote, NoteConflict, NoteNotFound


class Refusal(AnamnesisError):
    """A request or a command that the hub does not carry out."""

    status = 400


class NotAuthenticated(Refusal):
    """No valid token."""

    status = 401


class NotAllowed(Refusal):
    """The caller's role or scopes do not allow it."""

    status = 403


class NotFound(Refusal):
    """It does not exist, or the caller may not see it: both get the same answer."""

    status = 404


class TooLarge(Refusal):
    """More than the hub accepts at once."""

    status = 413


class TooMany(Refusal):
    """Over the rate limit; a client may try again after `seconds`."""

    status = 429

    def __init__(self, message: str, hint: str = "", seconds: int = 1) -> None:
        super().__init__(message, hint)
        self.seconds = seconds


class Unavailable(Refusal):
    """The database cannot be used now, or not by this program."""

    status = 503


class Full(Refusal):
    """The database has no room for what is to be stored."""

    status = 507


def status_of(error: AnamnesisError) -> int:
    """The HTTP status of an error."""
    if isinstance(error, Refusal):
        return error.status
    known = {NoteNotFound: 404, NoteConflict: 409, InvalidNote: 400, InvalidArgument: 400}
    return next((status for kind, status in known.items() if isinstance(error, kind)), 503)
