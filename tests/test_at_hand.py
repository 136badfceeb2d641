"""The current work in a folder, as words for a search."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from anamnesis.at_hand import at_hand, open_ends


def git(folder: Path, *arguments: str) -> None:
    identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env={**os.environ, **identity})


def commit(folder: Path, *files: str) -> None:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("text\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "change")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, "README.md", "src/db/pool.py", "src/mail/sendQueue.ts")
    for number in range(3):
        git(folder, "commit", "--quiet", "--allow-empty", "--message", f"empty {number}")
    return folder


def test_the_branch_and_the_changed_files_are_at_hand(repository: Path) -> None:
    assert at_hand(repository) == []
    git(repository, "checkout", "--quiet", "-b", "fix/sqlite-busy-timeout")
    (repository / "src/db/pool.py").write_text("changed\n")
    assert at_hand(repository) == ["sqlite busy timeout", "db pool"]
    git(repository, "add", "--all")
    (repository / "src/mail/sendQueue.ts").write_text("changed\n")
    assert at_hand(repository / "src") == ["sqlite busy timeout", "db pool", "mail queue"]


def test_files_of_the_last_commits_are_at_hand(repository: Path) -> None:
    commit(repository, "src/auth/token.py")
    git(repository, "checkout", "--quiet", "--detach")
    assert at_hand(repository) == ["auth token"]


def test_without_a_repository_or_a_commit_nothing_is_at_hand(tmp_path: Path) -> None:
    assert at_hand(tmp_path) == []
    git(tmp_path, "init", "--quiet", "--initial-branch=fix/sqlite")
    assert at_hand(tmp_path) == []
    assert at_hand(tmp_path / "missing") == []


def test_names_are_data(repository: Path) -> None:
    """Whatever they look like: options, lines, other encodings, a megabyte of them."""
    names = ["--output=owned", "a\nb c", "'; touch owned #", "\x01HEAD -> refs", "x" * 250, "deep/" * 200 + "end"]
    commit(repository, *names)
    (repository / os.fsdecode(b"caf\xe9\xff")).write_text("text\n")
    commit(repository, *(f"many/{'n' * 100}{number}" for number in range(5_000)))
    found = at_hand(repository)
    assert 0 < len(found) <= 13
    assert all(len(each) <= 200 and each.isprintable() for each in found)
    assert not (repository / "owned").exists()


def test_neither_signatures_nor_diffs_nor_filters_of_the_user_run_a_program(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone names its filters in .gitattributes, and the user's configuration defines some of them."""
    git(repository, "checkout", "--quiet", "-b", "sqlite")
    (repository / ".gitattributes").write_text("* diff=evil filter=evil\n")
    commit(repository, "some.py")
    script = repository.parent / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {repository}/owned\n")
    script.chmod(0o755)
    for name in ("gpg.program", "core.fsmonitor", "core.sshCommand", "core.pager", "diff.external"):
        git(repository, "config", name, str(script))
    git(repository, "config", "log.showSignature", "true")
    (repository.parent / ".gitconfig").write_text(f'[filter "evil"]\n\tclean = {script}\n\tprocess = {script}\n')
    monkeypatch.setenv("HOME", str(repository.parent))
    (repository / "src/db/pool.py").write_text("changed\n")
    assert at_hand(repository)[:2] == ["sqlite", "db pool"]
    assert not (repository / "owned").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Ask:** upload\n**Next steps:** Retry the upload\n\n**Outcome:** fine", ["retry upload"]),
        ("## Next Steps\n- tune the WAL\n- [ ] rotate tokens\n## Files\n- src/a.py", ["tune wal", "rotate tokens"]),
        ("### Open questions\nDoes the cache expire?", ["cache expire"]),
        ("TODO: migrate sqlite", ["migrate sqlite"]),
        ("Next I ran the migration. The remaining work was easy.", []),
        ("**Outcome:** done", []),
        ("", []),
    ],
)
def test_what_a_session_left_open(text: str, expected: list[str]) -> None:
    assert open_ends(text) == expected
