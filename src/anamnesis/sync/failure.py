"""The failure of the last sync, in a file: most syncs run in the background, where nobody sees what they print."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import NamedTuple

from anamnesis.disk import write_atomically
from anamnesis.store.ids import utcnow

_NAME = "sync.failed"


class Failure(NamedTuple):
    """When the last sync failed, why, and what to do."""

    at: str
    reason: str
    hint: str


def last_failure(root: Path) -> Failure | None:
    """The failure of the last sync; None if it succeeded."""
    try:
        found = json.loads((root / _NAME).read_bytes())
        return Failure(str(found["at"]), str(found["reason"]), str(found["hint"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def record_failure(root: Path, reason: str, hint: str) -> None:
    """Record that a sync failed; it is lost where the disk cannot be written."""
    content = json.dumps({"at": utcnow(), "reason": reason, "hint": hint})
    with contextlib.suppress(OSError):
        write_atomically(root / _NAME, content.encode(), mode=0o600)


def clear_failure(root: Path) -> None:
    """Record that a sync succeeded."""
    with contextlib.suppress(OSError):
        (root / _NAME).unlink(missing_ok=True)
