"""Routes beyond Engram's own: those that newer plugins call, Reverie's, and those about the daemon."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.web.daemon import Daemon


def save(daemon: Daemon, **fields: str) -> int:
    body = {"session_id": "s", "type": "decision", "project": "p", **fields}
    reply = daemon.ask("POST", "/observations", json.dumps(body))
    assert reply.status == 201
    id: int = json.loads(reply.body)["id"]
    return id


def asked(daemon: Daemon, method: str, path: str) -> tuple[int, Any]:
    reply = daemon.ask(method, path)
    return reply.status, json.loads(reply.body)


def test_any_of_the_words_is_enough_where_it_is_asked_for(begun: Daemon) -> None:
    both = save(begun, title="one", content="parser queue")
    one = save(begun, title="two", content="parser alone")
    assert begun.ask("GET", "/search?q=parser+zebra").by_words == []
    _, found = asked(begun, "GET", "/search?q=parser+zebra&match=any")
    assert {each["id"] for each in found} == {both, one}
    _, found = asked(begun, "GET", "/search?q=queue+parser&match=any")
    assert [each["id"] for each in found] == [both, one]


def test_a_session_is_read_and_removed_unless_something_was_observed_in_it(begun: Daemon) -> None:
    status, session = asked(begun, "GET", "/sessions/s")
    assert (status, list(session)) == (200, ["id", "project", "directory", "started_at"])
    assert asked(begun, "GET", "/sessions/nobody") == (404, {"error": "session not found"})
    id = save(begun, title="t", content="c")
    status, error = asked(begun, "DELETE", "/sessions/s")
    assert status == 409
    assert error["error"].startswith("session still has observations")
    begun.ask("DELETE", f"/observations/{id}?hard=true")
    assert asked(begun, "DELETE", "/sessions/s") == (200, {"id": "s", "status": "deleted"})
    assert asked(begun, "DELETE", "/sessions/s")[0] == 404


def test_a_prompt_is_removed_once(begun: Daemon) -> None:
    id = json.loads(begun.ask("POST", "/prompts", '{"session_id":"s","content":"do it"}').body)["id"]
    assert asked(begun, "DELETE", "/prompts/x") == (400, {"error": "invalid prompt id"})
    assert asked(begun, "DELETE", f"/prompts/{id}") == (200, {"id": id, "status": "deleted"})
    assert asked(begun, "DELETE", f"/prompts/{id}")[0] == 404
    assert asked(begun, "GET", "/prompts/search?q=do") == (200, None)


def test_the_list_of_observations_is_never_null(begun: Daemon) -> None:
    assert begun.ask("GET", "/observations?limit=1&sort=created_at:desc").body == b"[]\n"
    ids = [save(begun, title=f"t{number}", content=f"c{number}") for number in range(3)]
    _, found = asked(begun, "GET", "/observations?limit=1&sort=created_at:desc&project=P")
    assert [each["id"] for each in found] == ids[-1:]


def test_the_project_of_a_folder_is_known_with_its_reason(shared: Daemon, tmp_path: Path) -> None:
    folder = tmp_path / "Harbor Works"
    folder.mkdir()

    def current() -> tuple[str, str]:
        _, found = asked(shared, "GET", f"/project/current?cwd={str(folder).replace(' ', '%20')}")
        assert "error_hint" not in found
        return found["project"], found["project_source"]

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)

    assert current() == ("harbor works", "dir_basename")
    git("init")
    assert current() == ("harbor works", "git_root")
    git("remote", "add", "origin", "git@example.org:team/Pier.git")
    assert current() == ("pier", "git_remote")
    (folder / ".engram").mkdir()
    (folder / ".engram/config.json").write_text('{"project_name": "quay"}')
    assert current() == ("quay", "config")


def test_a_configuration_that_never_ends_or_never_begins_holds_nobody_up(shared: Daemon, tmp_path: Path) -> None:
    for number in range(8):
        folder = tmp_path / f"Folder {number}"
        (folder / ".engram").mkdir(parents=True)
        if number % 2:
            os.mkfifo(folder / ".engram/config.json")
        else:
            (folder / ".engram/config.json").symlink_to("/dev/zero")
        _, found = asked(shared, "GET", f"/project/current?cwd={str(folder).replace(' ', '%20')}")
        assert (found["project"], found["project_source"]) == (f"folder {number}", "dir_basename")
    assert asked(shared, "GET", "/search?q=nothing")[0] == 200


@pytest.mark.parametrize("cwd", ["", "relative/path", "%00", "/no/such/folder%00"])
def test_a_path_that_is_not_a_folder_gets_a_hint_and_no_project(shared: Daemon, cwd: str) -> None:
    status, found = asked(shared, "GET", f"/project/current?cwd={cwd}")
    assert (status, found["project"]) == (200, "")
    assert "absolute" in found["error_hint"]


def test_the_smart_context_has_recent_recurring_and_personal_observations(begun: Daemon) -> None:
    save(begun, title="mine", content="about me", scope="personal", project="elsewhere")
    for number in range(3):
        save(begun, title=f"kept {number}", content="old but living", topic_key="living")
    for number in range(30):
        save(begun, title=f"recent {number}", content=f"c{number}")
    _, told = asked(begun, "GET", "/context/smart?project=p&limit=10")
    recent, often, personal = re.split(r"### .*\n", told["context"])[1:]
    assert recent.split("**")[1::2] == [f"recent {number}" for number in range(29, 21, -1)]
    assert often == "- [decision] **kept 2**: old but living\n\n"
    assert personal == "- [decision] **mine**: about me\n\n"
    assert asked(begun, "GET", "/context/smart?project=nothing") == (
        200,
        {"context": "## Memory from Previous Sessions\n\n### Personal\n- [decision] **mine**: about me\n\n"},
    )


def test_a_context_is_as_long_as_it_may_be_and_says_where_it_was_cut(begun: Daemon) -> None:
    for number in range(20):
        save(begun, title=f"t{number}", content="é" * 300)
    whole = asked(begun, "GET", "/context")[1]["context"]
    assert asked(begun, "GET", "/context?max_bytes=100000")[1]["context"] == whole
    assert asked(begun, "GET", "/context?max_bytes=-5")[1]["context"] == whole
    for most in (1, 5, 11, 12, 13, 500, 501, 502):
        told = asked(begun, "GET", f"/context?max_bytes={most}")[1]["context"]
        assert len(told.encode()) in (most, most - 1)
        assert whole.startswith(told.removesuffix("\n[truncated]"))
        assert told.endswith("\n[truncated]") or most <= 12


def test_metrics_have_the_format_of_prometheus(begun: Daemon) -> None:
    begun.ask("GET", "/observations/77")
    begun.ask("GET", "/no/such/path")
    save(begun, title="t", content="c")
    reply = begun.ask("GET", "/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = reply.text.splitlines()
    assert all(re.fullmatch(r'(# (HELP|TYPE) .+|\w+(\{(\w+="[^"]*",?)*\})? -?[0-9.e+-]+)', line) for line in lines)
    assert 'anamnesis_http_requests_total{method="GET",route="/observations/{id}",status="404"} 1' in lines
    assert 'anamnesis_http_requests_total{method="",route="",status="404"} 1' in lines
    assert "anamnesis_writes_total 2" in lines
    assert "anamnesis_observations 1" in lines


def test_ready_names_the_serving_process(daemon: Daemon) -> None:
    status, found = asked(daemon, "GET", "/ready")
    assert (status, found["status"], found["pid"]) == (200, "ready", daemon.process.pid)


def test_mcp_is_spoken_at_its_address_in_both_dialects(begun: Daemon) -> None:
    def call(method: str, **params: Any) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        reply = begun.ask("POST", "/mcp", body, Content_Type="application/json", Accept="application/json")
        assert reply.status == 200
        return json.loads(reply.body)["result"]

    names = [tool["name"] for tool in call("tools/list")["tools"]]
    assert len([name for name in names if name.startswith("mem_")]) == 15
    assert "memory_sync" in names
    written = call("tools/call", name="memory_write", arguments={"type": "semantic", "title": "A note", "body": "b"})
    assert written["structuredContent"]["title"] == "A note"
    saved = call("tools/call", name="mem_save", arguments={"title": "Over MCP", "content": "a zebra", "project": "p"})
    assert saved["content"][0]["text"].startswith('Memory saved: "Over MCP"')
    assert [each["title"] for each in asked(begun, "GET", "/search?q=zebra")[1]] == ["Over MCP"]
    assert begun.ask("GET", "/mcp").status == 405
