"""The usual front matter is read without YAML, and means just what it means to YAML."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from anamnesis.notes import Memory, parse, render
from anamnesis.notes.frontmatter import read_front, write_front
from anamnesis.notes.markdown import _OMITTED_WHEN_EMPTY, _USUAL, _usual_front, _usual_values
from anamnesis.notes.record import KEYS, EngramValue

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


ODD = "yes No null 12 1.5 0x1F 1e5 2026-01-02 é 01234567 01234567890123456789012345 y_n -a"
PLAIN = st.sampled_from(
    [
        *ODD.split(),
        *(
            "a",
            "Title of a note",
            "x/y-z.md",
            "obs-1f2e",
            "a" * 70,
            "word " * 20,
            "",
            " a",
            "a ",
            "a: b",
            "a #b",
            "a\nb",
        ),
        *("2026-01-02 03:04:05", "2026-01-02T03:04:05+00:00", "01J9ZB0C4F8H2K6M3P9R7S5T1W"),
        *("a, b", "Don't", 'say "x" & y', "Summary: shop", "it's: o'clock", "a:b", "a: ", "x: y: z", "a ?b"),
        "3bf75f14-4c3f-4b1a-9c0d-0123456789ab",
    ]
)
NUMBERS = st.sampled_from([1.0, 0.8, 0.0, 1e-05, 123456.5, float("inf")]) | st.floats(allow_nan=False)


@given(
    PLAIN | TEXT,
    PLAIN | TEXT,
    st.lists(PLAIN, max_size=3),
    NUMBERS,
    st.dictionaries(PLAIN, PLAIN | st.integers() | st.none()),
)
def test_what_is_written_without_yaml_is_what_yaml_writes(
    title: str, session: str, tags: list[str], confidence: float, engram: dict[str, EngramValue]
) -> None:
    note = Memory(title, "semantic", title, "b", session, tags=tags, created_at=session, engram=engram)
    note = replace(note, prov_session=session, confidence=confidence, supersedes=tags)
    meta = {key: value for key in KEYS if (value := getattr(note, key)) or key not in _OMITTED_WHEN_EMPTY}
    usual = _usual_front(meta)
    assert usual in (None, write_front(meta, {}))


def test_an_ordinary_note_is_written_without_yaml() -> None:
    script = (
        "import sys\nfrom anamnesis.notes import Memory, render\n"
        "note = Memory('01J9ZB0C4F8H2K6M3P9R7S5T1W', 'semantic', 'A title', 'body', 'github.com/o/p', 'desk',\n"
        "    tags=['a'], created_at='2026-01-02T03:04:05+00:00', updated_at='2026-01-02T03:04:05+00:00',\n"
        "    prov_session='3bf75f14-4c3f-4b1a-9c0d-0123456789ab', engram={'type': 'decision', 'revision_count': 2})\n"
        "render(note)\nassert 'yaml' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
