"""`anamnesis history` as people and programs use it: a real process, a real repository, a real engram.db."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing

import pytest
from tests.cli.command import Command
from tests.cli.test_terminal import plain

from anamnesis.engram import database, observations, sessions
from anamnesis.engram.observations import NewObservation
from anamnesis.notes.spaces import with_space


@pytest.fixture
def edited(anamnesis: Command) -> str:
    """A note with two commits and an edit that is in none; its id."""
    note_id = anamnesis("write", "Deploy", "Step one\nStep two", "--tag", "red").out.strip()
    anamnesis("sync")
    edit(anamnesis, note_id, "Step two", "Step 2")
    anamnesis("sync")
    edit(anamnesis, note_id, "title: Deploy", "title: Deploying")
    return note_id


def edit(anamnesis: Command, note_id: str, old: str, new: str) -> None:
    (path,) = anamnesis.home.glob(f"memory/*/{note_id}.md")
    path.write_text(path.read_text().replace(old, new))


def test_a_pipe_gets_a_line_and_a_diff_for_each_revision_the_newest_first(anamnesis: Command, edited: str) -> None:
    done = anamnesis("history", edited[:20])
    assert (done.code, done.err) == (0, "")
    heads = [line.split("\t") for line in done.out.splitlines() if "\t" in line]
    assert [(number, source, by, changed) for number, _, source, _, by, changed in heads] == [
        ("3", "now", "", "title"),
        ("2", "git", "thinkpad", "body +1 -1"),
        ("1", "git", "thinkpad", "written"),
    ]
    assert "\n-title: Deploy\n+title: Deploying\n" in done.out
    assert "\n Step one\n-Step two\n+Step 2\n" in done.out
    assert [line[:2] for line in anamnesis("history", edited, "--limit", "1").out.splitlines() if "\t" in line] == [
        "3\t"
    ]


def test_programs_get_every_fact_by_its_documented_name(anamnesis: Command, edited: str) -> None:
    found = anamnesis("history", edited, "--json").json
    documented = ["number", "at", "source", "commit", "by", "changed", "diff", "text"]
    assert [list(each) for each in found] == [documented] * 3
    assert all(f'"{name}"' in anamnesis("history", "--help").out for name in documented)
    assert [len(each["commit"]) for each in found] == [0, 7, 7]
    assert found[0]["text"].startswith("---\ntype: semantic\ntitle: Deploying\n")
    anamnesis("delete", edited)
    newest = anamnesis("history", edited[:20], "--json").json[0]
    assert (newest["changed"], newest["text"]) == ("deleted", None)


def test_a_person_sees_numbers_ages_and_colours(anamnesis: Command, edited: str) -> None:
    shown = anamnesis.on_terminal("history", edited, "--limit", "2")
    assert "\x1b[32m+title: Deploying" in shown
    assert "\x1b[31m-Step two" in shown
    lines = plain(shown).splitlines()
    assert lines[0].startswith("3  20")
    assert lines[0].endswith("now  title")
    assert lines[-1].startswith("2 of 3 revisions")


def test_a_restored_revision_is_printed_as_a_diff_and_can_be_undone(anamnesis: Command, edited: str) -> None:
    done = anamnesis("history", edited, "--restore", "1")
    assert done.code == 0
    assert "\n-title: Deploying\n+title: Deploy\n" in done.out
    assert done.out.endswith(f"Restored: {edited} is as in revision 1.\n")
    assert anamnesis("show", edited, "--json").json["body"] == "Step one\nStep two"
    again = anamnesis("history", edited, "--restore", "1")
    assert (again.code, again.out) == (0, f"Unchanged: {edited} is as in revision 1 already.\n")
    undone = anamnesis("history", edited, "--restore", "3", "--json").json
    assert list(undone) == ["id", "number", "diff"]
    shown = anamnesis("show", edited, "--json").json
    assert (shown["title"], shown["body"], shown["tags"]) == ("Deploying", "Step one\nStep 2", ["red"])


def carried(anamnesis: Command) -> str:
    """What git would carry to other machines."""
    anamnesis("sync")
    return subprocess.run(
        ["git", "-C", anamnesis.home / "memory", "grep", "-h", "", "HEAD"], capture_output=True, text=True, timeout=60
    ).stdout


def test_a_restore_shares_nothing_that_was_made_private_since_and_says_so(anamnesis: Command) -> None:
    """Neither of a note that exists, nor of one that was deleted since."""
    note_id = anamnesis("write", "Plan", "About the plan of May", "--space", "core").out.strip()
    assert "space: core" in carried(anamnesis)
    with anamnesis.store() as store:
        extra = with_space(store.move(note_id, "machine-local"), "").extra
        store.update(note_id, body="About the plan of June", extra=extra)
    assert "About the plan" not in carried(anamnesis)
    done = anamnesis("history", note_id, "--restore", "1")
    assert done.out.endswith(
        f"Restored: {note_id} is as in revision 1. It stays on this machine only. It stays out of the space core.\n"
    )
    assert anamnesis("show", note_id, "--json").json["body"] == "About the plan of May"
    assert "About the plan" not in carried(anamnesis)
    assert anamnesis("restore").out == ""
    anamnesis("delete", note_id)
    assert "It stays on this machine only" in anamnesis("history", note_id, "--restore", "1").out
    assert "About the plan" not in carried(anamnesis)
    assert "space: core" not in anamnesis("show", note_id).out


def test_a_restored_note_is_not_among_the_deleted_ones(anamnesis: Command, edited: str) -> None:
    anamnesis("history", edited, "--restore", "1")
    assert anamnesis("restore").out == ""
    refused = anamnesis("restore", edited)
    assert (refused.code, refused.err) == (
        1,
        f"anamnesis: The note {edited} is not deleted. `anamnesis history {edited}` shows its earlier versions, and"
        " restores one.\n",
    )
    assert "+title: Deploying" in anamnesis("history", edited).out
    anamnesis("delete", edited)
    assert {line.split("\t")[0] for line in anamnesis("restore").out.splitlines()} == {edited}
    assert anamnesis("restore", edited).out == f"Restored: {edited} (Deploy)\n"


def test_a_refusal_is_one_sentence(anamnesis: Command, edited: str) -> None:
    missing = anamnesis("history", edited, "--restore", "9")
    assert (missing.code, missing.err) == (1, "anamnesis: There is no revision 9. There are 1 to 3.\n")
    nobody = anamnesis("history", "NOBODY")
    assert nobody.code == 1
    assert nobody.err == "anamnesis: Nothing is known of a note NOBODY. `anamnesis list` shows the ids.\n"
    for words in (["../x"], ["--", "-x"], ["--", "--help"], [""], ["a/b"], [":(glob)*"]):
        refused = anamnesis("history", *words)
        assert (refused.code, refused.err.count("\n")) == (1, 1)
        assert "is not a note id" in refused.err
    for number in ("0", "-1", "x", "1.5"):
        assert anamnesis("history", edited, "--restore", number).code == 2
    assert anamnesis("show", edited, "--json").json["title"] == "Deploying"


def test_a_text_cannot_paint_the_terminal(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        note_id = store.write(type="semantic", title="[bold]x[/bold] \x1b[31mred", body="\x1b]0;title\x07 [link=x]y").id
    shown = anamnesis.on_terminal("history", note_id)
    assert "\x1b]0;" not in shown
    assert "[link=x]y" in plain(shown)


def test_an_observation_and_its_note_have_one_history(anamnesis: Command) -> None:
    path = anamnesis.home / "engram.db"
    database.prepare(path)
    with closing(database.connect(path)) as db:
        sessions.create(db, "s", "p", "")
        number = observations.add(db, NewObservation("s", "Plan", "first", topic_key="plan", project="p")).id
    anamnesis("sync")
    with closing(database.connect(path)) as db:
        assert observations.add(db, NewObservation("s", "Plan", "second", topic_key="plan", project="p")).id == number
        observations.update(db, number, {"title": "The plan"})
        present = observations.get(db, number)
    assert present
    waiting = anamnesis("history", str(number), "--json").json
    assert [(each["source"], each["changed"]) for each in waiting] == [("git", "written")]
    assert anamnesis("bridge", "reconcile").code == 0
    found = anamnesis("history", str(number), "--json").json
    assert found[-1:] == waiting
    assert [(each["source"], each["changed"]) for each in found] == [
        ("now", "title"),
        ("journal", "body +1 -1"),
        ("git", "written"),
    ]
    assert anamnesis("history", present.sync_id, "--json").json == found
    restored = json.loads(anamnesis("history", str(number), "--restore", "1", "--json").out)
    assert "+first" in restored["diff"]
    with closing(database.connect(path)) as db:
        row = observations.get(db, number)
    assert row
    assert (row.title, row.content, row.topic_key) == ("Plan", "first", "plan")
    assert [each["number"] for each in anamnesis("history", restored["id"], "--json").json] == [4, 3, 2, 1]


def test_the_name_of_another_machine_is_shown_as_a_claim(anamnesis: Command) -> None:
    written = anamnesis("write", "Mine", "From here.", "--json").json
    anamnesis("sync")
    place = next((anamnesis.home / "memory").rglob("*.md"))
    other = place.read_text("utf-8").replace(written["id"], "OTHER").replace("machine_id: thinkpad", "machine_id: desk")
    place.with_name("OTHER.md").write_text(other, "utf-8")
    anamnesis("sync")
    assert "claims" not in anamnesis("history", written["id"]).out
    (shown,) = anamnesis("history", "OTHER", "--json").json
    assert (shown["by"], shown["changed"].endswith(", claims to be from desk")) == ("thinkpad", True)
    assert "claims to be from desk" in anamnesis("history", "OTHER").out
