"""Identifiers and paths are also found by their parts, and the parts by the identifiers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.recall.identifiers import joined_parts, parts_of, split_query
from anamnesis.store import MemoryStore
from anamnesis.store.faults import damage
from anamnesis.store.question import Mode


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        *(("getUserById", "get user by id"), ("get_user_by_id", "get user by id"), ("GetUserByID", "get user by id")),
        *(("HTTP_2", "http 2"), ("HTTP2", "http 2"), ("HTTPServer", "http server"), ("__init__", "")),
        *(("parseJSON", "parse json"), ("getIDsOf", "get ids of"), ("sha256sum", "sha 256 sum"), ("utf8", "utf 8")),
        *(("word", ""), ("Word", ""), ("WORD", ""), ("URLs", ""), ("IDs", ""), ("naïve", ""), ("_", ""), ("2026", "")),
        *(("9f86d081884c7d65", ""), ("a1b2c3d4e5f6a7b8", ""), ("дом_Москва", "дом москва")),
    ],
)
def test_the_parts_of_an_identifier(word: str, parts: str) -> None:
    assert " ".join(parts_of(word)) == parts


def test_only_parts_that_are_no_words_of_the_text_are_added_to_it() -> None:
    assert joined_parts("The user is read by getUserById and saveUser.") == "get id save"
    assert joined_parts("Plain text, get_user_by_id, src/auth/token.py, IDs and 3 WORDS.") == ""


@given(st.text() | st.text(st.sampled_from("aB1_. -/")))
def test_any_text_has_parts_in_lower_case_and_a_query_of_plain_terms(text: str) -> None:
    assert all(part == part.lower() and part.isalnum() for part in joined_parts(text).split())
    words, wholes, _ = split_query(text)
    assert '"' not in "".join([*words, *wholes])


def test_a_path_is_a_phrase_and_its_words() -> None:
    words, wholes, named = split_query("where is src/auth/token.py")
    assert (list(words), wholes, named) == (["src", "auth", "token", "py"], {"src auth token py": []}, [])


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path)
    for number in range(30):
        store.write(type="semantic", title=f"Filler {number}", body=f"Nothing of interest stands in filler {number}.")
    return store


def write(store: MemoryStore, title: str, body: str) -> str:
    return store.write(type="semantic", title=title, body=body).id


def first(store: MemoryStore, query: str, mode: Mode) -> str:
    return next((hit.id for hit in store.search(query, mode=mode)), "")


@pytest.mark.parametrize("mode", ["words", "fused"])
@pytest.mark.parametrize(
    ("written", "asked"),
    [
        *(("getUserById", "user id"), ("getUserById", "get user by id"), ("getUserById", "get_user_by_id")),
        *(("get_user_by_id", "getUserById"), ("get user by id", "getUserById"), ("GetUserByID", "get-user-by-id")),
        *(("HTTP2", "HTTP_2"), ("HTTP/2", "http2"), ("HTTP_2", "HTTP2"), ("src/auth/token.py", "token.py")),
        *(("youtube", "YouTube"), ("YouTube", "youtube"), ("the tube", "YouTube")),
        *(("src/auth/tokenStore.py", "token store"), ("TokenStore", "token_store"), ("getUserById", "users")),
    ],
)
def test_an_identifier_is_found_in_any_spelling_and_by_its_parts(
    store: MemoryStore, written: str, asked: str, mode: Mode
) -> None:
    note = write(store, "Cache", f"It is {written} that fills it.")
    assert first(store, asked, mode) == note


@pytest.mark.parametrize("mode", ["words", "fused"])
def test_a_whole_word_comes_before_a_part(store: MemoryStore, mode: Mode) -> None:
    part = write(store, "Cache", "It is readZebra that fills it.")
    whole = write(store, "Cache", "It is the zebra that fills it.")
    assert [hit.id for hit in store.search("zebra", mode=mode)[:2]] == [whole, part]


@pytest.mark.parametrize("mode", ["words", "fused"])
def test_the_identifier_that_was_asked_for_comes_before_others_of_its_parts(store: MemoryStore, mode: Mode) -> None:
    asked = write(store, "Cache", "It is getUserById that fills it.")
    write(store, "Cache", "It is getUser that fills it, by the id of the user that getUserId got.")
    assert first(store, "getUserById", mode) == asked


def test_a_name_with_a_number_does_not_find_those_with_others(store: MemoryStore) -> None:
    notes = [write(store, "Cache", f"It is zebra{number} that fills it.") for number in range(3)]
    assert [hit.id for hit in store.search("zebra1", mode="words")] == [notes[1]]
    assert first(store, "zebra1", "fused") == notes[1]


def test_parts_do_not_change_the_scores_of_words(store: MemoryStore) -> None:
    write(store, "Zebra", "A zebra has stripes.")
    others = [write(store, "readzebrastripes", "One word in the title.") for _ in range(3)]
    before = [hit.score for hit in store.hits("zebra stripes", mode="words")]
    for other in others:
        store.update(other, title="readZebraStripes")
    after = [hit.score for hit in store.hits("zebra stripes", mode="words")]
    assert after == [*before, 0, 0, 0]


def test_a_query_that_names_one_identifier_finds_it_beside_other_words(store: MemoryStore) -> None:
    note = write(store, "Cache", "get_user_by_id fills it.")
    assert first(store, "why is getUserById slow?", "words") == note


def test_parts_follow_the_changes_of_a_note(store: MemoryStore) -> None:
    note = write(store, "Cache", "It is readZebra that fills it.")
    store.update(note, body="It is readLion that fills it.")
    assert first(store, "zebra", "words") == ""
    assert first(store, "lion", "words") == note
    other = write(store, "Cache", "It is readLion, too.")
    store.update(other, supersedes=note)
    assert [hit.id for hit in store.search("lion", mode="words")] == [other]
    store.delete(other)
    assert first(store, "lion", "words") == note
    store.reindex()
    assert first(store, "lion", "words") == note
    assert damage(store) == []


def test_an_index_of_an_earlier_version_gets_the_parts_by_itself(store: MemoryStore, tmp_path: Path) -> None:
    note = write(store, "Cache", "It is readZebra that fills it.")
    store._index.write(lambda db: db.execute("DROP TABLE memory_parts") and db.execute("PRAGMA user_version = 14"))
    store.close()
    assert first(MemoryStore(tmp_path), "zebra", "words") == note


def test_a_filter_selects_among_notes_that_match_by_parts(store: MemoryStore) -> None:
    write(store, "Cache", "It is readZebra that fills it.")
    mine = store.write(type="semantic", title="Cache", body="It is readZebra that fills it.", project="mine").id
    assert [hit.id for hit in store.search("zebra", project="mine", mode="words")] == [mine]
    assert store.search("zebra", type="episodic", mode="words") == []
