"""Sketches find near-duplicates at a cost proportional to the changed notes, and forget deleted notes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anamnesis.dream.sketches import Sketches
from anamnesis.notes import Memory

WORDS = (
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "kelp", "lagoon", "marble", "nectar",
)  # fmt: skip


def note(number: int, body: str = "", **given: Any) -> Memory:
    words = [WORDS[number // 12**place % 12] for place in range(4)]
    text = body or f"The {words[0]} service stores {words[1]} data of station{number} near the {words[2]} {words[3]}."
    return Memory(id=f"n{number:06d}", type="semantic", title=f"Note {number}", body=text, **given)


def by_id(*notes: Memory) -> dict[str, Memory | None]:
    return {each.id: each for each in notes}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sketches.db"


@pytest.fixture
def sketches(path: Path) -> Iterator[Sketches]:
    opened = Sketches(path)
    yield opened
    opened.close()


def test_reworded_cut_and_dated_notes_are_candidates(sketches: Sketches) -> None:
    text = "The nightly importer of invoices fails with EPIPE if the ledger host restarts. Ask Priya for the runbook."
    others = [
        "The nightly importer of bills crashes with EPIPE if the ledger machine reboots. Ask Priya for the runbook.",
        "The nightly importer of invoices fails with EPIPE if the ledger host restarts.",
        "As of 2026-05-01: Ask Priya for the runbook. The nightly importer of invoices fails with EPIPE.",
    ]
    sketches.update(by_id(*(note(number) for number in range(200)), note(900, text)))
    changed = [note(901 + number, other) for number, other in enumerate(others)]
    sketches.update(by_id(*changed))
    pairs = {*sketches.pairs([each.id for each in changed])}
    assert {("n000900", each.id) for each in changed} <= pairs


def test_every_pair_has_a_note_that_changed_and_is_found_once(sketches: Sketches) -> None:
    sketches.update(by_id(*(note(number, "The same words in every note, always.") for number in range(10))))
    pairs = [*sketches.pairs(["n000003"])]
    assert len(pairs) == len({*pairs}) == 9
    assert all("n000003" in pair and pair[0] < pair[1] for pair in pairs)


def test_pairs_grow_with_what_changed_and_not_with_what_is_there(sketches: Sketches) -> None:
    sketches.update(by_id(*(note(number) for number in range(300))))
    few = [*sketches.pairs(["n000001", "n000002"])]
    sketches.update(by_id(*(note(number) for number in range(300, 3000))))
    assert len([*sketches.pairs(["n000001", "n000002"])]) <= max(24, 2 * len(few))


def test_many_almost_identical_notes_give_few_pairs(sketches: Sketches) -> None:
    sketches.update(by_id(*(note(number, f"Run {number} of the nightly backup ended well.") for number in range(3000))))
    assert len([*sketches.pairs(f"n{number:06d}" for number in range(3000))]) <= 3000 * 12


@pytest.mark.parametrize("given", [{"project": "other"}, {"scope": "machine-local"}])
def test_notes_of_other_projects_and_scopes_are_no_candidates(sketches: Sketches, given: dict[str, str]) -> None:
    text = "The gateway keeps its certificates in the vault."
    sketches.update(by_id(note(1, text), note(2, text, **given), note(3, text)))
    assert [*sketches.pairs(["n000001", "n000002", "n000003"])] == [("n000001", "n000003")]


def test_what_is_gone_or_superseded_is_no_candidate(path: Path, sketches: Sketches) -> None:
    text = "The gateway keeps its certificates in the vault."
    sketches.update(by_id(note(1, text), note(2, text), note(3, text)))
    sketches.update({"n000002": None, **by_id(replace(note(3, text), supersedes="n000001"))})
    assert [*sketches.pairs(["n000001", "n000002", "n000003"])] == []
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT note_id FROM sketches ORDER BY 1").fetchall() == [("n000001",), ("n000003",)]
    sketches.update(by_id(note(3, text)))
    assert [*sketches.pairs(["n000003"])] == [("n000001", "n000003")]


def test_sketches_are_kept(path: Path, sketches: Sketches) -> None:
    text = "The gateway keeps its certificates in the vault."
    sketches.update(by_id(note(1, text), note(2, text)))
    again = Sketches(path)
    assert again.identity == sketches.identity
    assert [*again.pairs(["n000001"])] == [("n000001", "n000002")]
    again.close()


@pytest.mark.parametrize("damage", [b"no database at all", b"SQLite format 3\x00" + bytes(200), b""])
def test_a_damaged_file_is_made_anew_with_another_identity(path: Path, damage: bytes) -> None:
    before = Sketches(path)
    before.update(by_id(note(1)))
    before.close()
    path.write_bytes(damage)
    after = Sketches(path)
    assert after.identity != before.identity
    after.update(by_id(note(1), note(2)))
    assert [*after.pairs([])] == []
    after.close()


def test_damage_within_the_file_is_found_when_it_is_opened(path: Path) -> None:
    before = Sketches(path)
    before.update(by_id(*(note(number) for number in range(500))))
    before.close()
    data = bytearray(path.read_bytes())
    data[4096 : 4096 + 8192] = bytes(8192)
    path.write_bytes(data)
    after = Sketches(path)
    assert after.identity != before.identity
    after.close()
