"""docs/agents.md and the recorded run agree with the agents of `init` and the scenes."""

from __future__ import annotations

import re
from pathlib import Path

from tests.clients import play, results
from tests.clients.installing import pinned
from tests.clients.results import Result
from tests.clients.scenes import FAILED, LACKING, PLAYED, SCENES, Outcome
from tests.onboard.machines import Machine

from anamnesis.onboard.agents import AGENTS

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs/agents.md"


def test_the_page_names_exactly_the_agents_that_init_knows(tmp_path: Path) -> None:
    table = PAGE.read_text("utf-8").partition("| scene |")[0]
    named = re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)[2:]
    assert named == [Machine(tmp_path).agent(name).title for name in AGENTS]


def test_the_readme_shows_the_head_of_the_page() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    table = [line for line in readme.splitlines() if line.startswith("|")]
    assert "\n".join(table) in PAGE.read_text("utf-8")
    (count,) = re.findall(r"twelve|thirteen|fourteen", readme)
    played = sum(result.is_played for result in results.read().values())
    assert {"twelve": 12, "thirteen": 13, "fourteen": 14}[count] == played


def test_init_knows_every_client_that_is_played_pinned_or_recorded() -> None:
    assert set(play.hosts()) <= AGENTS.keys()
    assert results.read().keys() <= set(play.hosts())
    assert pinned().keys() <= set(play.hosts())
    assert all(play.host(name).name == name for name in play.hosts())


def test_a_scene_that_was_not_played_or_failed_has_a_reason() -> None:
    for name, result in results.read().items():
        assert list(result.scenes) == list(SCENES), name
        assert all(each.reason for each in result.scenes.values() if each.mark != PLAYED), name


def test_every_scene_that_a_client_lacks_is_a_scene() -> None:
    for name in play.hosts():
        assert set(play.host(name).lacks) <= {*SCENES, "sessions"}, name
        assert play.host(name).start or play.host(name).lacks.get("sessions"), name


def test_the_page_describes_each_scene() -> None:
    described = PAGE.read_text("utf-8").partition("| scene |")[2]
    assert re.findall(r"^\| ([a-z ]+?) \|", described, re.MULTILINE) == list(SCENES)


def test_two_runs_are_compared_and_only_a_new_failure_is_worse() -> None:
    before = Result("npm x", "1", "2026-11-01", {"init": Outcome(PLAYED), "tools": Outcome(FAILED, "old")})
    after = Result("npm x", "2", "2026-11-02", {"init": Outcome(LACKING, "gone"), "tools": Outcome(FAILED, "new")})
    assert list(results.changes(before, after)) == ["version 1 → 2", "init: ✓ → – (gone)"]
    assert not results.is_worse(before, after)
    assert results.is_worse(before, Result("npm x", "2", "d", {"init": Outcome(FAILED, "broken")}))
    assert results.is_worse(None, after)
