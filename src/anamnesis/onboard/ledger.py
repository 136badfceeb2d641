"""Records our changes on this machine: each file's previous content, and a hash of what we wrote.

The changed files may hold secrets, so backups are readable only by the user.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from anamnesis.disk import write_atomically

FOLDER = "backups"
_NAME = "ledger.json"


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One change: the file, the agents, the backup of the previous content, and the hash of the written one."""

    target: str
    agents: list[str]
    traces: list[dict[str, Any]]
    backup: str | None
    written: str
    folders: list[str]


class Ledger:
    """The records under the store's root. An unreadable ledger counts as empty and is renamed."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / FOLDER
        self.path = self.folder / _NAME
        self.is_readable = True
        self._records = self._read()

    def targets(self) -> list[Path]:
        """The files with changes of ours."""
        return list(dict.fromkeys(Path(record.target) for record in self._records))

    def records(self, target: Path) -> list[ChangeRecord]:
        """The changes of one file, the oldest first."""
        return [record for record in self._records if record.target == str(target)]

    def add(
        self,
        target: Path,
        old: bytes | None,
        new: bytes | None,
        *,
        agents: Iterable[str],
        traces: list[dict[str, Any]],
        folders: Iterable[Path] = (),
    ) -> None:
        """ChangeRecord a change to `new` and back up the previous content."""
        backup = None if old is None else self.keep(target, old)
        made = [str(folder) for folder in folders]
        self._records.append(ChangeRecord(str(target), list(agents), traces, backup, mark(new or b""), made))
        self._write()

    def keep(self, target: Path, content: bytes) -> str:
        """Back up a file's content; returns the name of the backup."""
        self._make_folder()
        number = 1 + max((int(path.name[:4]) for path in self.folder.glob("[0-9][0-9][0-9][0-9]-*")), default=0)
        name = f"{number:04d}-{target.name}"
        write_atomically(self.folder / name, content, mode=0o600)
        return name

    def original(self, target: Path, content: bytes | None) -> tuple[bytes | None] | None:
        """The content before our changes, in a tuple; None if somebody else has changed the file since."""
        records = self.records(target)
        if not records or content is None or mark(content) != records[-1].written:
            return None
        for record in reversed(records):
            if content is None or mark(content) != record.written:
                break
            try:
                content = None if record.backup is None else (self.folder / record.backup).read_bytes()
            except OSError:
                return None
        return (content,)

    def agents(self) -> set[str]:
        """The agents that have been set up."""
        return {agent for record in self._records for agent in record.agents}

    def release(self, leaving: Collection[str], restored: Collection[Path], refused: Collection[Path]) -> None:
        """Drop the records of agents that were removed, and the backups of restored files."""
        left: list[ChangeRecord] = []
        for record in self._records:
            target = Path(record.target)
            staying = [agent for agent in record.agents if agent not in leaving]
            if target in refused:
                left.append(record)
            elif staying:
                left.append(replace(record, agents=staying))
            elif target in restored and record.backup:
                (self.folder / record.backup).unlink(missing_ok=True)
        if left != self._records:
            self._records = left
            self._write()

    def _make_folder(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _write(self) -> None:
        self._make_folder()
        if self.path.exists() and not self.is_readable:
            self.path.replace(self.path.with_suffix(".unreadable"))
        self.is_readable = True
        content = {"version": 1, "changes": [asdict(record) for record in self._records]}
        write_atomically(self.path, json.dumps(content, indent=1).encode(), mode=0o600)

    def _read(self) -> list[ChangeRecord]:
        try:
            return [ChangeRecord(**record) for record in json.loads(self.path.read_bytes())["changes"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            self.is_readable = False
            return []


def mark(content: bytes) -> str:
    """The hash of a file's content."""
    return hashlib.sha256(content).hexdigest()
