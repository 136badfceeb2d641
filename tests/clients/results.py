"""The recorded outcome of the last run: reads and writes last-run.json, compares two runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.clients.scenes import FAILED, PLAYED, Outcome

FILE = Path(__file__).with_name("last-run.json")
# A scene in indented JSON; written on one line, so that diffs of runs are readable.
_SCENE = re.compile(r"\[[^\[\]{}]*\]")


@dataclass(frozen=True, slots=True)
class Result:
    """How one client was played. `package` is empty for a client that no registry has."""

    package: str
    version: str
    date: str
    scenes: dict[str, Outcome]

    @property
    def is_played(self) -> bool:
        """Whether a session was played to the end."""
        return self.scenes["tools"].mark == PLAYED


def read() -> dict[str, Result]:
    """The recorded results, by client."""
    return {name: parsed(value) for name, value in json.loads(FILE.read_text("utf-8")).items()}


def parsed(value: dict[str, Any]) -> Result:
    scenes = {name: Outcome(*each) for name, each in value["scenes"].items()}
    return Result(value["package"], value["version"], value["date"], scenes)


def shown(result: Result) -> dict[str, Any]:
    """A result as JSON."""
    scenes = {name: [each.mark, each.reason] if each.reason else [each.mark] for name, each in result.scenes.items()}
    return {**asdict(result), "scenes": scenes}


def record(results: dict[str, Result]) -> None:
    """Record results; those of clients that were not played stay."""
    every = {**(read() if FILE.exists() else {}), **results}
    text = json.dumps({name: shown(every[name]) for name in sorted(every)}, indent=1, ensure_ascii=False)
    FILE.write_text(_SCENE.sub(lambda found: " ".join(found[0].split()), text) + "\n", encoding="utf-8")


def changes(before: Result, after: Result) -> Iterator[str]:
    """The differences between two runs, as lines."""
    if before.version != after.version:
        yield f"version {before.version} → {after.version}"
    for name in after.scenes:
        old, new = before.scenes.get(name, Outcome(" ")), after.scenes[name]
        if old.mark != new.mark:
            yield f"{name}: {old.mark} → {new.mark}{f' ({new.reason})' if new.reason else ''}"


def is_worse(before: Result | None, after: Result) -> bool:
    """Whether a scene fails that did not fail before."""
    failing = {name for name, each in after.scenes.items() if each.mark == FAILED}
    known = {name for name, each in before.scenes.items() if each.mark == FAILED} if before else set()
    return bool(failing - known)
