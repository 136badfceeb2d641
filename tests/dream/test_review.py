"""`anamnesis review` and `anamnesis dream`: proposals for a person are listed, shown and decided, and can be undone."""

from __future__ import annotations

import shutil
from datetime import date, timedelta
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.dream.memory import TEXT, tree, write

from anamnesis.dream import reviewing
from anamnesis.store.shared_notes import Shared

HELD = {"tags": "held: An agent wrote it.\n"}


@pytest.fixture(scope="module")
def dreamt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with two pairs of notes that say the same, which a person wrote, after a dream."""
    command = Command(tmp_path_factory.mktemp("dreamt"))
    with command.store() as store:
        for body in (TEXT, TEXT, "Another text.", "Another text."):
            write(store, body, prov_session="")
    assert command("dream").code == 0
    return command.home


@pytest.fixture
def anamnesis(tmp_path: Path, dreamt: Path) -> Command:
    """A copy of that memory."""
    command = Command(tmp_path)
    shutil.copytree(dreamt, command.home)
    return command


def keys(anamnesis: Command) -> list[str]:
    return [line.split("\t")[0] for line in anamnesis("review").out.splitlines()]


def files(anamnesis: Command) -> dict[str, bytes]:
    with anamnesis.store() as store:
        return tree(store)


def test_proposals_are_listed_and_one_is_shown_with_its_diff(anamnesis: Command) -> None:
    first, second = keys(anamnesis)
    listed = anamnesis("review", "--json").json
    assert [each["id"] for each in listed] == [first, second]
    assert {each["status"] for each in listed} == {"review"}
    assert {each["kind"] for each in listed} == {"duplicate"}
    shown = anamnesis("review", first[:6]).out
    assert shown.startswith(first)
    assert "+supersedes:" in shown
    assert second not in shown


def test_what_is_accepted_is_done_shown_in_the_log_and_can_be_undone(anamnesis: Command) -> None:
    before, (first, second) = files(anamnesis), keys(anamnesis)
    assert anamnesis("review", first, "--accept").out.startswith(f"Accepted: {first}")
    assert keys(anamnesis) == [second]
    assert files(anamnesis) != before
    newest = anamnesis("dream", "log", "--json").json[0]
    assert (newest["kind"], newest["reason"], len(newest["notes"])) == ("review", "Accepted by a person.", 1)
    shown = anamnesis("dream", "show", newest["id"])
    assert (shown.code, shown.err) == (0, "")
    assert f"# Review {newest['id']}" in shown.out
    undone = anamnesis("dream", "undo", newest["id"], "--json")
    assert undone.json["kept"] == []
    assert files(anamnesis) == before
    assert anamnesis("dream").code == 0
    assert keys(anamnesis) == [second], "what was undone is not proposed again"
    again = anamnesis("dream", "undo", newest["id"])
    assert (again.code, again.err.count("\n")) == (1, 1)
    assert "is undone already" in again.err


def test_a_rejection_is_remembered_whatever_happens_to_notes_and_index(anamnesis: Command) -> None:
    before, (first, second) = files(anamnesis), keys(anamnesis)
    rejected = anamnesis("review", first, "--reject", "--json").json
    assert [each["id"] for each in rejected] == [first]
    assert keys(anamnesis) == [second]
    assert anamnesis("reindex").code == 0
    assert anamnesis("dream").code == 0
    assert keys(anamnesis) == [second]
    with anamnesis.store() as store:
        for id in rejected[0]["notes"]:
            store.update(id, body="Both were edited, and say the same again.")
    assert anamnesis("dream").code == 0
    assert keys(anamnesis) == [second]
    assert len(files(anamnesis)) == len(before)


def test_all_rejects_no_note_of_a_teammate_and_a_named_one_stops_the_command_before_any_rejection(
    anamnesis: Command,
) -> None:
    """It would be deleted for the whole team."""
    with anamnesis.store() as store:
        draft = store.write(type="semantic", title="Draft", body="An agent wrote this.", extra=HELD).id
        shared = store.write(type="semantic", title="Rule", body="A teammate wrote this.").id
        store.shared.record([Shared(shared, "core", "mate")])
    before = [each["id"] for each in anamnesis("review", "--json").json]
    assert len(before) == 4
    refused = anamnesis("review", keys(anamnesis)[0], draft, shared, "--reject")
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "would be deleted for all" in refused.err
    assert [each["id"] for each in anamnesis("review", "--json").json] == before
    done = anamnesis("review", "--all", "--reject", "--json")
    assert done.code == 0
    assert {each["id"] for each in done.json} == {*before} - {shared}
    assert done.err.startswith(f"Skipped: The note {shared} ")
    assert [each["id"] for each in anamnesis("review", "--json").json] == [shared]


def test_what_is_for_later_is_listed_again_in_a_week(anamnesis: Command) -> None:
    first, second = keys(anamnesis)
    assert anamnesis("review", first, "--later").out.startswith(f"Later: {first}")
    assert keys(anamnesis) == [second]
    assert anamnesis("dream").code == 0
    assert keys(anamnesis) == [second]
    with anamnesis.store() as store:
        for days, listed in ((6, [second]), (7, [first, second])):
            found = reviewing.listed(store, date.today() + timedelta(days=days))
            assert [each.proposal.key for each in found] == listed


@pytest.mark.parametrize(("decision", "left", "changed"), [("--accept", 0, 2), ("--reject", 0, 0), ("--later", 0, 0)])
def test_all_are_decided_together(anamnesis: Command, decision: str, left: int, changed: int) -> None:
    before = files(anamnesis)
    done = anamnesis("review", "--all", decision, "--json")
    assert len(done.json) == 2
    assert len(keys(anamnesis)) == left
    after = files(anamnesis)
    assert sum(after[path] != data for path, data in before.items()) == changed
    assert after.keys() == before.keys()


def test_to_accept_after_an_edit_is_refused_in_a_sentence(anamnesis: Command) -> None:
    listed = anamnesis("review", "--json").json  # pairs of the same confidence are in the order of their random keys
    notes = {each["id"]: anamnesis.home / f"memory/semantic/{each['notes'][0]}.md" for each in listed}
    first, path = next((key, path) for key, path in notes.items() if TEXT in path.read_text())
    id = path.stem
    path.write_text(path.read_text() + "Edited.\n")
    before = files(anamnesis)
    refused = anamnesis("review", first, "--accept")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == f"anamnesis: The note {id} has changed since. The next dream looks at it again.\n"
    assert files(anamnesis) == before
    assert anamnesis("dream").code == 0
    assert first in keys(anamnesis)  # proposed again, from what the note says now
    assert anamnesis("review", first, "--accept").code == 0


@pytest.mark.parametrize("arguments", [["--accept"], ["--all"], ["nothing", "--accept"], ["abc", "--reject"]])
def test_what_names_nothing_is_refused_in_a_sentence(anamnesis: Command, arguments: list[str]) -> None:
    refused = anamnesis("review", *arguments)
    assert refused.code in (1, 2)
    assert "Traceback" not in refused.err
    assert len(keys(anamnesis)) == 2


def test_a_phase_alone_leaves_the_changes_for_the_others(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        write(store, "By an agent.")
        write(store, "By an agent.")
    assert anamnesis("dream", "--phase", "scan", "--json").json["proposals"] == []
    assert anamnesis("dream", "status", "--json").json["changed_notes"] == 2
    assert len(keys(anamnesis)) == 2
    found = anamnesis("dream", "--phase", "consolidate", "--json").json["proposals"]
    assert [each["status"] for each in found].count("apply") == 1


def test_a_dry_run_says_what_would_be_done_and_does_nothing(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        write(store, "By an agent.")
        write(store, "By an agent.")
    before = files(anamnesis)
    rehearsed = anamnesis("dream", "--dry-run", "--json").json
    assert [each["kind"] for each in rehearsed["proposals"] if each["status"] == "apply"] == ["duplicate"]
    assert files(anamnesis) == before
    assert len(anamnesis("dream", "log", "--json").json) == 1


def test_doctor_tells_of_records_that_cannot_be_read(anamnesis: Command) -> None:
    (record,) = (anamnesis.home / "dreams").glob("*.json")
    record.write_text("{")
    found = anamnesis("doctor").out
    assert f"dreams/{record.name}\tIt cannot be read, so this dream cannot be undone." in found
    assert anamnesis("dream", "log").code == 0
