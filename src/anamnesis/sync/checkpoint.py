"""The state in which a sync left the repository: while it stays so, the next sync need not ask for it or compare all
files. There is none while a sync runs, so that an interrupted one is followed by a complete comparison."""

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
    index: str  # which file git's index was
    config: str  # which file git's settings were
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
    """Not durable, nor atomic: what cannot be read is as good as none."""
    (metadata / _NAME).write_text(json.dumps(asdict(checkpoint)), "utf-8")


def version_of(path: Path) -> str:
    """What changes whenever a file is written or replaced; "" if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_ino}-{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}"
