"""`anamnesis dream scan|classify|place|prune|gate|audit`: they only read, except `gate --accept`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.command import Command

from anamnesis.dream.admitting import admit

LOG = "1a2b3c4 Fix the parser\n2b3c4d5 Add a cache\n3c4d5e6 Remove the queue"


def fill(anamnesis: Command) -> dict[str, str]:
    """Notes of several kinds, two of them the same, and what an agent was refused; the ids by title."""
    with anamnesis.store() as store:
        agents: dict[str, Any] = {"project": "shop", "prov_session": "s"}
        notes = [
            store.write(type="semantic", title="Tabs", body="Always use tabs.", **agents),
            store.write(type="semantic", title="Cache", body="We decided to cache in Redis.", **agents),
            store.write(type="episodic", title="Monday", body="The deploy was slow.", **agents),
            store.write(type="semantic", title="Retries", body="The client retries 3 times.", **agents),
            store.write(type="semantic", title="Retries again", body="The client retries 3 times.", **agents),
            *(store.write(type="semantic", title=f"n{n}", body=f"Filler {n}.", **agents) for n in range(60)),
        ]
        admit(store, {"type": "semantic", "title": "Tabs", "body": "Always use tabs.", "project": "shop"})
        admit(store, {"type": "semantic", "title": "git log", "body": LOG, "project": "shop"})
    return {note.title: note.id for note in notes}


def test_a_scan_orders_the_changed_notes_and_is_empty_after_a_dream(anamnesis: Command) -> None:
    ids = fill(anamnesis)
    found = anamnesis("dream", "scan", "--json", "-n", "3").json
    assert found["changed"] == 65
    values = [note["priority"] for note in found["notes"]]
    assert values == sorted(values, reverse=True)
    first = found["notes"][0]
    assert (first["id"], first["kind"], first["depth"]) == (ids["Tabs"], "Directive", 3)
    parts = first["recency"] * first["changes"] * first["weight"] * first["novelty"]
    assert first["priority"] == pytest.approx(parts, abs=0.001)
    line = anamnesis("dream", "scan", "-n", "1").out.rstrip("\n").split("\t")
    assert (line[0], line[2:]) == (ids["Tabs"], ["Directive", "shop", "Tabs"])
    anamnesis("dream")
    assert anamnesis("dream", "scan", "--json").json["changed"] <= 5  # what the dream itself changed


def test_notes_are_classified_by_kind_and_depth(anamnesis: Command) -> None:
    fill(anamnesis)
    found = {each["title"]: (each["kind"], each["depth"]) for each in anamnesis("dream", "classify", "--json").json}
    found |= {
        each["title"]: (each["kind"], each["depth"])
        for each in anamnesis("dream", "classify", "--limit", "100", "--json").json
    }
    assert (found["Tabs"], found["Cache"], found["Monday"]) == (("Directive", 3), ("Decision", 3), ("Session", 1))
    assert [each["title"] for each in anamnesis("dream", "classify", "--kind", "session", "--json").json] == ["Monday"]
    assert "Directive" in anamnesis.on_terminal("dream", "classify")


@pytest.mark.parametrize("phase", ["place", "prune"])
def test_a_look_at_a_phase_changes_nothing(anamnesis: Command, phase: str) -> None:
    fill(anamnesis)
    before = {path: path.read_bytes() for path in (anamnesis.home / "memory").rglob("*.md")}
    found = anamnesis("dream", phase, "--json").json
    assert found.keys() == {"proposals", "looked_at", "seconds"}
    assert {path: path.read_bytes() for path in (anamnesis.home / "memory").rglob("*.md")} == before
    assert anamnesis("dream", "log", "--json").json == []


def test_a_look_at_a_phase_has_no_proposals_of_others(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        for project in ("github.com/acme/shop", "shop", "github.com/acme/shop"):
            store.write(type="semantic", title="Same", body="One text for all.", project=project)
    assert "duplicate" in {each["kind"] for each in anamnesis("dream", "--dry-run", "--json").json["proposals"]}
    assert {each["kind"] for each in anamnesis("dream", "place", "--json").json["proposals"]} == {"place"}
    assert anamnesis("dream", "prune", "--json").json["proposals"] == []


def test_the_gate_is_tried_without_writing(anamnesis: Command) -> None:
    ids = fill(anamnesis)
    count = anamnesis("status", "--json").json["total"]
    same = anamnesis("dream", "gate", "Retries", "The client retries 3 times.", "-p", "shop", "--json").json
    assert (same["decision"], same["note"]) == ("reject", ids["Retries"])
    other = anamnesis("dream", "gate", "Retries", "The client retries 4 times.", "-p", "shop")
    assert other.out.split("\t")[0] == "allow"
    assert anamnesis("dream", "gate", "git log", stdin=LOG).out.split("\t")[:2] == ["reject", "derivable"]
    assert "reject" in anamnesis.on_terminal("dream", "gate", "git log", LOG)
    assert anamnesis("status", "--json").json["total"] == count


def test_refused_notes_are_listed_accepted_and_forgotten(anamnesis: Command) -> None:
    ids = fill(anamnesis)
    derived, same = anamnesis("dream", "gate", "--log", "--json").json
    assert (same["rule"], same["note"], same["draft"]["body"]) == ("same", ids["Tabs"], "Always use tabs.")
    assert (derived["rule"], derived["draft"]["body"]) == ("derivable", LOG)
    note = anamnesis("dream", "gate", "--accept", str(derived["id"]), "--json").json
    assert (note["title"], note["body"], note["project"]) == ("git log", LOG, "shop")
    assert anamnesis("dream", "gate", "--log", "--json").json[0]["accepted"] == note["id"]
    again = anamnesis("dream", "gate", "--accept", str(derived["id"]))
    assert (again.code, again.err.count("\n")) == (1, 1)
    assert anamnesis("dream", "gate", "--forget", str(same["id"])).code == 0
    assert len(anamnesis("dream", "gate", "--log", "--json").json) == 1
    assert "git shows" in anamnesis.on_terminal("dream", "gate", "--log")


@pytest.mark.parametrize("arguments", [[], ["t", "--log"], ["--accept", "x"], ["--log", "-n", "0"]])
def test_a_wrong_call_of_the_gate_is_a_usage_error(anamnesis: Command, arguments: list[str]) -> None:
    done = anamnesis("dream", "gate", *arguments)
    assert (done.code, "Traceback" in done.err) == (2, False)
    for number in ("-1", "0", "99999999999999999999"):
        refused = anamnesis("dream", "gate", "--accept", number)
        assert (refused.code, "Traceback" in refused.err) == (1, False)


def test_an_audit_lists_the_events_of_a_note_a_project_and_a_period(anamnesis: Command) -> None:
    ids = fill(anamnesis)
    done = anamnesis("dream", "--json").json
    merged = next(each for each in done["proposals"] if each["kind"] == "duplicate")
    found = anamnesis("dream", "audit", "--json").json
    assert found["counts"] == {"reject": 2, "duplicate": 1}
    event = anamnesis("dream", "audit", merged["notes"][0], "--json").json["events"][0]
    assert (event["by"], event["action"], event["id"]) == ("dream", "duplicate", done["id"])
    assert event["notes"][:2] == merged["notes"][:2]
    (refused,) = anamnesis("dream", "audit", ids["Tabs"], "--json").json["events"]
    assert (refused["by"], refused["action"]) == ("gate", "reject")
    assert anamnesis("dream", "audit", "-p", "shop", "--json").json["counts"] == found["counts"]
    assert anamnesis("dream", "audit", "-p", "nobody", "--json").json["events"] == []
    assert anamnesis("dream", "audit", "--until", "2020-01-01", "--json").json["events"] == []
    anamnesis("dream", "undo", done["id"])
    assert anamnesis("dream", "audit", merged["notes"][0], "--json").json["events"][0]["state"] == "undone"
    shown = anamnesis.on_terminal("dream", "audit")
    assert "█" in shown
    assert "the last 30 days" in shown
    unknown = anamnesis("dream", "audit", "nothing at all")
    assert (unknown.code, unknown.err.count("\n")) == (1, 1)
