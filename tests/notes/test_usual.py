"""The usual front matter is read without YAML, and means just what it means to YAML."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import example, given
from hypothesis import strategies as st

from anamnesis.notes import Memory, parse, render
from anamnesis.notes.frontmatter import read_front
from anamnesis.notes.markdown import _USUAL, _usual_values

WORDS = st.sampled_from(
    ["a", "Z9", "null", "Null", "NULL", "true", "no", "~", "1.5", "0x1F", "1e3", "12:30", "x-y", "é"]
)
GLUE = st.sampled_from(
    [" ", "  ", "-", ".", "/", "_", ": ", ":", " #", "#", "'", '"', "[", "{", "&", "*", "!", "|", ", "]
)
TEXT = st.lists(st.tuples(WORDS, GLUE), min_size=1, max_size=4).map(
    lambda parts: "".join(word + glue for word, glue in parts[:-1]) + parts[-1][0]
)


ENGRAM_VALUE = TEXT | st.sampled_from(["null", "7", "-3", "007", "9" * 30, "''", "'2026-01-02 03:04:05'", "'7'"])


def front_of(title: str, tag: str, project: str, value: str) -> str:
    note = Memory(
        "01J9Z8YPM7Q3X2V4WT6B5N0KGD", "semantic", "TITLE", "", "PROJECT", tags=["TAG"], engram={"topic_key": "VALUE"}
    )
    front = render(note).removeprefix("---\n").rpartition("---\n")[0]
    return front.replace("TITLE", title).replace("TAG", tag).replace("PROJECT", project).replace("VALUE", value)


@given(TEXT, TEXT, TEXT, ENGRAM_VALUE)
@example("null", "a", "b", "x")
@example("a", "null", "b", "x")
@example("a b", "c-d", "e/f.g", "null")
def test_what_is_read_without_yaml_is_what_yaml_reads(title: str, tag: str, project: str, value: str) -> None:
    front = front_of(title, tag, project, value)
    if usual := _USUAL.fullmatch(front):
        assert (_usual_values(usual), {}) == read_front(front, 2)


def test_an_ordinary_note_is_usual() -> None:
    note = Memory(
        "01J9ZB0C4F8H2K6M3P9R7S5T1W",
        "procedural",
        "Run reflect safely (v2)",
        "body",
        "github.com/oscardvs/anamnesis",
        "thinkpad.local",
        tags=["reflection", "a b"],
        created_at="2026-06-24T19:01:55+00:00",
        updated_at="2026-06-24T19:01:55+00:00",
        prov_source="reflection",
        prov_model="claude-opus-4-8",
        prov_session="3bf75f14-4c3f",
        confidence=0.8,
        supersedes="01J9Z8YPM7Q3X2V4WT6B5N0KGD",
        engram={
            "sync_id": "obs-1f2e3d4c5b6a7988",
            "topic_key": "architecture/auth-model",
            "revision_count": 3,
            "last_seen_at": "2026-06-24 19:01:55",
            "tool_name": None,
        },
    )
    text = render(note)
    assert _USUAL.fullmatch(text.removeprefix("---\n").partition("---\n")[0])
    assert parse(text) == note


def test_reading_an_ordinary_note_imports_no_yaml() -> None:
    text = render(Memory("a1", "semantic", "A title", "body"))
    script = f"import sys\nfrom anamnesis.notes import parse\nparse({text!r})\nassert 'yaml' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
