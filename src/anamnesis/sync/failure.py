"""The failure of the last sync, in a file: most syncs run in the background, where nobody sees what they print.

Syncs by git and exchanges with a hub fail apart from each other: each has a file of its own.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import NamedTuple

from anamnesis.disk import write_atomically
from anamnesis.store.ids import utcnow

GIT, HUB = "sync.failed", "hub.failed"


class Failure(NamedTuple):
    """When the last sync failed, why, what to do, and when the first one since the last success failed."""

    at: str
    reason: str
    hint: str
    since: str = ""


def last_failure(root: Path, of: str = GIT) -> Failure | None:
    """The failure of the last sync; None if it succeeded."""
    try:
        found = json.loads((root / of).read_bytes())
        at, since = str(found["at"]), str(found.get("since") or found["at"])
        return Failure(at, str(found["reason"]), str(found["hint"]), since)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def record_failure(root: Path, reason: str, hint: str, of: str = GIT) -> None:
    """Record that a sync failed; it is lost where the disk cannot be written."""
    now, before = utcnow(), last_failure(root, of)
    failure = Failure(now, reason, hint, before.since if before else now)
    with contextlib.suppress(OSError):
        write_atomically(root / of, json.dumps(failure._asdict()).encode(), mode=0o600)


def clear_failure(root: Path, of: str = GIT) -> None:
    """Record that a sync succeeded."""
    with contextlib.suppress(OSError):
        (root / of).unlink(missing_ok=True)
