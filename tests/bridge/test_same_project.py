"""A memory that Engram's side saved in a folder is found as one of the folder's project, under any spelling."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import forking
from tests.engram_cli.program import Program

from anamnesis.engram.projects import normalise
from anamnesis.exchange.state import Space
from anamnesis.notes import Memory
from anamnesis.notes.foreign import origin_by
from anamnesis.notes.project_names import comparable, is_among
from anamnesis.store import MemoryStore
from anamnesis.store.facets import facets
from anamnesis.store.queries import Filter

ANAMNESIS = str(Path(sys.executable).with_name("anamnesis"))
TEAM = {
    "~": Space("~", "1", "owner", True, 0),
    "team": Space("team", "2", "writer", False, 0, ("github.com/Acme/My__Tool",)),
}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def anamnesis(program: Program, *arguments: str, stdin: str = "") -> str:
    command = (ANAMNESIS, *arguments)
    code, out, err = forking.run(command, stdin.encode(), program.folder, program.environment({}))
    assert (code, err) == (0, b""), err
    return out.decode()


def titles(program: Program, *arguments: str) -> set[str]:
    found: list[dict[str, Any]] = json.loads(anamnesis(program, *arguments, "--json"))
    return {each["title"] for each in found}


def test_a_folder_finds_what_was_saved_under_engrams_name_of_it(program: Program) -> None:
    program.folder = program.home / "work" / "My__Tool"
    program.folder.mkdir()
    save = ("save", "Lemurs", "The lemur pool is drained before a restart.", "--project", "My__Tool")
    program(*save, ANAMNESIS_ENGRAM_STRICT="1")  # without the folder, as Engram
    with program.mcp() as tools:
        tools.text("mem_save", title="Falcons", content="The falcon cache needs a warm start.")
    anamnesis(program, "write", "Herons", "Herons are written with the folder's own key.", "-p", ".")
    assert titles(program, "list", "-p", ".") == {"Lemurs", "Falcons", "Herons"}
    assert titles(program, "search", "-p", ".", "lemur pool", "--words") == {"Lemurs"}
    assert "falcon cache" in anamnesis(program, "inject", stdin=json.dumps({"cwd": str(program.folder)}))
    assert list(json.loads(anamnesis(program, "status", "--json"))["by_project"].values()) == [3]
    assert "3 obs" in program("projects", "list").out
    with MemoryStore(program.home / "anamnesis") as store:
        assert {note.project for note in store.list()} == {"my__tool", "my_tool"}  # as they were written
        found = facets(store, "", Filter("MY_TOOL"))
        assert (found.total, found.values["project"], found.chosen) == (3, [("my__tool", 3)], ("my__tool",))


def test_each_of_two_repositories_of_one_name_has_its_own_memories(program: Program) -> None:
    folders = [program.home / owner / "tool" for owner in ("ann", "bob")]
    for folder in folders:
        folder.mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        origin = f"https://example.org/{folder.parent.name}/tool.git"
        subprocess.run(["git", "remote", "add", "origin", origin], cwd=folder, check=True)
    for number in (1, 2):
        for program.folder in folders:
            with program.mcp() as tools:
                tools.text("mem_save", title=f"{program.folder.parent.name} {number}", content=f"{program.folder}")
    program("save", "bob 3", "by the command line", "--project", "tool")
    expected = {"ann": {"ann 1", "ann 2"}, "bob": {"bob 1", "bob 2", "bob 3"}}
    for program.folder in folders:
        assert titles(program, "list", "-p", ".") == expected[program.folder.parent.name]
    program("save", "elsewhere", "of another project than the folder's", "--project", "other")
    assert titles(program, "list", "-p", "other") == {"elsewhere"}
    with program.mcp(ANAMNESIS_ENGRAM_STRICT="1") as tools:
        assert "Session: manual-save-tool\n" in tools.text("mem_get_observation", id=1)


names = st.text("aBΣİ-_/ ", max_size=8) | st.sampled_from(["global", "Global", "github.com/Acme/My__Tool"])


@given(names)
def test_engrams_name_of_a_project_is_the_same_project(name: str) -> None:
    if "global" not in (name, normalise(name)):
        assert comparable(normalise(name)) == comparable(name)


@given(names, names)
def test_global_is_the_same_as_no_other_spelling(one: str, other: str) -> None:
    if is_among(one, [other]):
        assert (one == "global") == (other == "global")


def test_a_space_has_a_project_under_any_spelling_but_not_under_its_short_name() -> None:
    def note(project: str) -> Memory:
        return Memory("n1", "semantic", "title", "body", project)

    held = {
        project: (origin := origin_by(note(project), "bob", "team", TEAM["team"].projects)) and origin.is_held
        for project in ("github.com/ACME/my_tool", "my_tool", "global")
    }
    assert held == {"github.com/ACME/my_tool": False, "my_tool": True, "global": True}
