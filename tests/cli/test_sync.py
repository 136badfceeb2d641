"""`anamnesis sync` and `conflicts` as a person uses them, on two machines with one remote."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.cli.test_terminal import plain
from tests.waiting import wait_until


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Command, Command]:
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "remote.git"], check=True)
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        command = Command(tmp_path / name)
        command("config", "set", "remote", str(tmp_path / "remote.git"))
        made.append(command)
    return made[0], made[1]


def change(machine: Command, title: str, before: str, after: str) -> str:
    """Edit a note's file as an editor would; its id."""
    (note,) = [each for each in machine("list", "--json").json if each["title"] == title]
    path = machine.home / "memory" / note["type"] / f"{note['id']}.md"
    path.write_text(path.read_text().replace(before, after))
    return str(note["id"])


def test_a_note_travels_and_programs_are_told_what_happened(machines: tuple[Command, Command]) -> None:
    one, two = machines
    one("write", "Deploy", "Step one")
    sent = one("sync", "--json").json
    assert list(sent) == ["pushed", "pulled", "conflicted", "head", "indexed", "detail"]
    assert (sent["pushed"], sent["pulled"], sent["conflicted"], sent["detail"]) == (True, 0, False, "synced")
    received = two("sync", "--json").json
    assert (received["pushed"], received["pulled"], received["indexed"]) == (False, 1, 1)
    assert two("search", "step").out.count("Deploy") == 1
    assert one("sync").out.splitlines() == [
        "pushed\tFalse",
        "pulled\t0",
        "conflicted\tFalse",
        f"head\t{sent['head']}",
        "indexed\t1",
        "detail\tsynced",
    ]


def test_a_person_sees_what_came_and_went(machines: tuple[Command, Command]) -> None:
    one, two = machines
    one("write", "Deploy", "Step one")
    assert "↑ sent" in plain(one.on_terminal("sync"))
    shown = plain(two.on_terminal("sync"))
    assert "↓ 1 commit received" in shown
    assert "↑ nothing sent" in shown
    assert "1 note, at" in shown


@pytest.mark.parametrize(("keep", "stays", "notes"), [("this", "two", 1), ("other", "one", 1), ("both", "two", 2)])
def test_a_conflict_is_shown_as_a_diff_and_ended_by_one_command(
    machines: tuple[Command, Command], keep: str, stays: str, notes: int
) -> None:
    one, two = machines
    one("write", "Deploy", "Step one\nStep two")
    one("sync")
    two("sync")
    note = change(one, "Deploy", "Step two", "Step two of one")
    change(two, "Deploy", "Step two", "Step two of two")
    (two.home / "memory" / "semantic" / f"{note}.md").write_text(
        two("show", note).out.replace("updated_at: '2", "updated_at: '3")  # the newer one
    )
    one("sync")
    assert two("sync", "--json").json["conflicted"] is True
    one("sync")
    (conflict,) = one("conflicts", "--json").json
    assert (conflict["id"], conflict["title"]) == (note, "Deploy")
    assert "\n Step one\n-Step two of two\n+Step two of one\n" in conflict["diff"]
    assert "-Step two of two" in plain(one.on_terminal("conflicts"))
    assert one("conflicts", conflict["other"][:20], "--keep", keep).out == f"Kept {keep}: {note}\n"
    assert one("conflicts").out == ""
    one("sync")
    two("sync")
    assert two("conflicts").out == ""
    assert f"Step two of {stays}" in two("show", note).out
    assert len(two("list").out.splitlines()) == notes


def test_a_deleted_note_s_other_version_can_take_its_place(machines: tuple[Command, Command]) -> None:
    one, two = machines
    one("write", "Deploy", "Step one\nStep two")
    one("sync")
    two("sync")
    note = change(one, "Deploy", "Step two", "Step two of one")
    change(two, "Deploy", "Step two", "Step two of two")
    one("sync")
    two("sync")
    two("delete", note)
    refused = two("conflicts", note, "--keep", "this")
    assert (refused.code, refused.err) == (
        1,
        f"anamnesis: The note {note} has been deleted. Keep the other version, or both.\n",
    )
    assert two("conflicts", note, "--keep", "other").code == 0
    assert "Step two of" in two("show", note).out


def test_a_conflict_that_is_not_there_is_one_sentence(machines: tuple[Command, Command]) -> None:
    one, _ = machines
    assert one("conflicts", "zzz").err == "anamnesis: No conflict is about 'zzz'. `anamnesis conflicts` lists them.\n"
    assert one("conflicts", "--keep", "this").code == 2


def test_a_remote_that_cannot_be_reached_is_one_sentence_and_the_note_is_sent_later(
    machines: tuple[Command, Command], tmp_path: Path
) -> None:
    one, two = machines
    one("write", "Deploy", "Step one")
    (tmp_path / "remote.git").rename(tmp_path / "away.git")
    failed = one("sync")
    assert failed.code == 1
    assert failed.err.count("\n") == 1
    assert failed.err.startswith("anamnesis: committed locally; the remote cannot be used now: git fetch: ")
    (tmp_path / "away.git").rename(tmp_path / "remote.git")
    assert one("sync", "--json").json["pushed"] is True
    assert two("sync", "--json").json["pulled"] == 1


@pytest.mark.parametrize("remote", ["ext::sh -c id", "--upload-pack=id", "-oProxyCommand=id"])
def test_a_remote_cannot_become_a_command(machines: tuple[Command, Command], remote: str) -> None:
    one, _ = machines
    refused = one("sync", ANAMNESIS_GIT_REMOTE=remote)
    assert refused.code == 1
    assert "is not the address of a git repository" in refused.err


def test_a_sync_in_the_background_says_nothing_and_is_logged(machines: tuple[Command, Command]) -> None:
    one, two = machines
    one("write", "Deploy", "Step one")
    done = one("sync", "--background")
    assert (done.code, done.out, done.err) == (0, "", "")
    log = one.home / "anamnesis.log"
    wait_until(lambda: log.exists() and '"pushed": true' in log.read_text())
    assert two("sync", "--json").json["pulled"] == 1


def test_claude_codes_own_memory_is_imported_before_a_sync(machines: tuple[Command, Command]) -> None:
    one, two = machines
    folder = one.folder / "home" / ".claude" / "projects" / "-w-app" / "memory"
    folder.mkdir(parents=True)
    (folder / "testing.md").write_text("---\nname: testing\ntype: feedback\n---\nRun the tests with -x.\n")
    one("sync")
    two("sync")
    assert "Run the tests" in two("search", "tests").out or two("list").out.count("testing") == 1
