"""Notes that say the same are distinguished from near misses, whatever their wording."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.dream.alike import NotePair, sureness
from anamnesis.dream.comparison import NoteDifference, compare, may_be_same
from anamnesis.dream.thesaurus import are_alike
from anamnesis.dream.triage import THRESHOLD
from anamnesis.notes import Memory

# The part of the other wordings of each table that is found to say the same; the rest has synonyms that the thesaurus
# lacks, or words in another order within a clause. No near miss is.
TABLES = {"pairs.toml": 0.9, "pairs_aside.toml": 0.9, "pairs_titled.toml": 0.9, "pairs_free.toml": 0.7}


def note(body: str, title: str = "Note", id: str = "a") -> Memory:
    return Memory(id=id, type="semantic", title=title, body=body.strip())


def sure(one: Memory, other: Memory) -> float:
    return sureness(NotePair(one, other, compare(one, other), None))


def is_same(one: str, other: str) -> bool:
    return bool(sure(note(one), note(other, id="b")))


def table(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))["notes"]
    return found


def pairs(name: str, key: str) -> list[tuple[Memory, Memory]]:
    """The notes of a table with the others of a key. Those of some tables have titles."""
    return [
        (note(each["note"][1], each["note"][0]), note(other[1], other[0], "b"))
        if "note" in each
        else (note(each["text"]), note(other, id="b"))
        for each in table(name)
        for other in each[key]
    ]


TEXTS = [str(each["text"]).strip() for each in table("pairs.toml")]


@pytest.mark.parametrize("name", TABLES)
def test_near_misses_are_never_the_same(name: str) -> None:
    assert [pair for pair in pairs(name, "differs") if sure(*pair)] == []


@pytest.mark.parametrize("name", TABLES)
def test_most_other_wordings_are_the_same(name: str) -> None:
    found = [sure(*pair) >= THRESHOLD for pair in pairs(name, "same")]
    assert sum(found) >= TABLES[name] * len(found)


@pytest.mark.parametrize("name", TABLES)
def test_the_quick_look_loses_nothing(name: str) -> None:
    assert [pair for pair in pairs(name, "same") if sure(*pair) and not may_be_same(*pair)] == []


@given(st.sampled_from(TEXTS), st.sampled_from([*TEXTS, *chain(*(each["same"] for each in table("pairs.toml")))]))
def test_comparing_in_the_other_direction_swaps_the_sides(one: str, other: str) -> None:
    assert compare(note(one), note(other)) == compare(note(other), note(one)).swapped


@given(st.text(), st.text())
def test_any_texts_can_be_compared(one: str, other: str) -> None:
    compared = compare(note(one), note(other))
    assert compared == compare(note(other), note(one)).swapped
    assert 0 <= compared.share_of_one <= 1


@given(st.sampled_from(TEXTS))
def test_a_note_is_the_same_as_itself(text: str) -> None:
    assert is_same(text, text)


def replaced(text: str, pattern: str, by: str) -> list[str]:
    """The text with each of the matches replaced, one at a time."""
    return [text[: found.start()] + by + text[found.end() :] for found in re.finditer(pattern, text) if found[0] != by]


CHANGES = {
    "another number": (r"(?<![\w.:/-])\d+(?![\w.:/-])", "777"),
    "another version": (r"\b\d+\.\d+\b", "9.75"),
    "another path": (r"[~\w.]*/[\w./]+", "other/place.py"),
    "another name": (r"(?<=[a-z,] )(?!API|VPN|CI\b)[A-Z][a-z]+\b", "Zebulon"),
    "a lower-case name": (r"\b(?:redis|ruff|mypy|templ|tomllib|postgres|alembic)\b", "qwertz"),
    "a negation": (r"\b(?:is|are)\b(?! not)", "is not"),
    "no negation": (r"\bnot |\bnever |\bnicht |\bjamais ", ""),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_note_is_never_the_same_as_itself_with(change: str) -> None:
    changed = [(text, other) for text in TEXTS for other in replaced(text, *CHANGES[change])]
    assert changed
    assert [pair for pair in changed if is_same(*pair)] == []


STAMPS = ("As of 2026-03-04: {}", "{} (noted on 12 May)", "[2026-03-04] {}", "{}\n\nLast checked on 4 March 2026.")


@given(st.sampled_from(TEXTS), st.sampled_from(STAMPS))
def test_a_date_that_was_added_is_no_difference(text: str, stamp: str) -> None:
    assert is_same(text, stamp.format(text))


@pytest.mark.parametrize("date", ["2026-04-04", "2026-03-05", "2027-03-04", "5 March 2026"])
def test_two_dates_at_the_same_place_differ(date: str) -> None:
    compared = compare(note("The freeze ends on 2026-03-04."), note(f"The freeze ends on {date}."))
    assert compared.differences == (NoteDifference("date", "2026-03-04", date),)
    assert not is_same("As of 2026-03-04: It is slow.", f"It is slow (noted on {date}).")


def test_the_same_date_in_another_form_does_not_differ() -> None:
    assert is_same("The freeze ends on 2026-03-04.", "The freeze ends on 4 March 2026.")


@given(st.permutations(["- The cache is warm.", "- Restart it at night.", "- Ask Tom for the 3 keys in src/a.py."]))
def test_the_order_of_lines_is_no_difference(lines: list[str]) -> None:
    assert is_same("\n".join(sorted(lines)), "\n".join(lines))


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ("Port is 80.", "Port is 81.", NoteDifference("number", "80", "81")),
        ("It takes 3 s to start.", "It takes 3 ms to start.", NoteDifference("unit", "s", "ms")),
        ("We run Django 4.2.1 here.", "We run Django 4.2.9 here.", NoteDifference("version", "4.2.1", "4.2.9")),
        (
            "Logs are in /var/log/app.",
            "Logs are in /srv/log/app.",
            NoteDifference("path", "/var/log/app", "/srv/log/app"),
        ),
        ("Start it with --fast.", "Start it with --slow.", NoteDifference("command", "--fast", "--slow")),
        ("We moved to memcached.", "We moved to redis.", NoteDifference("name", "memcached", "redis")),
        ("The API is not stable.", "The API is stable.", NoteDifference("negation", "not", "")),
        ("We deploy on Friday.", "We deploy on Monday.", NoteDifference("date", "Friday", "Monday")),
        ("Start it before noon.", "Start it after noon.", NoteDifference("word", "before", "after")),
    ],
)
def test_a_difference_names_what_each_note_says(one: str, other: str, difference: NoteDifference) -> None:
    assert compare(note(one), note(other)).differences == (difference,)


def test_words_that_change_places_differ() -> None:
    assert [each.kind for each in compare(note("Ann pays Bob."), note("Bob pays Ann.")).differences] == ["order"]


def test_what_was_cut_is_lacking_and_no_difference() -> None:
    compared = compare(note("The cache is warm. Restart it at night."), note("The cache is warm."))
    assert (compared.differences, compared.lacks_one, compared.lacks_other) == ((), (), ("Restart it at night.",))
    assert compared.share_of_one < compared.share_of_other == 1


@pytest.mark.parametrize("word", ["if", "unless", "when", "without", "only", "except"])
def test_a_condition_that_only_one_note_has_is_a_difference(word: str) -> None:
    assert compare(
        note("Restart the server at night."), note(f"Restart the server at night, {word} it leaks.")
    ).differences


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Timeout of redis", "Timeout of redis", "same"),
        ("Note 17", "Note 18", "same"),
        ("The limit of uploads is", "As of May 2026: The limit", "same"),
        ("Big files", "The limit of uploads is", "same"),
        ("Reminder: The limit of", "Limit of the gateway", "same"),
        ("Big files", "Pictures of customers", "doubted"),
        ("Staging", "The limit of uploads is", "doubted"),
        ("Gateway of Anna", "The limit of uploads is", "doubted"),
        ("Big files", "Files", "doubted"),
        ("Timeout of redis", "Timeout of memcached", "differs"),
        ("Gateway of staging", "Gateway of production", "differs"),
        ("Incident 12", "Incident 13", "differs"),
        ("2 May 2026, 10:30", "2 May 2026, 11:30", "differs"),
    ],
)
def test_titles_over_the_same_text(one: str, other: str, expected: str) -> None:
    """A title that adds nothing is no difference. Values tell notes apart; what only may do so is left to a person."""
    body = "The limit of uploads is 30 MB in the gateway."
    found = compare(note(body, one), note(body, other))
    assert ("differs" if found.differences else "doubted" if found.doubts else "same") == expected


FRAMES = (
    "As noted before: {}", "Reminder: {}", "FYI: {}", "{} (noted again)", "{} This was confirmed once more.",
    "On 3 May 2026: Remember: {}",
)  # fmt: skip


@given(st.sampled_from(TEXTS), st.sampled_from(FRAMES))
def test_a_frame_is_no_difference(text: str, frame: str) -> None:
    compared = compare(note(text), note(frame.format(text)))
    assert (compared.differences, compared.lacks_one, compared.lacks_other) == ((), (), ())


def test_sentences_keep_their_speaker() -> None:
    one = "Ann: The cache is warm. Restart it at night.\nBob: The disk is full."
    assert is_same(one, "Bob: The disk is full.\nAnn: Restart it at night. The cache is warm.")
    assert not is_same(one, "Bob: The cache is warm. Restart it at night.\nAnn: The disk is full.")
    assert not is_same("Ann: The cache is warm at night.", "Bob: The cache is warm at night.")


@pytest.mark.parametrize(
    "words",
    ["doctor nurse", "main master", "mother son", "flute trumpet", "cabbage potato", "stack heap", "median average"],
)
def test_siblings_are_no_synonyms(words: str) -> None:
    one, other = words.split()
    assert not are_alike(one, other)
    assert not is_same(f"The new {one} is in the garden.", f"The new {other} is in the garden.")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "It uses 2 GB and sends at most 3 mails per hour.",
            "It makes use of 2 GB and sends no more than 3 mails an hour.",
        ),
        ("The DB is backed up every day.", "The database is backed up daily."),
        ("The door opens at 7. The team meets at 9.", "The team meets at 9. The door opens at 7."),
        ("The schema lives in db/schema.sql, e.g. the keys.", "The schema is in db/schema.sql, for example the keys."),
        ("It cannot start without a key.", "It can't start without a key."),
        ("Tokens expire after fifteen minutes.", "Tokens expire after 15 minutes."),
        ("The pool has twenty-five connections.", "The pool has 25 connections."),
        ("The client retries with exponential backoff.", "The client retries with exponential back-off."),
        ("Flags are read at startup only.", "Flags are read at start-up only."),
        ("The time zone of the user decides.", "The timezone of the user decides."),
        ("If the lag exceeds 100, add a worker.", "When the lag exceeds 100, add a worker."),
    ],
)
def test_phrases_that_say_the_same(one: str, other: str) -> None:
    assert is_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tokens expire after fifteen minutes.", "Tokens expire after fifty minutes."),
        ("The pool has twenty-five connections.", "The pool has twenty connections."),
        ("Check if the backup has ended.", "Check when the backup has ended."),
        ("Find out if the backup runs.", "Find out when the backup runs."),
        ("Restart it when the disk is full.", "Restart it unless the disk is full."),
        ("The job starts up the queue.", "The job sets up the queue."),
    ],
)
def test_phrases_that_do_not_say_the_same(one: str, other: str) -> None:
    assert not is_same(one, other)


def test_the_first_line_may_be_the_title() -> None:
    lines = ["Port 8080 is taken", "The gateway restarts each night at two because of a leak.", "Ask Tom for the keys."]
    first, second, third = lines
    one, other = note(f"{second}\n{third}", first), note(f"{first}\n{third}", second, "b")
    assert sureness(NotePair(one, other, compare(one, other), None))


def test_a_note_without_a_body_says_its_title() -> None:
    assert compare(note("", "Ann pays Bob."), note("", "Bob pays Ann.")).differences
    one, other = note("", "The gateway restarts each night."), note("", "Each night, the gateway restarts.")
    assert not compare(one, other).differences
