"""Without the remote nothing is lost and nothing hangs: there is a sentence, and the next sync catches up."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sync.machine import Machine, assert_same, git, is_running, settle
from tests.waiting import wait_until

Make = Callable[..., Machine]


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets a script stand for ssh; as git calls it: `ssh host "git-upload-pack '/path'"`."""

    def be(script: str) -> None:
        path = tmp_path / "ssh"
        path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        path.chmod(0o755)
        monkeypatch.setenv("GIT_SSH_COMMAND", str(path))
        monkeypatch.setenv("GIT_SSH_VARIANT", "simple")

    return be


WORKS = 'shift; exec sh -c "$1"'


def test_notes_travel_by_ssh(make: Make, remote: Path, ssh: Callable[[str], None]) -> None:
    ssh(WORKS)
    a, b = (make(name, f"ssh://box{remote}") for name in "ab")
    a.note("one")
    settle(a, b)
    assert b.bodies() == {"one"}
    assert_same(a, b)


def test_without_a_network_there_is_a_sentence_and_the_next_sync_catches_up(
    make: Make, remote: Path, ssh: Callable[[str], None]
) -> None:
    ssh("echo 'ssh: Could not resolve hostname box: Name or service not known' >&2; exit 255")
    a, b = (make(name, f"ssh://box{remote}") for name in "ab")
    a.note("one")
    result = a.sync()
    assert (result.pushed, result.pulled, result.conflicted, result.reached) == (False, 0, False, False)
    assert result.detail == (
        "committed locally; the remote cannot be used now: "
        "git fetch: ssh: Could not resolve hostname box: Name or service not known"
        f" (setting `remote`: ssh://box{remote})"
    )
    assert result.head == a.git("rev-parse", "--short=7", "HEAD")
    a.note("two")
    assert not a.sync().reached
    assert a.sync().detail.startswith("the remote cannot be used now: ")
    assert a.is_clean()
    ssh(WORKS)
    assert a.sync().pushed
    b.sync()
    assert b.bodies() == {"one", "two"}
    assert_same(a, b)


def test_a_remote_that_is_not_there_is_a_sentence(make: Make, tmp_path: Path) -> None:
    a = make("a", tmp_path / "nowhere.git")
    a.note("one")
    result = a.sync()
    assert (result.reached, result.pushed) == (False, False)
    assert f"'{tmp_path}/nowhere.git' does not appear to be a git repository" in result.detail
    assert a.is_clean()


def test_a_disk_that_is_not_mounted_now_is_caught_up_with_later(a: Machine, b: Machine, remote: Path) -> None:
    a.note("one")
    settle(a, b)
    remote.rename(remote.with_name("unmounted"))
    a.note("two")
    b.note("three")
    assert not a.sync().reached
    assert not b.sync().reached
    remote.with_name("unmounted").rename(remote)
    settle(a, b)
    assert a.bodies() == {"one", "two", "three"}
    assert_same(a, b)


def test_a_connection_lost_between_fetch_and_push_loses_nothing(
    make: Make, remote: Path, ssh: Callable[[str], None]
) -> None:
    ssh(WORKS)
    a, b = (make(name, f"ssh://box{remote}") for name in "ab")
    a.note("one")
    settle(a, b)
    b.note("two")
    b.sync()
    ssh(f'case "$2" in *receive-pack*) exit 255;; esac\n{WORKS}')
    a.note("three")
    result = a.sync()
    assert (result.pulled, result.pushed, result.reached) == (1, False, False)
    assert a.bodies() == {"one", "two", "three"}
    ssh(WORKS)
    settle(a, b)
    assert b.bodies() == {"one", "two", "three"}
    assert_same(a, b)


def test_a_push_that_arrived_though_its_answer_was_lost_is_found_out(
    make: Make, remote: Path, ssh: Callable[[str], None]
) -> None:
    ssh(WORKS)
    hook = remote / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nkill -9 $PPID\n", "utf-8")
    hook.chmod(0o755)
    git(remote, "config", "core.hooksPath", str(hook.parent))
    a = make("a", f"ssh://box{remote}")
    a.note("one")
    assert not a.sync().reached
    assert git(remote, "rev-parse", "main") == a.git("rev-parse", "HEAD")
    result = a.sync()
    assert (result.pushed, result.reached, result.pulled) == (False, True, 0)
    assert a.is_clean()


def test_a_remote_that_hangs_is_given_up_with_all_that_was_started(
    make: Make, remote: Path, tmp_path: Path, ssh: Callable[[str], None]
) -> None:
    started = tmp_path / "started"
    ssh(f"echo $$ >> {started}\nsleep 300")
    timeout = 0.25
    while not started.exists():
        timeout *= 2
        a = make("a", f"ssh://box{remote}", timeout=timeout)
        a.note("one")
        result = a.sync()
        assert (result.pushed, result.reached) == (False, False)
        assert result.detail.endswith(
            f"the remote cannot be used now: box did not answer within {timeout:g} s (setting `remote`: ssh://box{remote})"
        )
    wait_until(lambda: not any(is_running(int(line)) for line in started.read_text().split()))
    ssh(WORKS)
    assert make("a", f"ssh://box{remote}").sync().pushed


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("git://127.0.0.1:{}/notes.git", "127.0.0.1"),
        ("http://me:secret@localhost:{}/notes.git", "localhost"),
        ("https://127.0.0.1:{}/notes.git", "127.0.0.1"),
    ],
)
def test_a_remote_that_accepts_a_connection_and_says_nothing_is_given_up(make: Make, address: str, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        a = make("a", address.format(listening.getsockname()[1]), connect_timeout=1)
        a.note("one")
        result = a.sync()
    assert not result.reached
    assert f"the remote cannot be used now: {host} did not answer within 1 s (setting `remote`: " in result.detail
    assert "secret" not in result.detail
    assert a.is_clean()


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("me@box:notes.git", "box"),
        ("box:a/b@c:d.git", "box"),
        ("ssh://me:pass@word@box/notes.git", "box"),
    ],
)
def test_a_host_is_named_whatever_form_its_address_has(
    make: Make, ssh: Callable[[str], None], address: str, host: str
) -> None:
    ssh("sleep 300")
    detail = make("a", address, connect_timeout=0.1).sync().detail
    assert detail.startswith(f"the remote cannot be used now: {host} did not answer within 0.1 s")


def test_a_remote_that_has_answered_may_be_slow(make: Make, remote: Path, ssh: Callable[[str], None]) -> None:
    make("b", remote).note("one")
    make("b", remote).sync()
    seconds, reached = 0.25, False
    while not reached and seconds < 60:  # where even the first byte takes longer than that, twice as long is tried
        seconds *= 2
        ssh(f'shift; {{ sleep {2 * seconds}; cat; }} | sh -c "$1"')
        a = make("a", f"ssh://box{remote}", connect_timeout=seconds)
        reached = a.sync().reached
    assert reached
    assert a.bodies() == {"one"}


def test_nobody_is_asked_for_a_password(make: Make, tmp_path: Path) -> None:
    """A sync in the background has nobody to ask: git fails at once instead of waiting at the terminal."""
    server = """
import http.server, threading
class Locked(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Basic realm=x")
        self.end_headers()
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Locked)
print(server.server_port, flush=True)
server.serve_forever()
"""
    with subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = process.stdout.readline().strip()
        a = make("a", f"http://127.0.0.1:{port}/notes.git")
        a.note("one")
        result = a.sync()
        process.kill()
    assert (result.pushed, result.reached) == (False, False)
    assert "terminal prompts disabled" in result.detail
