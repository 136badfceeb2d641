"""Reverie's routes: the reports of dreams and open proposals, the tokens of results, and contexts for any limit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import wait_until
from tests.web.daemon import Daemon, environment
from tests.web.test_plugin_routes import asked, save

from anamnesis.store import MemoryStore


def dream(home: Path) -> Any:
    """Run a cycle in a process of its own, as a person does."""
    done = subprocess.run(
        [sys.executable, "-m", "anamnesis", "dream", "--json"],
        env=environment(home),
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def write_twice(home: Path) -> None:
    """Two notes of the same words, by an agent, and others beside them."""
    with MemoryStore(home) as store:
        for _ in range(2):
            store.write(type="semantic", title="Retry", body="The client retries thrice.", prov_session="s")
        for number in range(60):
            store.write(type="semantic", title=f"Filler {number}", body=f"Text of number {number}.", prov_session="s")


def test_before_the_first_dream_the_answers_say_so(daemon: Daemon) -> None:
    wait_until(lambda: daemon.ask("GET", "/dream/status").status == 200)
    assert asked(daemon, "GET", "/dream/status")[1] == {"waiting": 0, "review": 0, "changed_notes": 0, "last": None}
    status, found = asked(daemon, "GET", "/dream/last-report")
    assert status == 404
    assert found["error"].startswith("no dream has run yet")


def test_the_last_dream_is_reported_as_json_and_as_markdown(daemon: Daemon) -> None:
    write_twice(daemon.home)
    done = dream(daemon.home)
    status, found = asked(daemon, "GET", "/dream/last-report")
    assert (status, found["id"], found["state"]) == (200, done["id"], "done")
    assert [each["kind"] for each in found["proposals"]] == ["duplicate"]
    told = asked(daemon, "GET", "/dream/status")[1]
    assert told["last"] == found
    for accept, is_markdown in {
        "text/markdown": True,
        "text/html, Text/Markdown;q=0.9, application/json;q=0.8": True,
        "application/json, text/markdown": False,
        "*/*": False,
        "": False,
    }.items():
        reply = daemon.ask("GET", "/dream/last-report", Accept=accept)
        assert reply.headers["content-type"] == ("text/markdown; charset=utf-8" if is_markdown else "application/json")
        assert reply.text.startswith(f"# Dream {done['id']}\n") == is_markdown


def test_the_metrics_count_notes_and_dreams(daemon: Daemon) -> None:
    write_twice(daemon.home)
    dream(daemon.home)

    def gauges() -> dict[str, float]:
        lines = daemon.ask("GET", "/metrics").text.splitlines()
        return {name: float(value) for name, value in (line.split() for line in lines if line[0] != "#")}

    wait_until(lambda: gauges().get("anamnesis_notes") == 62)
    found = gauges()
    assert found["anamnesis_dream_last_timestamp_seconds"] > 1_700_000_000
    assert (found["anamnesis_dream_proposals_waiting"], found["anamnesis_dream_proposals_review"]) == (0, 0)


def test_tokens_are_estimated_only_where_that_is_asked_for(begun: Daemon) -> None:
    save(begun, title="long", content="zebra " * 100)
    save(begun, title="short", content="zebra")
    plain = begun.ask("GET", "/search?q=zebra")
    for value in ("false", "0", "no", ""):
        other = begun.ask("GET", f"/search?q=zebra&include_tokens={value}")
        assert (other.body, "x-anamnesis-tokens" in other.headers) == (plain.body, False)
    counted = begun.ask("GET", "/search?q=zebra&include_tokens=true")
    found = json.loads(counted.body)
    assert {each["title"]: each.pop("tokens") for each in found} == {"short": 3, "long": 151}
    assert found == json.loads(plain.body)
    assert counted.headers["x-anamnesis-tokens"] == "154"
    assert begun.ask("GET", "/search?q=nothing_here&include_tokens=true").headers["x-anamnesis-tokens"] == "0"


@pytest.mark.parametrize("limit", ["-1", "0", "abc", "1.5", "", "99999999999999999999", "%00"])
def test_an_invalid_limit_of_the_smart_context_is_the_default(begun: Daemon, limit: str) -> None:
    for number in range(120):
        save(begun, title=f"recent {number}", content=f"c{number}")
    _, default = asked(begun, "GET", "/context/smart?project=p")
    assert default["context"].count("\n- ") == 15
    assert asked(begun, "GET", f"/context/smart?project=p&limit={limit}") == (200, default)
    assert asked(begun, "GET", "/context/smart?project=p&limit=5000")[1]["context"].count("\n- ") == 100
    assert asked(begun, "GET", "/context/smart?project=nobody") == (200, {"context": ""})
