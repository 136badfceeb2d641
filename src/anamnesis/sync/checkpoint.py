"""The state of the repository after a sync. While it is unchanged, the next sync does not compare all files.

It is removed while a sync runs, so that the sync after an interrupted one compares everything.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

_NAME = "anamnesis-checkpoint"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A branch, git's index and the files in agreement."""

    head: str
    tree: str  # of the head; "" if not known
    index: str  # the version of git's index file
    config: str  # the version of git's configuration file
    remote: str  # a digest: the address may hold a password
    compared_at: float  # when all files were last compared


def take_checkpoint(metadata: Path) -> Checkpoint | None:
    """Read the checkpoint of the last sync, and remove it."""
    path = metadata / _NAME
    try:
        return Checkpoint(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    finally:
        with contextlib.suppress(OSError):
            path.unlink()


def write_checkpoint(metadata: Path, checkpoint: Checkpoint) -> None:
    """Neither durable nor atomic: an unreadable checkpoint counts as none."""
    (metadata / _NAME).write_text(json.dumps(asdict(checkpoint)), "utf-8")


def version_of(path: Path) -> str:
    """A text that differs whenever the file was written or replaced; "" if the file does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_ino}-{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}"
