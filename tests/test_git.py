"""git runs isolated: no foreign repository, hook, lock or helper affects it, and no process outlives it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sync.machine import LONG_AGO, is_running
from tests.waiting import wait_until

from anamnesis.git import GitFailed, git

IDENTITY = {f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "note.md").write_text("text\n", "utf-8")
    return folder


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is first on the PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def program(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


def left_behind(lock: Path) -> Path:
    """An old lock file of a killed git."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    os.utime(lock, (LONG_AGO, LONG_AGO))
    return lock


class TestSurroundings:
    @pytest.fixture
    def seen(self, programs: Path) -> None:
        """A stand-in for git that prints its arguments and environment."""
        shown = "json.dumps([sys.argv[1:], dict(os.environ)])"
        program(programs / "git", f"#!{sys.executable}\nimport json, os, sys\nprint({shown})\n")

    def test_no_git_variable_of_a_hook_or_caller_is_passed_on(
        self, seen: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = ["DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "CONFIG", "CONFIG_COUNT", "CONFIG_PARAMETERS"]
        names += ["TRACE", "NAMESPACE", "TEMPLATE_DIR", "AUTHOR_DATE", "EDITOR", "SSH_COMMAND", "EXTERNAL_DIFF"]
        for name in names:
            monkeypatch.setenv(f"GIT_{name}", "/theirs")
        monkeypatch.setenv("LANGUAGE", "de")
        _, environment = json.loads(git(tmp_path, "status"))
        assert {name: value for name, value in environment.items() if name.startswith(("GIT_", "LC_"))} == {
            "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }

    def test_network_commands_get_the_users_settings_but_not_the_callers_repository(
        self, seen: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("SSH_COMMAND", "ASKPASS", "SSL_CAINFO", "CONFIG_GLOBAL", "HTTP_USER_AGENT", "PROXY_COMMAND"):
            monkeypatch.setenv(f"GIT_{name}", "theirs")
        for name in ("DIR", "WORK_TREE", "INDEX_FILE", "CONFIG_PARAMETERS", "CONFIG_COUNT", "ALLOW_PROTOCOL"):
            monkeypatch.setenv(f"GIT_{name}", "/nowhere")
        _, environment = json.loads(git(tmp_path, "fetch", as_user=True))
        assert {name: value for name, value in environment.items() if name.startswith("GIT_")} == {
            "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
            "GIT_ASKPASS": "theirs",
            "GIT_CONFIG_GLOBAL": "theirs",
            "GIT_HTTP_USER_AGENT": "theirs",
            "GIT_PROXY_COMMAND": "theirs",
            "GIT_SSH_COMMAND": "theirs",
            "GIT_SSL_CAINFO": "theirs",
            "GIT_TERMINAL_PROMPT": "0",
        }

    def test_settings_precede_the_command_and_arguments_are_unchanged(self, seen: None, tmp_path: Path) -> None:
        arguments, _ = json.loads(git(tmp_path, "log", "--", "a b", "-x", options=("--literal-pathspecs",)))
        assert arguments[-5:] == ["--literal-pathspecs", "log", "--", "a b", "-x"]
        assert "core.hooksPath=/dev/null" in arguments[: arguments.index("log")]

    def test_an_inherited_repository_is_not_written_to(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        theirs = repository.parent / "theirs"
        theirs.mkdir()
        git(theirs, "init", "--quiet")
        monkeypatch.setenv("GIT_DIR", str(theirs / ".git"))
        monkeypatch.setenv("GIT_WORK_TREE", str(theirs))
        monkeypatch.setenv("GIT_INDEX_FILE", str(theirs / ".git" / "index"))
        git(repository, "add", ".")
        assert git(repository, "ls-files") == b"note.md\n"
        assert not (theirs / ".git" / "index").exists()

    def test_hooks_signing_and_filters_of_the_user_do_not_run(
        self, repository: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fails = program(programs / "fails", f"#!/bin/sh\ntouch {programs}/ran\nexit 1\n")
        hooks = programs / "hooks"
        hooks.mkdir()
        for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
            shutil.copy(fails, hooks / name)
            shutil.copy(fails, repository / ".git" / "hooks" / name)
        settings = f"[core]\nhooksPath={hooks}\n[commit]\ngpgSign=true\n[gpg]\nprogram={fails}\n"
        (programs / "config").write_text(f"{settings}[filter 'x']\nclean={fails}\nrequired=true\n", "utf-8")
        (programs / "attributes").write_text("* filter=x\n", "utf-8")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(programs / "config"))
        git(repository, "add", ".")
        git(repository, "commit", "--quiet", "-m", "first", variables=IDENTITY)
        assert git(repository, "log", "--format=%s") == b"first\n"
        assert not (programs / "ran").exists()


class TestRunning:
    def test_the_output_of_git_is_returned_unchanged(self, repository: Path) -> None:
        data = b"\0\xff\r\n" * 100_000
        blob = git(repository, "hash-object", "-w", "--stdin", input=data).decode().strip()
        assert git(repository, "cat-file", "blob", blob) == data

    def test_a_missing_git_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(GitFailed) as failed:
            git(tmp_path, "status")
        assert str(failed.value) == "git is not installed. Install it: it identifies projects and syncs notes."

    def test_a_git_that_is_not_executable_is_reported_with_the_reason(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "git").write_text("#!/bin/sh\n", "utf-8")
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(GitFailed, match=f"git cannot be run in {tmp_path}: Permission denied"):
            git(tmp_path, "status")

    @pytest.mark.parametrize("kind", ["missing", "file"])
    def test_a_missing_folder_is_not_reported_as_a_missing_git(self, tmp_path: Path, kind: str) -> None:
        folder = tmp_path / "folder"
        if kind == "file":
            folder.touch()
        with pytest.raises(GitFailed, match=f"git cannot be run in {folder}: "):
            git(folder, "status")

    def test_an_error_is_one_line_with_the_cause(self, repository: Path) -> None:
        with pytest.raises(GitFailed) as failed:
            git(repository, "fetch", str(repository / "nowhere"))
        assert failed.value.message == f"git fetch: '{repository}/nowhere' does not appear to be a git repository"

    def test_for_an_unreachable_host_the_reason_is_reported(
        self, repository: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ssh = program(programs / "offline", "#!/bin/sh\necho 'ssh: Could not resolve hostname box' >&2\nexit 255\n")
        monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
        with pytest.raises(GitFailed) as failed:
            git(repository, "fetch", "ssh://box/notes.git", as_user=True)
        assert failed.value.message == "git fetch: ssh: Could not resolve hostname box"

    @pytest.mark.parametrize("address", ["ext::touch ran", "fd::17", "ssh://-oProxyCommand=touch%20ran/x"])
    def test_no_address_is_run_as_a_command(self, repository: Path, address: str) -> None:
        with pytest.raises(GitFailed):
            git(repository, "fetch", address, as_user=True)
        assert not (repository / "ran").exists()

    def test_a_configuration_cannot_rewrite_an_address_to_a_command(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        config = repository / "config"
        config.write_text('[url "ext::touch ran "]\ninsteadOf=https://\n[protocol "ext"]\nallow=always\n', "utf-8")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
        with pytest.raises(GitFailed, match="transport 'ext' not allowed"):
            git(repository, "fetch", "https://host/x", as_user=True)
        assert not (repository / "ran").exists()


class TestLocks:
    @pytest.mark.parametrize(
        ("lock", "arguments"),
        [
            ("index.lock", ["add", "."]),
            ("config.lock", ["config", "a.b", "c"]),
            ("HEAD.lock", ["symbolic-ref", "HEAD", "refs/heads/other"]),
            ("refs/heads/new.lock", ["update-ref", "refs/heads/new", "COMMIT"]),
            ("packed-refs.lock", ["pack-refs", "--all"]),
        ],
    )
    def test_a_lock_left_by_a_killed_git_is_removed_at_once(
        self, repository: Path, lock: str, arguments: list[str]
    ) -> None:
        tree = git(repository, "write-tree").decode().strip()
        commit = git(repository, "commit-tree", tree, "-m", "x", variables=IDENTITY).decode().strip()
        left = left_behind(repository / ".git" / lock)
        git(repository, *(commit if word == "COMMIT" else word for word in arguments))
        assert not left.exists()

    def test_many_locks_are_removed_one_after_the_other(self, repository: Path) -> None:
        git(repository, "add", ".")
        for name in ("index.lock", "HEAD.lock", "refs/heads/master.lock", "refs/heads/main.lock"):
            left_behind(repository / ".git" / name)
        git(repository, "commit", "--quiet", "-m", "first", variables=IDENTITY)
        assert git(repository, "log", "--format=%s") == b"first\n"

    def test_a_lock_outside_the_folder_is_never_removed(self, repository: Path) -> None:
        elsewhere = repository.parent / "elsewhere"
        elsewhere.mkdir()
        lock = left_behind(repository / ".git" / "index.lock")
        with pytest.raises(GitFailed, match="File exists"):
            git(elsewhere, "add", ".", options=(f"--git-dir={repository}/.git", f"--work-tree={repository}"))
        assert lock.exists()

    def test_a_lock_behind_a_link_out_of_the_folder_is_never_removed(self, repository: Path) -> None:
        elsewhere = repository.parent / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / ".git").symlink_to(repository / ".git")
        lock = left_behind(repository / ".git" / "index.lock")
        with pytest.raises(GitFailed, match="File exists"):
            git(elsewhere, "add", ".")
        assert lock.exists()

    def test_a_lock_that_another_git_releases_is_waited_for(self, repository: Path, programs: Path) -> None:
        lock = repository / ".git" / "index.lock"
        lock.touch()
        program(programs / "git", f'#!/bin/sh\n{shutil.which("git")} "$@"\ncode=$?\nrm -f {lock}\nexit $code\n')
        git(repository, "add", ".")
        assert git(repository, "ls-files") == b"note.md\n"

    def test_a_lock_that_another_git_holds_is_respected(self, repository: Path) -> None:
        lock = repository / ".git" / "index.lock"
        timeout, said = 0.15, "git did not end in time."
        while said == "git did not end in time.":
            timeout *= 2
            lock.touch()
            with pytest.raises(GitFailed) as failed:
                git(repository, "add", ".", timeout=timeout)
            said = failed.value.message
            assert lock.exists()
        assert "File exists" in said


class TestTimeout:
    @pytest.fixture
    def started(self, repository: Path) -> Iterator[Path]:
        """A file for the id of a process, which is killed after the test."""
        path = repository.parent / "started"
        yield path
        if path.exists() and is_running(int(path.read_text())):
            os.kill(int(path.read_text()), signal.SIGKILL)

    def test_processes_that_git_started_end_with_it(
        self, repository: Path, programs: Path, started: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ssh = program(
            programs / "hangs", f"#!/bin/sh\necho $$ > {started}.new\nmv {started}.new {started}\nsleep 300\n"
        )
        monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
        timeout = 0.25
        while not started.exists():
            timeout *= 2
            with pytest.raises(GitFailed, match=r"^git did not end in time\.$"):
                git(repository, "fetch", "ssh://box/notes.git", as_user=True, timeout=timeout)
        wait_until(lambda: not is_running(int(started.read_text())))

    def test_a_connection_that_ssh_keeps_open_for_later_is_not_waited_for(
        self, repository: Path, programs: Path, started: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As with `ControlPersist`: the remaining process keeps inherited descriptors open."""
        ssh = program(
            programs / "persists",
            f"#!{sys.executable}\nimport pathlib, subprocess\n"
            "stays = subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL, start_new_session=True)\n"
            f"pathlib.Path('{started}').write_text(str(stays.pid))\n"
            "raise SystemExit(1)\n",
        )
        monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
        with pytest.raises(GitFailed):
            git(repository, "fetch", "ssh://box/notes.git", as_user=True, timeout=120)
        assert is_running(int(started.read_text()))


@pytest.mark.skipif(os.name != "posix", reason="other systems have no modes")
def test_what_git_writes_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Whatever the caller's umask: the objects hold the texts of notes."""
    before = os.umask(0)
    try:
        folder = tmp_path / "private"
        folder.mkdir(mode=0o700)
        git(folder, "init", "--quiet")
        (folder / "note.md").write_text("text\n", "utf-8")
        git(folder, "add", "note.md", variables=IDENTITY)
        git(folder, "commit", "--quiet", "--message", "first", variables=IDENTITY)
    finally:
        os.umask(before)
    modes = {path: path.stat().st_mode & 0o077 for path in (folder / ".git").rglob("*")}
    assert modes and not any(modes.values()), {path: oct(mode) for path, mode in modes.items() if mode}
