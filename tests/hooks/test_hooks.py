"""Hooks as an agent runs them: whatever it sends, the exit code is 0 and stdout holds the result or nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import wait_until

from anamnesis.store import MemoryStore


class Hook:
    """A hook on a home of its own, in a folder whose project is `work`."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "store"
        self.cwd = folder / "work"
        self.cwd.mkdir()
        self.variables = {"ANAMNESIS_HOME": str(self.home), "HOME": str(folder), "PATH": os.environ["PATH"]}

    def __call__(self, name: str, event: object = None, *arguments: str, **variables: str) -> str:
        done = self.run(name, json.dumps(event or self.event()).encode(), *arguments, **variables)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode("utf-8")

    def run(self, name: str, stdin: bytes, *arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "anamnesis", name, *arguments],
            input=stdin,
            capture_output=True,
            env={**self.variables, **variables},
            cwd=self.cwd,
            timeout=30,
            check=False,
        )

    def capture(self, *arguments: str, **more: str) -> None:
        """Capture without the sync that would go on after the test."""
        assert self("capture", self.event(**more), "--no-sync", *arguments) == ""

    def event(self, **more: str) -> dict[str, str]:
        return {"session_id": "s1", "cwd": str(self.cwd), "hook_event_name": "x", **more}

    def log(self) -> list[dict[str, Any]]:
        path = self.home / "anamnesis.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[Hook]:
    made = Hook(tmp_path)
    with MemoryStore(made.home) as store:
        store.write(type="semantic", title="Zebra crossing", body="Zebras cross at the lights.", project="work")
        for number in range(60):
            store.write(type="semantic", title=f"Filler {number}", body=f"Filler text number {number}.", project="x")
    yield made


def test_inject_tells_an_old_note_about_the_branch_and_the_changed_files(hook: Hook) -> None:
    """Although 30 newer notes exist."""
    commands = ["init --quiet --initial-branch=main", "add --all", "commit --quiet -m start", "checkout --quiet -b B"]
    (hook.cwd / "src/db").mkdir(parents=True)
    (hook.cwd / "src/db/pool.py").write_text("pool = 1\n")
    for command in commands:
        words = command.replace(" B", " fix/sqlite-busy-timeout").split()
        identity = ["-c", "user.name=x", "-c", "user.email=x"]
        subprocess.run(["git", *identity, *words], cwd=hook.cwd, check=True)
    (hook.cwd / "src/db/pool.py").write_text("pool = 2\n")
    with MemoryStore(hook.home) as store:
        old = store.write(type="semantic", title="SQLite needs a busy timeout", body="5 s each.", project="work")
        store.put(replace(old, updated_at="2020-01-01T00:00:00+00:00"))
        for number in range(30):
            store.write(type="semantic", title=f"Newer {number}", body=f"Unrelated {number}.", project="work")
    shown = hook("inject", hook.event(source="startup"))
    assert "SQLite needs a busy timeout" in shown
    assert shown.count("] Newer ") == 8
    subprocess.run(["git", "checkout", "--quiet", "--force", "main"], cwd=hook.cwd, check=True)
    shown = hook("inject", hook.event(source="startup", session_id="s2"))
    assert "SQLite needs a busy timeout" not in shown
    assert shown.count("] Newer ") == 8


def test_inject_tells_the_notes_of_the_agents_folder(hook: Hook) -> None:
    shown = hook("inject", hook.event(source="startup"))
    assert "Zebra crossing" in shown
    assert "Filler" not in shown


def test_recall_adds_the_notes_of_a_prompt_once_per_session(hook: Hook) -> None:
    question = hook.event(prompt="where do zebras cross the road?")
    assert "Zebra crossing" in hook("recall", question)
    assert hook("recall", question) == ""
    assert "Zebra crossing" in hook("recall", {**question, "session_id": "s2"})


def test_recall_repeats_injected_notes_only_after_a_compaction(hook: Hook) -> None:
    hook("inject", hook.event(source="startup"))
    assert hook("recall", hook.event(prompt="where do zebras cross the road?")) == ""
    assert "Zebra crossing" in hook("inject", hook.event(source="compact"))


@pytest.mark.parametrize(
    "prompt",
    ["fix the failing test", "continue", "yes", "/model opus", "ok", "", "??", "thanks!", "run the tests again"],
)
def test_recall_is_silent_at_a_prompt_about_nothing_it_knows(hook: Hook, prompt: str) -> None:
    assert hook("recall", hook.event(prompt=prompt)) == ""


def test_a_note_of_another_project_is_not_recalled(hook: Hook) -> None:
    assert hook("recall", hook.event(prompt="what was filler text number 17?")) == ""


def test_a_folder_does_not_get_notes_of_repositories_that_share_its_name(hook: Hook) -> None:
    with MemoryStore(hook.home) as store:
        for owner in "ab":
            store.write(type="semantic", title="Giraffe", body="Giraffes graze.", project=f"github.com/{owner}/work")
    assert "Giraffe" not in hook("inject", hook.event(source="startup"))
    assert hook("recall", hook.event(prompt="where do giraffes graze?")) == ""


@pytest.mark.parametrize("name", ["inject", "recall", "capture"])
@pytest.mark.parametrize(
    "stdin",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe{}", b'{"cwd": 5, "session_id": {}, "prompt": []}', b"[" * 50_000],
)
def test_no_input_on_stdin_stops_the_agent(hook: Hook, name: str, stdin: bytes) -> None:
    done = hook.run(name, stdin, *(["--no-sync"] if name == "capture" else []))
    assert done.returncode == 0
    assert done.stderr == b""


@pytest.mark.parametrize("name", ["inject", "recall"])
def test_an_event_with_lone_surrogates_is_answered(hook: Hook, name: str) -> None:
    event = json.dumps(hook.event(prompt="zebras cross \ud800 the road")).encode()
    assert b"Zebra crossing" in hook.run(name, event).stdout


@pytest.mark.parametrize("name", ["inject", "recall"])
def test_stdin_that_is_never_closed_does_not_hang_the_agent(hook: Hook, name: str) -> None:
    reader, writer = os.pipe()
    os.write(writer, json.dumps(hook.event(prompt="where do zebras cross the road?")).encode())
    process = subprocess.Popen(
        [sys.executable, "-m", "anamnesis", name],
        stdin=reader,
        stdout=subprocess.PIPE,
        env=hook.variables,
        cwd=hook.cwd,
    )
    out, _ = process.communicate(timeout=20)
    os.close(writer)
    os.close(reader)
    assert b"Zebra crossing" in out


def test_a_failure_is_one_line_on_stderr_and_in_the_log(hook: Hook) -> None:
    done = hook.run("inject", b"{}", "--budget", "lots")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.count(b"\n") == 1
    (entry,) = hook.log()
    assert entry["event"] == "hook failed"
    assert "lots" in entry["reason"]


def test_a_home_that_cannot_be_used_does_not_stop_the_agent(hook: Hook) -> None:
    (hook.cwd / "file").write_text("")
    done = hook.run("inject", b"{}", ANAMNESIS_HOME=str(hook.cwd / "file" / "home"))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.count(b"\n") == 1


def test_an_agent_that_closes_the_pipe_is_not_an_error(hook: Hook) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "anamnesis", "inject"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=hook.variables,
        cwd=hook.cwd,
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL),
    )
    assert process.stdout
    assert process.stderr
    assert process.stdin
    process.stdout.close()
    process.stdin.write(json.dumps(hook.event()).encode())
    process.stdin.close()
    assert process.wait(timeout=20) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_hook_inside_our_own_program_does_nothing(hook: Hook) -> None:
    assert hook("inject", None, ANAMNESIS_INSIDE="1") == ""


def test_the_budget_comes_from_the_option_the_variable_or_the_file(hook: Hook) -> None:
    with MemoryStore(hook.home) as store:
        for number in range(8):
            store.write(type="semantic", title=f"Long {number}", body="word " * 200, project="work")
    assert len(hook("inject")) > 5000
    assert len(hook("inject", None, "--budget", "3000")) <= 3000
    assert len(hook("inject", None, ANAMNESIS_INJECT_BUDGET="2500")) <= 2500
    (hook.home / "config.json").write_text('{"inject_budget": "2000"}')
    assert len(hook("inject")) <= 2000


@pytest.mark.parametrize("name", ["inject", "recall"])
def test_hooks_import_no_heavy_library(hook: Hook, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "anamnesis", name],
        input=json.dumps(hook.event(prompt="where do zebras cross the road?")).encode(),
        env=hook.variables,
        cwd=hook.cwd,
        capture_output=True,
        check=True,
    )
    assert b"Zebra crossing" in done.stdout
    heavy = {
        "click",
        "rich",
        "yaml",
        "mcp",
        "anamnesis.mcp",
        "pydantic",
        "starlette",
        "httpx",
        "asyncio",
        "http.client",
    }
    assert {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()} & heavy == set()


def transcript(hook: Hook, *messages: tuple[str, object], session: str = "s1") -> Path:
    """A transcript in today's format: ("user", text) or ("assistant", content)."""
    path = hook.cwd / f"{session}.jsonl"
    lines = [
        {
            "type": role,
            "uuid": f"u{number}",
            "sessionId": session,
            "cwd": str(hook.cwd),
            "gitBranch": "main",
            "timestamp": f"2026-08-01T10:00:{number:02d}.000Z",
            "message": {"id": f"m{number}", "role": role, "model": "claude-x", "content": content},
        }
        for number, (role, content) in enumerate(messages)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


EDIT = [
    {
        "type": "tool_use",
        "id": "t1",
        "name": "Edit",
        "input": {"file_path": "a.py", "old_string": "1", "new_string": "2"},
    }
]


def test_a_session_becomes_one_note_however_often_it_is_captured(hook: Hook) -> None:
    asked = [
        ("user", "Why does the login fail?"),
        ("assistant", EDIT),
        ("assistant", [{"type": "text", "text": "Fixed it."}]),
    ]
    path = transcript(hook, *asked)
    hook.capture(transcript_path=str(path), hook_event_name="PreCompact")
    transcript(hook, *asked, ("user", "Also add a test."), ("assistant", [{"type": "text", "text": "Added a test."}]))
    hook.capture(transcript_path=str(path), hook_event_name="SessionEnd")
    with MemoryStore(hook.home) as store:
        (note,) = store.list(project="work", type="episodic")
    assert note.title == "Why does the login fail?"
    assert "Added a test." in note.body
    assert "Also add a test." in note.body
    assert note.tags == ["session", "session-end"]
    assert note.prov_session == "s1"
    assert "Why does the login fail?" in hook("inject", hook.event(session_id="s2", source="startup"))


def test_a_trivial_session_leaves_nothing(hook: Hook) -> None:
    path = transcript(hook, ("user", "<command-name>/model</command-name>\n<command-args>x</command-args>"))
    hook.capture(transcript_path=str(path))
    hook.capture(transcript_path=str(hook.cwd / "missing.jsonl"))
    hook.capture()
    with MemoryStore(hook.home) as store:
        assert store.count(type="episodic") == 0


def test_a_session_that_is_resumed_at_once_is_captured_again(hook: Hook) -> None:
    """As by a script, within the seconds in which the same event counts as one."""
    ended = {"hook_event_name": "SessionEnd"}
    path = transcript(hook, ("user", "Add a retry to the uploader."), ("assistant", "The uploader retries thrice."))
    hook.capture(transcript_path=str(path), **ended)
    transcript(hook, ("user", "And a backoff."), ("assistant", "It waits twice as long each time."))
    hook.capture(transcript_path=str(path), **ended)
    with MemoryStore(hook.home) as store:
        (found,) = store.list(type="episodic")
    assert "backoff" in found.body


def captured(hook: Hook, *messages: tuple[str, object]) -> str:
    """The body of the note of a session."""
    hook.capture(transcript_path=str(transcript(hook, *messages)))
    with MemoryStore(hook.home) as store:
        (note,) = store.list(project="work", type="episodic")
    return note.body


def said(text: str) -> tuple[str, object]:
    return ("assistant", [{"type": "text", "text": text}])


def test_a_captured_note_has_the_stated_facts(hook: Hook) -> None:
    body = captured(
        hook,
        ("user", "Why does the login fail? Always run the browser tests."),
        said("I'll look."),
        said("Root cause: the cookie has no Secure flag."),
        ("user", "we decided to keep the cookie"),
        said("Kept it. All tests pass."),
    )
    assert "**Causes and fixes:**\n- Root cause: the cookie has no Secure flag.\n" in body
    assert "**Decisions:**\n- we decided to keep the cookie (user)\n" in body
    assert "**Rules and caveats:**\n- Always run the browser tests. (user)\n" in body


def test_statements_of_injected_notes_are_not_captured_again(hook: Hook) -> None:
    with MemoryStore(hook.home) as store:
        store.write(type="procedural", title="Tools", body="Always use uv here.", project="work")
    assert "Always use uv here." in hook("inject", hook.event(source="startup"))
    messages = [("user", "which tools?"), said("Always use uv here. Never use pip here."), ("user", "ok, go on then")]
    body = captured(hook, *messages)
    assert "- Never use pip here." in body
    assert "- Always use uv here." not in body
    # The session is resumed: its own note was injected, which is no reason to remove what that says.
    assert "Never use pip here." in hook("inject", hook.event(source="resume"))
    assert "- Never use pip here." in captured(hook, *messages)


def test_a_note_that_a_session_received_and_quoted_was_cited(hook: Hook) -> None:
    with MemoryStore(hook.home) as store:
        tools = store.write(type="procedural", title="Tools", body="Always use uv here.", project="work")
        ports = store.write(
            type="procedural",
            title="Port of the staging database",
            body="It listens on 5433, because a tunnel of the build machine occupies the usual one.",
            project="work",
        )
        style = store.write(type="procedural", title="House style", body="Four blanks, no tabs.", project="work")
    hook("inject", hook.event(source="startup"))
    captured(
        hook,
        ("user", "why does the test not connect to the database?"),
        said(f"As {tools.id} says. It listens on 5433 because a tunnel of the build machine occupies it."),
        ("user", "thanks, please fix that then"),
    )
    with MemoryStore(hook.home) as store:
        store.usage.take_in()
        counts = {id: totals.counts for id, totals in store.usage.every().items()}
    assert counts[tools.id] == {"injected": 1, "cited": 1}
    assert counts[ports.id] == {"injected": 1, "cited": 1}
    assert counts[style.id] == {"injected": 1}


def synced(hook: Hook, times: int) -> list[dict[str, Any]]:
    """The log's entries about syncs, as soon as there are this many."""

    def found() -> list[dict[str, Any]]:
        return [entry for entry in hook.log() if entry["event"] == "sync"]

    wait_until(lambda: len(found()) >= times)
    return found()


def test_a_captured_session_is_on_the_remote_although_the_agent_did_not_wait(hook: Hook) -> None:
    remote = hook.cwd / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", remote], check=True)
    path = transcript(hook, ("user", "Why does the login fail?"), ("assistant", EDIT))
    hook("capture", hook.event(transcript_path=str(path)), ANAMNESIS_GIT_REMOTE=str(remote))
    (entry,) = synced(hook, 1)
    assert (entry["pushed"], entry["detail"]) == (True, "synced")
    sent = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "main"], cwd=remote, capture_output=True, check=True, text=True
    )
    with MemoryStore(hook.home) as store:
        (note,) = store.list(type="episodic")
    assert f"episodic/{note.id}.md" in sent.stdout.split()


def test_sessions_that_end_together_sync_one_after_the_other(hook: Hook) -> None:
    for number in range(3):
        path = transcript(hook, ("user", f"Question {number}?"), ("assistant", EDIT), session=f"s{number}")
        hook("capture", hook.event(transcript_path=str(path), session_id=f"s{number}"))
    assert {entry["detail"] for entry in synced(hook, 3)} <= {
        "committed locally; no remote configured",
        "nothing to commit; no remote configured",
    }
    state = subprocess.run(
        ["git", "status", "--porcelain"], cwd=hook.home / "memory", capture_output=True, check=True, text=True
    )
    assert state.stdout == ""


@pytest.mark.parametrize("name", ["inject", "recall", "capture"])
def test_a_home_that_a_hook_makes_first_is_open_to_its_user_only(tmp_path: Path, name: str) -> None:
    hook = Hook(tmp_path)
    hook(name, hook.event(hook_event_name="SessionStart", prompt="anything"))
    folders = [hook.home, *(path for path in hook.home.rglob("*") if path.is_dir())]
    assert {oct(folder.stat().st_mode & 0o777) for folder in folders} == {"0o700"}


@pytest.mark.parametrize("words", [["-p", "work"], ["-pwork"], ["-p=work"], ["--project", "work"], ["--project=work"]])
def test_the_project_may_be_given_by_its_short_option(hook: Hook, tmp_path: Path, words: list[str]) -> None:
    elsewhere = hook.event(cwd=str(tmp_path), source="startup")
    assert "Zebra crossing" not in hook("inject", elsewhere)
    assert "Zebra crossing" in hook("inject", elsewhere, *words)


def test_a_setting_that_cannot_be_used_is_logged_once_and_stops_no_hook(hook: Hook) -> None:
    for session in ("s1", "s2"):
        assert "Zebra crossing" in hook(
            "inject", hook.event(session_id=session, source="startup"), ANAMNESIS_REFLECTION_PROVIDER="opnai"
        )
    (said,) = [line["reason"] for line in hook.log() if line["event"] == "setting refused"]
    assert said == (
        "reflection_provider 'opnai' is not one of heuristic, openai, so 'heuristic' is used."
        " Change ANAMNESIS_REFLECTION_PROVIDER."
    )
