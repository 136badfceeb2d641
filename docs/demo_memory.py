"""A memory to look at: a hundred notes of a small team, with sessions, uses, a conflict and proposals of a dream."""

from __future__ import annotations

import http.client
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.planting import developer_notes

from anamnesis.dream.cycle import Options, dream
from anamnesis.notes import Memory, merge, ulid
from anamnesis.store import MemoryStore
from anamnesis.store.recording import LINES

MACHINES = ("thinkpad", "thinkpad", "thinkpad", "studio", "build-01")
MODELS = ("claude-sonnet-5", "gpt-5.2-codex", "claude-opus-5")
TAGS = {
    "deploy": "deploy|release|staging|pipeline",
    "database": "database|migration|PostgreSQL|SQL|index",
    "auth": "session|token|login|cookie|secret",
    "testing": "test|flaky|CI",
    "performance": "slow|cache|latency|timeout",
    "decision": "decided|chose|instead of|because",
    "payments": "payment|Stripe|invoice|tax",
}
FEATURED = """\
The importer fails with `database is locked` as soon as two workers write at once. The cause is the journal mode:
in `DELETE` mode a writer locks out every reader.

## What works

1. `PRAGMA journal_mode = WAL`, once per database
2. `PRAGMA busy_timeout = 5000`, on **every** connection
3. Short transactions: read first, then write

```python
def connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=5.0)
    db.execute("PRAGMA journal_mode = WAL")
    return db
```

> The pool opens its connections lazily, so set the timeout in `connect`, not in the pool.

| mode | readers | writers | after a crash |
| --- | --- | --- | --- |
| DELETE | wait | 1 | rolled back |
| WAL | never wait | 1 | replayed |

See [[Run the migrations]] before you change the mode of the live database, and [[Retry policy of the importer]].
"""
RETRIES = """\
Retry `SQLITE_BUSY` at most five times, with jitter: 50 ms, 100 ms, 200 ms and so on.

A sixth failure is a bug: report it with the statement. See [[Use WAL mode for SQLite]].
"""
PROMPTS = (
    ("shop", "Why does the importer say that the database is locked?"),
    ("api", "Add rate limits to the public endpoints, as we agreed last week"),
    ("infra", "The staging deploy hangs at the health check, find out why"),
    ("mobile", "Upgrade the push notification library and fix what breaks"),
    ("shop", "Write the migration that drops legacy_price"),
    ("data", "The nightly job took four hours. What changed?"),
)


def fill(home: Path) -> str:
    """Write the notes, their conflicts, uses and a dream; returns the id of the note to show."""
    chance = random.Random(7)  # noqa: S311  the same memory each time
    now = datetime.now(UTC).replace(microsecond=0)
    with MemoryStore(home) as store:
        notes = [*_notes(chance, now)]
        store.put_all(notes)
        featured, retries = _featured(now)
        store.put_all([featured, retries, *_conflict(notes, now), *_repetitions(notes, now)])
        store.put(replace(featured, body=f"{featured.body}\nChecked again after the move to Python 3.13.\n"))
        _use(store, chance, [featured, retries, *notes], now)
        dream(store, Options())
        for note in notes[-3:]:
            store.delete(note.id)
        store.embed()
    return featured.id


def talk(host: str, port: int) -> None:
    """Sessions and prompts, as an agent's hooks report them to the daemon."""
    for number, (project, prompt) in enumerate(PROMPTS):
        session = f"session-{number}"
        about = {"id": session, "session_id": session, "project": f"github.com/acme/{project}", "directory": "/work"}
        for path, body in (("/sessions", about), ("/prompts", {**about, "content": prompt})):
            connection = http.client.HTTPConnection(host, port, timeout=60)
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            connection.getresponse().read()
            connection.close()


def _notes(chance: random.Random, now: datetime) -> Iterator[Memory]:
    for number, note in enumerate(developer_notes()):
        then = now - timedelta(days=58 * chance.random() ** 1.6, minutes=chance.randrange(60, 600))
        text = f"{note.title} {note.body}"
        tags = [tag for tag, words in TAGS.items() if re.search(rf"\b(?:{words})", text)][:3]
        by_hand = number % 9 == 0
        yield replace(
            note,
            id=ulid(int(then.timestamp() * 1000), number),
            project="global" if note.project.endswith("/team") else note.project,
            tags=[*tags, "pinned"] if number % 31 == 0 else tags,
            machine_id=chance.choice(MACHINES),
            created_at=then.isoformat(),
            updated_at=then.isoformat(),
            prov_source="human" if by_hand else "session-end" if note.type == "episodic" else "reflection",
            prov_model="" if by_hand else chance.choice(MODELS),
            prov_session="" if by_hand else f"session-{number % len(PROMPTS)}",
            confidence=1.0 if by_hand else 0.8,
        )


def _featured(now: datetime) -> tuple[Memory, Memory]:
    def at(hours: int) -> str:
        return (now - timedelta(hours=hours)).isoformat()

    made: dict[str, Any] = {
        "project": "github.com/acme/shop",
        "machine_id": "thinkpad",
        "prov_source": "reflection",
        "confidence": 0.9,
        "prov_model": MODELS[0],
        "prov_session": "session-0",
    }
    times = {"created_at": at(300), "updated_at": at(2)}
    tags = ["database", "sqlite", "pinned"]
    first = Memory(
        ulid(1_790_000_000_000, 1), "semantic", "Use WAL mode for SQLite", FEATURED, tags=tags, **made, **times
    )
    title = "Retry policy of the importer"
    second = Memory(ulid(1_790_000_000_000, 2), "procedural", title, RETRIES, tags=["database"], **made, **times)
    return first, second


def _conflict(notes: list[Memory], now: datetime) -> list[Memory]:
    """A note in two versions, as two machines have written it."""
    base = next(note for note in notes if note.title == "Session cookie lifetime")
    at = (now - timedelta(hours=3)).isoformat()
    one = replace(base, body=base.body.replace("45 minutes", "60 minutes"), machine_id="thinkpad", updated_at=at)
    other = replace(base, body=base.body.replace("45 minutes", "30 minutes"), machine_id="studio", updated_at=at)
    both = merge.merge(base, one, other)
    return [both.note, *([both.other] if both.other else [])]


def _repetitions(notes: list[Memory], now: datetime) -> Iterator[Memory]:
    """Notes that say again what others say: a dream proposes to merge them."""
    for number, note in enumerate(notes[4:40:6]):
        then = now - timedelta(days=1, hours=number)
        body = note.body.replace("must", "has to").replace("because", "since")
        yield replace(
            note,
            id=ulid(int(then.timestamp() * 1000), 900 + number),
            title=f"{note.title}, again",
            body=f"{body} This was confirmed once more.",
            created_at=then.isoformat(),
            updated_at=then.isoformat(),
            prov_source="human" if number % 2 else note.prov_source,
        )


def _use(store: MemoryStore, chance: random.Random, notes: list[Memory], now: datetime) -> None:
    """What sessions of the last weeks were told, in the lines that hooks write."""
    lines = []
    for number in range(60):
        at = now - timedelta(hours=number * 5 + chance.random())
        kind = chance.choice(("injected", "injected", "recalled", "found", "opened"))
        ids = [note.id for note in chance.sample(notes[:40], 3)] + ([notes[0].id] if number % 3 == 0 else [])
        lines.append(json.dumps({"at": int(at.timestamp()), "kind": kind, "session": f"{number:016x}", "ids": ids}))
    (store.root / LINES).write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    store.usage.take_in()
