"""`anamnesis sync` and `conflicts` as a person uses them, on two machines with one remote."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.cli.test_terminal import plain
from tests.disks import DISKS, command_on
from tests.sync.machine import is_running
from tests.waiting import wait_until

from anamnesis.notes import Memory


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Command, Command]:
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "remote.git"], check=True)
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        command = Command(tmp_path / name)
        command.variables["ANAMNESIS_MACHINE_ID"] = name
        command("config", "set", "remote", str(tmp_path / "remote.git"))
        made.append(command)
    return made[0], made[1]


def change(machine: Command, title: str, before: str, after: str) -> str:
    """Edit a note's file as an editor would; its id."""
    (note,) = [each for each in machine("list", "--json").json if each["title"] == title]
    path = machine.home / "memory" / note["type"] / f"{note['id']}.md"
    path.write_text(path.read_text().replace(before, after))
    return str(note["id"])


def test_a_sync_sends_a_note_and_reports_in_columns_and_json(machines: tuple[Command, Command]) -> None:
    one, two = machines
    one("write", "Deploy", "Step one")
    sent = one("sync", "--json").json
    assert list(sent) == ["pushed", "pulled", "conflicted", "decided", "head", "indexed", "detail"]
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


def test_a_terminal_shows_the_received_and_sent_notes(machines: tuple[Command, Command]) -> None:
    one, two = machines
    deploy, _, back = (one("write", name, "Step one").out.strip() for name in ("Deploy", "Build", "Back"))
    (one.home / "memory" / "README.md").write_text("# Notes\n")
    shown = lines(one.on_terminal("sync"))
    assert shown[:2] == ["↓ nothing received", "↑ 4 files sent: 4 new"]
    assert {*shown[2:6]} == {"  + Deploy", "  + Build", "  + Back", "  + README.md"}
    assert shown[6].startswith("3 notes, at ")
    assert "↓ 4 files received: 4 new" in lines(two.on_terminal("sync"))
    one("delete", back)
    change(two, "Back", "Step one", "Step two")
    change(two, "Build", "Step one", "Step two")
    two("delete", deploy)
    two("write", "Test", "Step one")
    two("write", "Release", "Step one")
    assert lines(two.on_terminal("sync"))[:2] == [
        "↓ nothing received",
        "↑ 5 notes sent: 2 new, 2 changed, 1 deleted",
    ]
    shown = lines(one.on_terminal("sync"))
    assert shown[:7] == [
        "↓ 5 notes received: 1 came back, 2 new, 1 changed, 1 deleted",
        "  ↺ Back",
        "  + Test",
        "  + Release",
        "  ~ Build",
        "  - Deploy",
        "↑ nothing sent",
    ]


def test_only_the_first_of_many_notes_are_named(machines: tuple[Command, Command]) -> None:
    one, two = machines
    with one.store() as store:
        store.put_all(Memory(f"n{number}", "semantic", "x" * 200, "text") for number in range(30))
    one("sync")
    shown = lines(two.on_terminal("sync"))
    assert shown[0] == "↓ 30 notes received: 30 new"
    assert len(shown[1]) == 100
    assert shown[1].endswith("x…")
    assert shown[11:13] == ["  … and 20 more", "↑ nothing sent"]


def test_a_note_that_changed_its_type_is_one_note(machines: tuple[Command, Command]) -> None:
    one, two = machines
    note = one("write", "Deploy", "Step one").out.strip()
    one("sync")
    two("sync")
    with one.store() as store:
        store.update(note, type="procedural")
    assert "↑ 1 note sent: 1 changed" in lines(one.on_terminal("sync"))
    assert "↓ 1 note received: 1 changed" in lines(two.on_terminal("sync"))


def lines(shown: str) -> list[str]:
    """What stays on the terminal when a command has ended, without the line of what it was doing."""
    return [line.rpartition("\r")[2].rstrip() for line in plain(shown.rpartition("\x1b[2K")[2]).splitlines()]


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
    assert "  ≠ Deploy" in lines(one.on_terminal("sync"))
    (conflict,) = one("conflicts", "--json").json
    assert (conflict["id"], conflict["title"]) == (note, "Deploy")
    assert conflict["diff"] == "-Step two of two\n+Step two of one\n"
    assert conflict["machines"] == {"this": "two", "other": "one"}
    shown = one.on_terminal("conflicts")
    assert "\x1b[31m-Step two of two" in shown
    assert "\x1b[32m+Step two of one" in shown
    assert re.search(r"Deploy\n- this   two, .*\n\+ other  one, .*\n-Step two of two\n", plain(shown))
    assert one("conflicts", conflict["other"][:20], "--keep", keep, "--yes").out == f"Kept {keep}: {note}\n"
    assert one("conflicts").out == ""
    one("sync")
    two("sync")
    assert two("conflicts").out == ""
    assert f"Step two of {stays}" in two("show", note).out
    assert len(two("list").out.splitlines()) == notes


def change_at(machine: Command, title: str, before: str, after: str, year: str) -> None:
    """Edit a note's file as at another time."""
    note = change(machine, title, before, after)
    path = machine.home / "memory" / "semantic" / f"{note}.md"
    path.write_text(re.sub(r"updated_at: '\d+", f"updated_at: '{year}", path.read_text()))


@pytest.mark.parametrize(("keep", "stays"), [("this", ["Never force-push"]), ("both", None)])
def test_a_rule_that_is_only_a_title_is_in_conflict_like_a_line(
    machines: tuple[Command, Command], keep: str, stays: list[str] | None
) -> None:
    one, two = machines
    note = one("write", "Always squash", " ").out.strip()
    one("sync"), two("sync")
    change_at(one, "Always squash", "Always squash", "Squash before a release", "2031")
    change_at(two, "Always squash", "Always squash", "Never force-push", "2032")
    one("sync")
    assert two("sync", "--json").json["conflicted"] is True
    one("sync")
    both = ["Never force-push", "Squash before a release"]
    for each in machines:
        assert sorted(found["title"] for found in each("list", "--json").json) == both
    (conflict,) = one("conflicts", "--json").json
    assert conflict["diff"] == "-title: Never force-push\n+title: Squash before a release\n"
    assert conflict["machines"] == {"this": "two", "other": "one"}
    one("conflicts", note, "--keep", keep)
    one("sync"), two("sync")
    assert two("conflicts").out == ""
    assert sorted(found["title"] for found in two("list", "--json").json) == (stays or both)


def test_a_sync_names_the_field_that_the_newer_side_decided(machines: tuple[Command, Command]) -> None:
    one, two = machines
    note = one("write", "Deploy", "Step one").out.strip()
    one("sync"), two("sync")
    change_at(one, "Deploy", "project: global", "project: old", "2031")
    change_at(two, "Deploy", "project: global", "project: new", "2032")
    one("sync")
    done = two("sync")
    assert f"decided\tproject of {note}: kept `new` (newer), not `old`\n" in done.out
    assert "conflicted\tFalse\n" in done.out
    assert one("sync", "--json").json["decided"] == []  # the machine that merged has said it
    assert one("show", note, "--json").json["project"] == "new"


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


@pytest.fixture
def application(tmp_path: Path) -> Path:
    """A remote that is the repository of an application."""
    remote, work = tmp_path / "app.git", tmp_path / "work"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", remote], check=True)
    subprocess.run(["git", "clone", "--quiet", remote, work], check=True, capture_output=True)
    (work / "app.py").write_text("print()\n")
    subprocess.run(["git", "add", "."], cwd=work, check=True)
    author = ["-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run(["git", *author, "commit", "--quiet", "-m", "app"], cwd=work, check=True)
    subprocess.run(["git", "push", "--quiet", "origin", "HEAD:main"], cwd=work, check=True)
    return remote


def branches(remote: Path) -> str:
    return subprocess.run(["git", "show-ref"], cwd=remote, capture_output=True, text=True, check=True).stdout


def test_an_application_s_repository_is_refused_in_one_sentence_until_it_is_adopted(
    machines: tuple[Command, Command], application: Path
) -> None:
    one, _ = machines
    one("config", "set", "remote", str(application))
    one("write", "Deploy", "Step one")
    before = branches(application)
    refused = one("sync")
    assert refused.code == 1
    assert refused.err == (
        f"anamnesis: committed locally; nothing was sent to or received from {application}, which is not a repository"
        " of notes (it holds app.py): set another `remote`, or run `anamnesis sync --adopt` to join it anyway\n"
    )
    assert one("sync", "--json").json["pushed"] is False
    assert not (one.home / "memory" / "app.py").exists()
    assert branches(application) == before
    assert one("sync", "--adopt", "--json").json["pushed"] is True
    assert (one.home / "memory" / "app.py").exists()


@pytest.mark.parametrize(("options", "is_sent"), [([], False), (["--adopt"], True)])
def test_the_first_sync_of_init_refuses_an_application_s_repository(
    machines: tuple[Command, Command], application: Path, options: list[str], is_sent: bool
) -> None:
    one, _ = machines
    one("write", "Deploy", "Step one")
    before = branches(application)
    done = one("init", "--agent", "claude", "--remote", str(application), *options)
    assert done.code == 0
    assert ("is not a repository of notes" in done.err) is not is_sent
    assert (branches(application) != before) is is_sent


def test_a_readme_and_a_licence_among_the_notes_are_not_faults(machines: tuple[Command, Command]) -> None:
    one, two = machines
    one("write", "Deploy", "Step one")
    for name in ("README.md", "LICENSE.md", "LICENSE", ".gitignore"):
        (one.home / "memory" / name).write_text("text\n")
    one("sync")
    two("sync")
    for each in machines:
        assert each("doctor", "--json").json["faults"] == []
        assert each("status", "--json").json["unreadable_files"] == 0


@pytest.fixture
def hanging(tmp_path: Path) -> tuple[dict[str, str], Path]:
    """Variables for a remote whose ssh hangs, and the file in which that writes its process id."""
    started, ssh = tmp_path / "started", tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\necho $$ > '{started}.new'\nmv '{started}.new' '{started}'\nsleep 300\n")
    ssh.chmod(0o755)
    remote = {"ANAMNESIS_GIT_REMOTE": "ssh://me@box.example/notes.git"}
    return {**remote, "GIT_SSH_COMMAND": str(ssh), "GIT_SSH_VARIANT": "simple"}, started


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_sync_that_is_interrupted_leaves_no_process(
    anamnesis: Command, hanging: tuple[dict[str, str], Path], number: int
) -> None:
    variables, started = hanging
    process = subprocess.Popen(
        [sys.executable, "-m", "anamnesis", "sync"],
        env={**anamnesis.variables, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(started.exists)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in errors
    wait_until(lambda: not is_running(int(started.read_text())))


def test_a_server_that_is_ended_during_a_sync_leaves_no_process(
    anamnesis: Command, hanging: tuple[dict[str, str], Path]
) -> None:
    variables, started = hanging
    process = subprocess.Popen(
        [sys.executable, "-m", "anamnesis", "serve"],
        env={**anamnesis.variables, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    process.stdin.write(
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_sync","arguments":{}}}\n'
    )
    process.stdin.flush()
    wait_until(started.exists)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (128 + signal.SIGTERM, "")
    wait_until(lambda: not is_running(int(started.read_text())))


def test_a_host_that_does_not_answer_is_named_once_with_its_setting(
    anamnesis: Command, hanging: tuple[dict[str, str], Path]
) -> None:
    variables, _ = hanging
    anamnesis("write", "Deploy", "Step one")
    sentence = (
        "the remote cannot be used now: box.example did not answer within 3 s"
        " (setting `remote`: ssh://me@box.example/notes.git)"
    )
    failed = anamnesis("sync", ANAMNESIS_SYNC_TIMEOUT="3", **variables)
    assert failed.code == 1
    assert failed.err == f"anamnesis: committed locally; {sentence}\n"
    assert sentence not in failed.out
    shown = plain(anamnesis.on_terminal("sync", ANAMNESIS_SYNC_TIMEOUT="3", COLUMNS="200", **variables))
    assert "Fetching from box.example" in shown
    assert shown.count("did not answer") == 1
    assert anamnesis("sync", "--json", ANAMNESIS_SYNC_TIMEOUT="3", **variables).json["detail"] == sentence


@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "next"])
def test_a_sync_on_a_disk_that_cannot_be_written_is_one_sentence(
    machines: tuple[Command, Command], disk: str, is_first: bool
) -> None:
    one, two = machines
    two("write", "Of two", "Text")
    two("sync")
    one("write", "Deploy", "Step one")
    if not is_first:
        one("sync")
        one("write", "Test", "Step two")
    failed = subprocess.run(
        command_on(disk, one.home, [sys.executable, "-m", "anamnesis", "sync"]),
        env=one.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("anamnesis: ")
    assert failed.stderr.count("\n") == 1
    assert "it gave no reason" not in failed.stderr
    subprocess.run(["chmod", "-R", "u+w", one.home], check=True)
    assert one("sync", "--json").json["indexed"] == (2 if is_first else 3)


def test_an_agent_s_sync_refuses_an_application_s_repository(
    machines: tuple[Command, Command], application: Path
) -> None:
    one, _ = machines
    one("write", "Deploy", "Step one")
    before = branches(application)
    call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_sync","arguments":{}}}\n'
    answered = one("serve", stdin=call * 2, ANAMNESIS_GIT_REMOTE=str(application)).out
    assert answered.count("is not a repository of notes (it holds app.py)") >= 2
    assert branches(application) == before
