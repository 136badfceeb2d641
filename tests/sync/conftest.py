"""Every test here runs under a user whose settings of git would break a naive sync."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sync.machine import Machine, bare, machine

SETTINGS = """
[user]
    useConfigOnly = true
[commit]
    gpgSign = true
[tag]
    gpgSign = true
[push]
    gpgSign = if-asked
    default = nothing
    followTags = true
[gpg]
    program = {fails}
[core]
    hooksPath = {home}/hooks
    autocrlf = true
    safecrlf = true
    excludesFile = {home}/ignored
    attributesFile = {home}/attributes
    fsmonitor = {fails}
    pager = {fails}
    editor = {fails}
    symlinks = true
[init]
    templateDir = {home}/template
    defaultBranch = trunk
[filter "fails"]
    clean = {fails}
    smudge = {fails}
    required = true
[pull]
    rebase = true
    ff = only
[merge]
    ff = only
[fetch]
    recurseSubmodules = true
[status]
    showUntrackedFiles = no
    short = true
    branch = true
[diff]
    external = {fails}
    noprefix = true
[color]
    ui = always
[url "{home}/nowhere/"]
    insteadOf = elsewhere:
"""


@pytest.fixture(autouse=True)
def hostile(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home whose settings sign, run hooks that fail, ignore notes, convert line ends and more; the file that is
    there once any of its programs has run."""
    home = tmp_path_factory.mktemp("home")
    ran = home / "ran"
    fails = home / "fails"
    fails.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{ran}'\nexit 1\n", "utf-8")
    fails.chmod(0o755)
    for folder in ("hooks", "template/hooks"):
        (home / folder).mkdir(parents=True)
        # None that a remote runs: one on the same disk is a repository of the user's, with the user's settings.
        for name in ("pre-commit", "commit-msg", "post-commit", "post-checkout", "pre-push", "post-merge"):
            shutil.copy(fails, home / folder / name)
    (home / "ignored").write_text("*.md\nsemantic/\n", "utf-8")
    (home / "attributes").write_text("* filter=fails text eol=crlf\n", "utf-8")
    (home / ".gitconfig").write_text(SETTINGS.format(home=home, fails=fails), "utf-8")
    for name in [name for name in os.environ if name.startswith(("GIT_", "ANAMNESIS_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    yield ran
    assert not ran.exists(), ran.read_text("utf-8")


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return bare(tmp_path / "remote.git")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    """Makes machines, which are closed at the end."""
    made: list[Machine] = []

    def make(name: str, remote: Path | str | None, **how: Any) -> Machine:
        made.append(machine(tmp_path, name, remote, **how))
        return made[-1]

    yield make
    for each in made:
        each.store.close()


@pytest.fixture
def a(make: Callable[..., Machine], remote: Path) -> Machine:
    return make("a", remote)


@pytest.fixture
def b(make: Callable[..., Machine], remote: Path) -> Machine:
    return make("b", remote)
