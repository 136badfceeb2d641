"""A memory in Engram's dialect, and its clients' requests; the same for every daemon."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from bench.client import Requests, get, post
from bench.corpus import PROJECTS, Vocabulary

WORDS = 100
_BATCH = 2_000
_A_SESSION = 100
# The messages of an agent to a server that it has just started: initialise, and list the tools.
HANDSHAKE = b"""\
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},\
"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
"""
_TYPES = ("decision", "bugfix", "pattern", "discovery", "config")


@dataclass(frozen=True, slots=True)
class Words:
    """Search words: rare ones are in few rows, each of a pair in about 2 %, the common one in half of the rows."""

    rare: list[str]
    pairs: list[str]
    common: str


def imports(size: int) -> Iterator[bytes]:
    """The bodies of the POST /import that fill an empty memory."""
    for start in range(0, size, _BATCH):
        numbers = range(start, min(start + _BATCH, size))
        sessions = [
            {
                "id": f"s{number}",
                "project": _project(number),
                "directory": "/w",
                "started_at": _time(number * _A_SESSION),
            }
            for number in range(start // _A_SESSION, (numbers[-1] // _A_SESSION) + 1)
        ]
        observations = [
            {
                "id": number + 1,
                "sync_id": f"obs-{number:016x}",
                "session_id": f"s{number // _A_SESSION}",
                "type": _TYPES[number % len(_TYPES)],
                "title": " ".join(text[:6]),
                "content": " ".join(text[6:]),
                "project": _project(number // _A_SESSION),
                "scope": "personal" if number % 10 == 0 else "project",
                "revision_count": 1,
                "duplicate_count": 1,
                "created_at": _time(number),
                "updated_at": _time(number),
            }
            for number, text in zip(numbers, _texts(start, len(numbers)), strict=True)
        ]
        yield json.dumps({"version": "0.1.0", "sessions": sessions, "observations": observations}).encode()


def words(size: int) -> Words:
    """The search words for a memory of that size."""
    rows: Counter[str] = Counter()
    for start in range(0, size, _BATCH):
        for text in _texts(start, min(_BATCH, size - start)):
            rows.update(set(text))
    rare = sorted(word for word, count in rows.items() if 2 <= count <= 20)
    middle = sorted(word for word, count in rows.items() if size // 100 <= count <= size // 25)
    chance = random.Random(3)
    chance.shuffle(rare)
    pairs = [" ".join(chance.sample(middle, 2)) for _ in range(200)]
    return Words(rare[:200], pairs, min(rows, key=lambda word: abs(rows[word] - size // 2)))


def requests(size: int, sought: Words) -> dict[str, Requests]:
    """Endless requests of each kind."""
    chance = random.Random(5)
    # Varying limits, so that no cache answers the common word.
    common = (get(f"/search?q={sought.common}&limit={number % 10 + 1}") for number in itertools.count())
    kinds: dict[str, Requests] = {
        "GET /health": itertools.repeat(get("/health")),
        "GET /observations/{id}": (get(f"/observations/{chance.randint(1, size)}") for _ in itertools.count()),
        "GET /search, a rare word": _round([get(f"/search?q={word}") for word in sought.rare]),
        "GET /search, two words": _round([get(f"/search?q={quote(pair)}") for pair in sought.pairs]),
        "GET /search, a common word": common,
        "GET /context": _round([get(f"/context?project=project-{number}") for number in range(PROJECTS)]),
        "GET /observations/recent": itertools.repeat(get("/observations/recent?limit=20")),
        "GET /timeline": (get(f"/timeline?observation_id={chance.randint(1, size)}") for _ in itertools.count()),
        "GET /stats": itertools.repeat(get("/stats")),
        "POST /observations": posts(),
    }
    parts = [kinds[name] for name in kinds if name not in ("GET /health", "GET /search, a common word")]
    kinds["mixed"] = (next(each) for each in itertools.cycle(parts))
    return kinds


def posts(first: int = 0) -> Requests:
    """Endless new observations. They are numbered, because a repeated one would be deduplicated."""
    vocabulary = Vocabulary(17)
    contents = [vocabulary.text(WORDS) for _ in range(500)]
    for number in itertools.count(first):
        body = {
            "session_id": f"s{number % 10}",
            "type": _TYPES[number % len(_TYPES)],
            "title": f"Written under load, number {number}",
            "content": f"{number} {contents[number % len(contents)]}",
            "project": _project(number),
        }
        yield post("/observations", json.dumps(body).encode())


def _round(requests: list[bytes]) -> Requests:
    return itertools.cycle(requests)


def _texts(start: int, count: int) -> Iterator[list[str]]:
    vocabulary = Vocabulary(1_000_003 + start)
    for _ in range(count):
        yield vocabulary.text(WORDS + 6).split()


def _project(number: int) -> str:
    return f"project-{number % PROJECTS}"


def _time(number: int) -> str:
    return f"2025-{number // 86400 % 12 + 1:02d}-01 {number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}"
