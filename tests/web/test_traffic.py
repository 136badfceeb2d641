"""Random requests: two daemons with the same history give the same answers, without internal errors."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_from_bytes, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.web.daemon import Daemon, Reply

Sent = tuple[str, str, bytes | None]

_ATTEMPTS = 20
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_SYNC_ID = re.compile(r"\b(obs|prompt)-[0-9a-f]{16}\b")

words = st.sampled_from(
    ["token", "Panic", "café", "日本", "a/b", "x=1", "C++", '"', "NOT", "*", "\0", " ", "<private>q</private>"]
)
texts = st.one_of(words, st.lists(words, max_size=6).map(" ".join), st.text(max_size=12), st.just(""))
sessions = st.sampled_from(["s1", "s2", "s/3", "gone", ""]) | texts
projects = st.sampled_from(["engram", " Engram ", "x--y", "MiXed", ""])
numbers = st.integers(-2, 40).map(str) | st.sampled_from(["x", "+3", "007", "9" * 30, "", "1.0", "1e3", "٣"])
values = st.one_of(
    texts, st.none(), st.integers(), st.booleans(), st.lists(texts, max_size=2), st.floats(allow_nan=False)
)


def bodies(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """Mostly what is expected, sometimes with other values, keys or no JSON at all."""
    usual = st.fixed_dictionaries({}, optional=fields)
    odd = st.dictionaries(st.sampled_from([*fields, *(name.upper() for name in fields), "other"]), values)
    written = (usual | usual | usual | odd).map(lambda body: json.dumps(body).encode("utf-8", "replace"))
    return written | written | written | st.binary(max_size=30) | st.sampled_from([b"", b"{", b"null", b"[]", b"{}x"])


def queries(**fields: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    usual = st.fixed_dictionaries({}, optional=fields).map(lambda query: urlencode(query, errors="replace"))
    return usual | usual | usual | st.binary(max_size=20).map(lambda raw: quote_from_bytes(raw, safe="&=%;+"))


nothing: st.SearchStrategy[Any] = st.none()


def to(
    method: str, path: str, query: st.SearchStrategy[str | None] = nothing, body: st.SearchStrategy[Any] = nothing
) -> st.SearchStrategy[Sent]:
    return st.builds(
        lambda part, asked, sent: (
            method,
            re.sub(r"\{\w+\}", quote(part, safe="", errors="replace") or "-", path) + (f"?{asked}" if asked else ""),
            sent,
        ),
        numbers if "{number}" in path else sessions,
        query,
        body,
    )


observation = {
    "session_id": sessions, "type": texts, "title": texts, "content": texts, "project": projects,
    "scope": st.sampled_from(["project", "personal", " Personal ", "zz"]), "topic_key": texts, "tool_name": texts,
}  # fmt: skip
learnings = st.lists(texts, max_size=4).map(
    lambda items: "## Key Learnings:\n" + "".join(f"1. {item} is what we know\n" for item in items)
)
imported = st.fixed_dictionaries(
    {"id": st.integers(0, 9), "session_id": sessions, "title": texts, "content": texts, "sync_id": texts}
)
limits = {"limit": numbers, "project": projects, "scope": texts}
requests = st.one_of(
    to("POST", "/sessions", body=bodies(id=sessions, project=projects, directory=texts)),
    to("POST", "/observations", body=bodies(**observation)),
    to("POST", "/observations", body=bodies(**observation)),
    to("POST", "/observations/passive", body=bodies(session_id=sessions, content=learnings, project=projects)),
    to("POST", "/prompts", body=bodies(session_id=sessions, content=texts, project=projects)),
    to("POST", "/sessions/{id}/end", body=bodies(summary=texts)),
    to("PATCH", "/observations/{number}", body=bodies(**observation)),
    to("DELETE", "/observations/{number}", queries(hard=st.sampled_from(["true", "1", "T", "yes", ""]))),
    to("DELETE", "/prompts/{number}"),
    to("DELETE", "/sessions/{id}"),
    to("POST", "/projects/migrate", body=bodies(old_project=projects, new_project=projects)),
    to("POST", "/import", body=bodies(observations=st.lists(imported, max_size=2))),
    to("GET", "/search", queries(q=texts, type=texts, match=st.sampled_from(["any", "all"]), **limits)),
    to("GET", "/prompts/search", queries(q=texts, **limits)),
    to("GET", "/timeline", queries(observation_id=numbers, before=numbers, after=numbers)),
    to("GET", "/observations/{number}"),
    to("GET", "/sessions/{id}"),
    to("GET", "/context", queries(compact=texts, **limits)),
    *(to("GET", path, queries(**limits)) for path in ("/sessions/recent", "/observations/recent", "/prompts/recent")),
    *(to("GET", path, queries(**limits)) for path in ("/observations", "/context/smart", "/stats", "/export")),
    to("GET", "/{id}/{id}"),
)  # fmt: skip


class Twins:
    """Two daemons that are asked the same.

    Times have seconds in Engram: if the two were not always asked within one, what is recent may have another order.
    """

    def __init__(self, new_home: Callable[[str], Path]) -> None:
        self._new_home = new_home
        self.start()

    def start(self) -> None:
        self.both = (Daemon(self._new_home("one")), Daemon(self._new_home("two")))
        self.had_same_seconds = True
        for name in ("s1", "s2", "s/3"):
            self.ask("POST", "/sessions", json.dumps({"id": name, "project": "engram"}).encode())

    def stop(self) -> None:
        for daemon in self.both:
            assert daemon.stop() == (0, "")
            assert "error" not in (daemon.home / "anamnesis.log").read_text()

    def ask(self, method: str, path: str, body: bytes | None) -> tuple[Reply, Reply]:
        while (now := time.time()) % 1 > 0.8:
            time.sleep(0.01)
        one, two = (daemon.ask(method, path, body) for daemon in self.both)
        self.had_same_seconds &= int(now) == int(time.time())
        return one, two


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    pair = Twins(tmp_path_factory.mktemp)
    yield pair
    pair.stop()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(requests, min_size=5, max_size=15))
def test_the_same_requests_get_the_same_answers_and_break_nothing(twins: Twins, sent: list[Sent]) -> None:
    for _ in range(_ATTEMPTS):
        if _are_comparable(twins, sent):
            return
        twins.stop()
        twins.start()
    pytest.fail("This machine does not answer two requests within a second.")


def _are_comparable(twins: Twins, sent: list[Sent]) -> bool:
    """Whether the answers can be compared, which are then alike; else one daemon wrote a second after the other."""
    for method, path, body in sent:
        one, two = twins.ask(method, path, body)
        assert one.status == two.status
        assert one.status < 500 or "FOREIGN KEY constraint failed (787)" in one.text
        if _comparable(one) != _comparable(two) and not twins.had_same_seconds:
            return False
        assert _comparable(one) == _comparable(two)
    return True


def _comparable(reply: Reply) -> str:
    return _SYNC_ID.sub("<id>", _TIME.sub("<now>", reply.text))
