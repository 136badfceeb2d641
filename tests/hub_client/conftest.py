"""A hub on PostgreSQL and machines that use it, each with its own home."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.hub.conftest import hub_url, postgres, running
from tests.hub.running import RunningHub

__all__ = ["hub_url", "postgres", "running"]


class Person(Command):
    """The command line on one machine of a user."""

    def login(self, hub: RunningHub, token: str) -> None:
        done = self("login", hub.url, "--token-stdin", stdin=f"{token}\n")
        assert done.code == 0, done.err

    def write(self, *arguments: str) -> str:
        done = self("write", *arguments)
        assert done.code == 0, done.err
        return done.out.strip()

    def titles(self) -> list[str]:
        return sorted(each["title"] for each in self("list", "--json").json)


People = Callable[[str], Person]


@pytest.fixture
def person(tmp_path: Path) -> People:
    def make(name: str) -> Person:
        folder = tmp_path / name
        folder.mkdir()
        made = Person(folder)
        made.variables["ANAMNESIS_MACHINE_ID"] = name
        return made

    return make
