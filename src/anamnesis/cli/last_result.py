"""The ids of the last result on a terminal, for `@1`. Where they cannot be written, none are remembered."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from anamnesis.cli.context import settings
from anamnesis.disk import write_atomically
from anamnesis.errors import AnamnesisError, NoteNotFound
from anamnesis.plural import counted

_SHOW_AGAIN = "`anamnesis list` and `anamnesis search` on a terminal show a new one."


def remember(ids: Iterable[str]) -> None:
    """Keep the ids of a result that was shown."""
    with contextlib.suppress(OSError, AnamnesisError):
        write_atomically(_file(), json.dumps([*ids]).encode(), mode=0o600, durable=False)


def row(number: int) -> str:
    """The id in a row of the last result; the first is 1."""
    try:
        ids = [str(each) for each in json.loads(_file().read_bytes())]
    except (OSError, ValueError, TypeError):
        raise NoteNotFound(f"@{number} names no note: no result is remembered.", _SHOW_AGAIN) from None
    if not 0 < number <= len(ids):
        raise NoteNotFound(f"@{number} names no note: the last result had {counted(len(ids), 'note')}.", _SHOW_AGAIN)
    return ids[number - 1]


def _file() -> Path:
    return settings().home / "last-result.json"
