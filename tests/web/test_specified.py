"""Where the specification and the recorded Engram differ, the specification holds; if strict, the recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.web.daemon import Daemon

STAMP = "2025-03-01 00:00:00"


def asked(daemon: Daemon, method: str, path: str, **body: object) -> Any:
    reply = daemon.ask(method, path, json.dumps(body) if body else None)
    assert reply.status in (200, 201), reply.text
    return json.loads(reply.body)


def save(daemon: Daemon, project: str, count: int = 1) -> None:
    asked(daemon, "POST", "/sessions", id="s1", project=project)
    for number in range(count):
        row = {"session_id": "s1", "title": f"T{number}", "content": f"content {number}", "project": project}
        asked(daemon, "POST", "/observations", **row)
    asked(daemon, "POST", "/prompts", session_id="s1", content="what now?", project=project)


def document(project: str) -> dict[str, Any]:
    row = {"id": 1, "sync_id": "obs-1", "session_id": "i1", "type": "decision", "title": "t", "content": "imported"}
    times = {"created_at": STAMP, "updated_at": STAMP}
    return {
        "sessions": [{"id": "i1", "project": project, "directory": "/w", "started_at": STAMP}],
        "observations": [{**row, "project": project, "scope": "project", **times}],
        "prompts": [{"id": 1, "sync_id": "p-1", "session_id": "i1", "content": "asked", "project": project, **times}],
    }


def found(daemon: Daemon, project: str) -> list[int]:
    """How many observations, sessions and prompts a client finds under a name."""
    return [
        len(asked(daemon, "GET", f"/{path}/recent?project={project}") or ())
        for path in ("observations", "sessions", "prompts")
    ]


@pytest.mark.parametrize("name", ["Front--End", "FRONT-END", "%20front-end"])
def test_a_renamed_project_is_found_under_its_new_name_however_it_is_spelled(daemon: Daemon, name: str) -> None:
    save(daemon, "web", 9)
    moved = asked(daemon, "POST", "/projects/migrate", old_project=" Web", new_project="Front--End")
    assert (moved["old_project"], moved["new_project"]) == (" Web", "front-end")
    assert (moved["observations"], moved["sessions"], moved["prompts"]) == (9, 1, 1)
    assert found(daemon, name) == [9, 1, 1]
    assert found(daemon, "web") == [0, 0, 0]


def test_a_project_that_was_stored_as_it_was_sent_can_be_given_its_normal_name(tmp_path: Path) -> None:
    """Rows of Engram itself, or of a strict daemon, under a name that no reader finds."""
    before = Daemon(tmp_path, ANAMNESIS_ENGRAM_STRICT="1")
    save(before, "web", 2)
    asked(before, "POST", "/projects/migrate", old_project="web", new_project="MiXed")
    assert found(before, "MiXed") == [0, 0, 0]
    before.stop()
    daemon = Daemon(tmp_path)
    assert asked(daemon, "POST", "/projects/migrate", old_project="MiXed", new_project="mixed")["observations"] == 2
    assert found(daemon, "MiXed") == [2, 1, 1]
    again = asked(daemon, "POST", "/projects/migrate", old_project="MiXed", new_project="mixed")
    assert again == {"status": "skipped", "reason": "names are identical"}
    daemon.stop()


@pytest.mark.parametrize("name", [" ", "\t"])
def test_a_blank_name_is_missing(daemon: Daemon, name: str) -> None:
    save(daemon, "web")
    asked(daemon, "POST", "/observations", session_id="s1", title="t", content="of no project")
    reply = daemon.ask("POST", "/projects/migrate", json.dumps({"old_project": "web", "new_project": name}))
    assert (reply.status, reply.text) == (400, '{"error":"old_project and new_project are required"}\n')
    nothing = asked(daemon, "POST", "/projects/migrate", old_project=name, new_project="other")
    assert nothing == {"status": "skipped", "reason": "no records found"}


def test_an_imported_observation_is_found_under_its_project(daemon: Daemon) -> None:
    asked(daemon, "POST", "/import", **document("My--App"))
    assert found(daemon, "My--App") == found(daemon, "my-app") == [1, 1, 1]
    assert len(asked(daemon, "GET", "/search?q=imported&project=MY-APP")) == 1
    assert asked(daemon, "POST", "/import", **document("My--App")) == {
        "sessions_imported": 0,
        "observations_imported": 0,
        "prompts_imported": 0,
    }


def test_prompts_are_searched_in_a_project_however_its_name_is_spelled(daemon: Daemon) -> None:
    save(daemon, "web")
    assert len(asked(daemon, "GET", "/prompts/search?q=now&project=WEB")) == 1


def test_a_strict_daemon_takes_names_as_engram_does(strict: Daemon) -> None:
    save(strict, "web", 2)
    assert asked(strict, "GET", "/prompts/search?q=now&project=WEB") is None
    skipped = asked(strict, "POST", "/projects/migrate", old_project="Web", new_project="x")
    assert skipped == {"status": "skipped", "reason": "no records found"}
    moved = asked(strict, "POST", "/projects/migrate", old_project="web", new_project="MiXed")
    assert (moved["new_project"], moved["observations"]) == ("MiXed", 2)
    asked(strict, "POST", "/import", **document("My--App"))
    projects = {row["project"] for row in asked(strict, "GET", "/export")["observations"]}
    assert projects == {"MiXed", "My--App"}
