"""The written form is the specified one, byte for byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.notes import Memory, render

# PyYAML's own safe_dump writes these three line breaks raw and reads them back as a blank or a newline: for a
# text that holds one, the specified form would lose it, and a lossless one is written instead.
LOST_BY_SAFE_DUMP = "\x85\u2028\u2029"
TEXT = st.text(st.characters(codec="utf-8", exclude_characters=LOST_BY_SAFE_DUMP))

SEMANTIC = """\
---
id: 01J9Z8YPM7Q3X2V4WT6B5N0KGD
type: semantic
title: Dashboard grid minmax convention
project: github.com/oscardvs/anamnesis
machine_id: thinkpad
scope: portable
prov_source: human
confidence: 1.0
created_at: '2026-06-24T18:33:07+00:00'
updated_at: '2026-06-24T18:33:07+00:00'
tags:
- dashboard
- css
---
Wrap every Tailwind grid-cols track in minmax(0, ...) so wide content does not blow out the layout.
"""

PROCEDURAL = """\
---
id: 01J9ZB0C4F8H2K6M3P9R7S5T1W
type: procedural
title: Run reflect safely
project: github.com/oscardvs/anamnesis
machine_id: thinkpad
scope: portable
prov_source: reflection
confidence: 0.8
prov_model: claude-opus-4-8
prov_session: 3bf75f14-4c3f
supersedes: 01J9Z8YPM7Q3X2V4WT6B5N0KGD
created_at: '2026-06-24T19:01:55+00:00'
updated_at: '2026-06-24T19:01:55+00:00'
tags:
- reflection
---
Commit immediately after reflect, or a concurrent sync can wipe the output.
"""


def specified(memory: Memory) -> str:
    optional = ("prov_model", "prov_session", "supersedes")
    names = (
        *("id", "type", "title", "project", "machine_id", "scope", "prov_source", "confidence"),
        *(name for name in optional if getattr(memory, name)),
        *("created_at", "updated_at", "tags"),
    )
    meta = {name: getattr(memory, name) for name in names}
    return f"---\n{yaml.safe_dump(meta, sort_keys=False, allow_unicode=True)}---\n{memory.body}\n"


def test_a_note_by_hand_is_written_as_the_specification_shows_it() -> None:
    memory = Memory(
        id="01J9Z8YPM7Q3X2V4WT6B5N0KGD",
        type="semantic",
        title="Dashboard grid minmax convention",
        body="Wrap every Tailwind grid-cols track in minmax(0, ...) so wide content does not blow out the layout.",
        project="github.com/oscardvs/anamnesis",
        machine_id="thinkpad",
        tags=["dashboard", "css"],
        created_at="2026-06-24T18:33:07+00:00",
        updated_at="2026-06-24T18:33:07+00:00",
    )
    assert render(memory) == SEMANTIC


def test_a_note_of_a_reflection_is_written_as_the_specification_shows_it() -> None:
    memory = Memory(
        id="01J9ZB0C4F8H2K6M3P9R7S5T1W",
        type="procedural",
        title="Run reflect safely",
        body="Commit immediately after reflect, or a concurrent sync can wipe the output.",
        project="github.com/oscardvs/anamnesis",
        machine_id="thinkpad",
        tags=["reflection"],
        created_at="2026-06-24T19:01:55+00:00",
        updated_at="2026-06-24T19:01:55+00:00",
        prov_source="reflection",
        prov_model="claude-opus-4-8",
        prov_session="3bf75f14-4c3f",
        confidence=0.8,
        supersedes="01J9Z8YPM7Q3X2V4WT6B5N0KGD",
    )
    assert render(memory) == PROCEDURAL


@pytest.mark.parametrize(
    "field", ["title", "project", "machine_id", "prov_model", "prov_session", "created_at", "body"]
)
@given(text=TEXT)
def test_any_text_is_written_as_safe_dump_writes_it(field: str, text: str) -> None:
    fields: dict[str, Any] = {"id": "a", "type": "semantic", "title": "t", "body": "b", field: text}
    memory = Memory(**fields)
    assert render(memory) == specified(memory)


@given(st.lists(TEXT, max_size=5), TEXT)
def test_any_tags_are_written_as_safe_dump_writes_them(tags: list[str], title: str) -> None:
    memory = Memory("a", "semantic", title, "b", tags=tags)
    assert render(memory) == specified(memory)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_confidence_is_written_as_safe_dump_writes_it(confidence: float) -> None:
    memory = Memory("a", "semantic", "t", "b", confidence=confidence)
    assert render(memory) == specified(memory)


def test_many_superseded_ids_are_a_list_and_one_is_a_scalar() -> None:
    memory = Memory("a", "semantic", "t", "b", supersedes=["x", "y"])
    assert "\nsupersedes:\n- x\n- y\ncreated_at:" in render(memory)
    assert "\nsupersedes: x\ncreated_at:" in render(replace(memory, supersedes=["x"]))


@given(st.text(st.characters()), st.lists(st.text(st.characters()), max_size=3))
def test_every_rendered_note_can_be_encoded(text: str, tags: list[str]) -> None:
    fields: dict[str, Any] = dict.fromkeys(
        ("title", "body", "project", "machine_id", "prov_model", "prov_session"), text
    )
    memory = Memory(id="a", type="semantic", **fields, tags=tags, created_at=text, supersedes=tags)
    render(memory).encode()
