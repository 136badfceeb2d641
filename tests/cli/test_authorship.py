"""A note is a person's if a person wrote, edited or pinned it: dreams propose changes to it, and make none."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.command import Command

from anamnesis.notes import Memory, parse
from anamnesis.notes.authorship import as_edited, is_edited_by_hand, is_persons
from anamnesis.notes.merge import merge

TEXT = "The staging database listens on port 5433, because a tunnel of the build machine occupies 5432."


def agent_writes(anamnesis: Command, *titles: str) -> list[Path]:
    """The files of notes that an agent wrote in a session of its own, without the gate: they may say the same."""
    anamnesis.variables["ANAMNESIS_GATE"] = "off"
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "Claude Code", "version": "2"}}
    asked = [{"method": "initialize", "params": hello}]
    for title in titles:
        given = {"type": "semantic", "title": title, "body": TEXT}
        asked.append({"method": "tools/call", "params": {"name": "memory_write", "arguments": given}})
    lines = [json.dumps({"jsonrpc": "2.0", "id": number, **each}) for number, each in enumerate(asked)]
    answers = [json.loads(line) for line in anamnesis("serve", stdin="\n".join(lines) + "\n").out.splitlines()]
    written = sorted((each for each in answers if each["id"]), key=lambda each: int(each["id"]))
    ids = [each["result"]["structuredContent"]["id"] for each in written]
    return [anamnesis.home / f"memory/semantic/{id}.md" for id in ids]


def note_in(path: Path) -> Memory:
    return parse(path.read_text())


def proposed(anamnesis: Command) -> list[str]:
    return [each["status"] for each in anamnesis("dream", "--dry-run", "--json").json["proposals"]]


def by_command(*words: str) -> Callable[[Command, Sequence[Path]], None]:
    def change(anamnesis: Command, paths: Sequence[Path]) -> None:
        for path in paths:
            done = anamnesis(words[0], path.stem, *words[1:], EDITOR="sed -i s/machine/host/")
            assert done.code == 0, done.err

    return change


def in_an_editor(_: Command, paths: Sequence[Path]) -> None:
    for path in paths:
        path.write_text(path.read_text().replace("build machine", "build host"))
        os.utime(path, (time.time() + 5, time.time() + 5))


def test_a_note_of_an_agent_carries_its_session_and_a_person_s_none(anamnesis: Command) -> None:
    one, other = map(note_in, agent_writes(anamnesis, "Port of staging", "Another"))
    assert re.fullmatch(r"Claude-Code/[0-9a-f]{8}", one.prov_session)
    assert other.prov_session == one.prov_session
    assert not is_persons(one)
    assert note_in(agent_writes(anamnesis, "In another session")[0]).prov_session != one.prov_session
    assert is_persons(parse(anamnesis("show", anamnesis("write", "T", "B").out.strip()).out))


def test_notes_of_agents_are_merged_and_those_of_persons_are_proposed(anamnesis: Command) -> None:
    agent_writes(anamnesis, "Port of staging", "Port of staging")
    assert proposed(anamnesis) == ["apply"]
    anamnesis("write", "Ours", "The deployment of the payment service needs two reviewers and a ticket.")
    anamnesis("write", "Ours", "The deployment of the payment service needs two reviewers and a ticket.")
    assert sorted(proposed(anamnesis)) == ["apply", "review"]


@pytest.mark.parametrize(
    "change",
    [
        by_command("edit"),
        by_command("tag", "staging"),
        by_command("move", "-p", "example.com/shop"),
        by_command("pin"),
        in_an_editor,
    ],
    ids=["edit", "tag", "move", "pin", "an editor"],
)
def test_a_note_that_a_person_changes_becomes_the_persons(
    anamnesis: Command, change: Callable[[Command, Sequence[Path]], None]
) -> None:
    paths = agent_writes(anamnesis, "Port of staging", "Port of staging")
    change(anamnesis, paths)

    assert proposed(anamnesis) == ["review"]


def test_an_edit_without_a_change_leaves_the_note_as_it_is(anamnesis: Command) -> None:
    (path,) = agent_writes(anamnesis, "Port of staging")
    before = path.read_bytes()
    assert anamnesis("edit", path.stem, EDITOR="true").out == f"Unchanged: {path.stem}\n"
    anamnesis("untag", path.stem, "nothing")
    assert path.read_bytes() == before


def test_two_changes_by_an_agent_within_a_second_are_not_an_edit_by_hand() -> None:
    at = "2026-01-05T10:00:00+00:00"
    one = Memory("x", "semantic", "t", "one", created_at=at, updated_at=at, prov_session="a/1")
    other = replace(one, body="other")
    written = 1_767_607_200_000_000_000
    assert not is_edited_by_hand([(one, written), (other, written + 900_000_000)])
    assert is_edited_by_hand([(one, written), (other, written + 9_000_000_000)])
    assert not is_edited_by_hand([(one, written), (replace(one, tags=["marked"]), written + 9_000_000_000)])
    assert not is_edited_by_hand([])


def test_a_merge_of_two_machines_keeps_that_a_person_edited_a_note() -> None:
    base = Memory("x", "semantic", "t", "one\ntwo\nthree\n", prov_session="a/1", updated_at="2026-01-05T10:00:00+00:00")
    ours = as_edited(base, replace(base, tags=["kept"], updated_at="2026-01-05T10:00:01+00:00"))
    theirs = replace(base, body="one\ntwo\nthree and four\n", updated_at="2026-01-05T10:00:02+00:00")
    for one, other in ((ours, theirs), (theirs, ours)):
        merged = merge(base, one, other).note
        assert is_persons(merged)
        assert "four" in merged.body


def test_counters_of_engram_take_no_note_from_a_person() -> None:
    note = Memory("x", "semantic", "t", "b", engram={"duplicate_count": 3, "last_seen_at": "2026-01-05 10:00:00"})
    assert is_persons(note)
    assert not is_persons(replace(note, engram={"topic_key": "architecture/auth"}))
