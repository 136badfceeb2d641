"""The daemon gives the recorded answers of a running Engram, request by request."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.web.daemon import Daemon, Reply

from anamnesis.engram import exchange
from anamnesis.engram.database import connect, writing
from anamnesis.engram.gojson import loads
from anamnesis.engram.record import Export

Step = dict[str, Any]

RECORDING = Path(__file__).parent.parent / "engram/golden/http.jsonl"
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b")
_SYNC_ID = re.compile(r"\b(obs|prompt)-[0-9a-f]{16}\b")
_RANK = re.compile(r'"rank":(-?[0-9.e+-]+)')


def scenarios() -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    for line in RECORDING.read_bytes().splitlines():
        step = json.loads(line)
        found.setdefault(step["scenario"], []).append(step)
    return found


# Engram keeps a private block that is never closed, private blocks of an import, and a deleted row after a hard delete.
# It takes the names of `migrate` and the project of `prompts/search` literally.
_DIFFERENT = ("private", "export-import", "delete", "migrate", "prompts")
_ALIKE = {name: steps for name, steps in scenarios().items() if name not in _DIFFERENT}


@pytest.mark.parametrize(("name", "steps"), scenarios().items(), ids=scenarios())
def test_every_step_of_a_recording_is_answered_alike_if_strict(strict: Daemon, name: str, steps: list[Step]) -> None:
    replay(strict, name, steps)


@pytest.mark.parametrize(("name", "steps"), _ALIKE.items(), ids=_ALIKE)
def test_every_other_recording_is_answered_alike_by_default(daemon: Daemon, name: str, steps: list[Step]) -> None:
    """The rows that a recording imports are the user's own here: those of others are marked."""
    replay(daemon, name, steps, import_=import_as_own)


def import_as_own(daemon: Daemon, body: str) -> None:
    assert daemon.ask("GET", "/stats").status == 200  # engram.db is there
    data = loads(body.encode(), Export)
    with closing(connect(daemon.home / "engram.db")) as db, writing(db):
        exchange.import_(db, data)
        db.execute("DELETE FROM anamnesis_imported")


def replay(daemon: Daemon, name: str, steps: list[Step], import_: Callable[[Daemon, str], None] | None = None) -> None:
    since = (datetime.now(UTC) - timedelta(minutes=1)).strftime("%Y-%m-%d %H:%M:%S")
    for step in steps:
        if import_ and step["path"] == "/import":
            import_(daemon, step["body"])
            continue
        reply = daemon.ask(step["method"], step["path"], step["body"])
        where = f"{name} {step['step']}: {step['method']} {step['path']} {step['body']}"
        _compare(step, reply, since, where[:500])


def _compare(step: Step, reply: Reply, since: str, where: str) -> None:
    if step["compare"] == "later":
        assert reply.status < 500, where
    elif "x-anamnesis-recall" in reply.headers:  # where Engram finds nothing
        assert (step["status"], json.loads(step["reply"]) or []) == (reply.status, []), where
    elif step["compare"] == "better":
        assert reply.status in (200, 400), where
    else:
        assert reply.status == step["status"], f"{where}\n{reply.text[:500]}"
        assert reply.headers.get("content-type") == step["type"], where
        for header in ("allow", "location", "content-disposition"):
            assert reply.headers.get(header) == step.get(header), where
        ours, ranks = _comparable(reply.text, since)
        theirs, recorded = _comparable(step["reply"], "9999")
        if step["compare"] == "start":
            assert ours.startswith(theirs), where
        else:
            assert ours == theirs, where
            assert all(map(_is_close, ranks, recorded)), f"{where}\n{ranks}\n{recorded}"


def _comparable(text: str, since: str) -> tuple[str, list[str]]:
    """The text with what no two runs share replaced, and its ranks."""
    text = _TIME.sub(lambda time: "<now>" if time[0] >= since else time[0], text)
    text = _SYNC_ID.sub(r"\1-<hex>", text)
    return _RANK.sub('"rank":<float>', text), _RANK.findall(text)


def _is_close(ours: str, theirs: str) -> bool:
    """Whether two ranks are the same number, but for the last digits, written in the same way."""
    is_same_form = ("e" in ours, ours.startswith("-")) == ("e" in theirs, theirs.startswith("-"))
    return is_same_form and math.isclose(float(ours), float(theirs), rel_tol=1e-9)
