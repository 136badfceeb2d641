"""Cases are read from files with the line of each mistake, and made from notes without giving them away."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.eval.own_notes import OWN

from anamnesis.errors import InvalidArgument, StoreUnavailable
from anamnesis.eval import EvalCase, build_eval_candidates, load_eval_set, save_eval_set
from anamnesis.eval.locomo import read_locomo
from anamnesis.eval.saved import load_outcomes
from anamnesis.recall.query import telling_words
from anamnesis.store import MemoryStore


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path / "notes")
    for number, each in enumerate(OWN):
        project = "api" if number % 3 else "web"
        store.write(type="procedural" if number % 2 else "semantic", title=each.title, body=each.body, project=project)
    return store


def test_saved_cases_are_loaded_as_they_were(tmp_path: Path) -> None:
    cases = [EvalCase("where?", ["a", "b"], "place", ["A", "B"], "rule"), EvalCase("ümlaut ☂", ["c"])]
    save_eval_set(tmp_path / "cases.jsonl", cases)
    loaded = load_eval_set(tmp_path / "cases.jsonl")
    assert [(each.query, [*each.relevant_ids], each.kind, each.source) for each in loaded] == [
        ("where?", ["a", "b"], "place", "rule"),
        ("ümlaut ☂", ["c"], "", ""),
    ]


def test_a_file_of_cases_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text("reviewed")
    with pytest.raises(InvalidArgument, match="exists"):
        save_eval_set(file, [EvalCase("q", ["a"])])
    assert file.read_text() == "reviewed"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{oops", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"relevant_ids": ["a"]}', "no query"),
        ('{"query": "  ", "relevant_ids": ["a"]}', "no query"),
        ('{"query": "q"}', "relevant_ids"),
        ('{"query": "q", "relevant_ids": []}', "relevant_ids"),
        ('{"query": "q", "relevant_ids": "abc"}', "relevant_ids"),
        ("[" * 100_000, "JSON|nested"),
    ],
)
def test_a_line_that_is_no_case_is_named_by_its_number(tmp_path: Path, line: str, reason: str) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(f'{{"query": "q", "relevant_ids": ["a"]}}\n\n{line}\n')
    with pytest.raises(InvalidArgument, match=rf"cases.jsonl, line 3: .*(?:{reason})"):
        load_eval_set(file)


@pytest.mark.parametrize("content", [None, b"", b"\n\n", b"\xff\xfe"])
def test_a_file_without_cases_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "cases.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidArgument, match=r"cases\.jsonl"):
        load_eval_set(file)


READERS: list[Callable[[Path], object]] = [read_locomo, load_outcomes]


@pytest.mark.parametrize("read", READERS, ids=["locomo", "report"])
@pytest.mark.parametrize(
    "content",
    ["", "{", "[1]", "{}", '{"qa": []}', '[{"sample_id": "x"}]', '{"outcomes": [{}]}', '{"outcomes": 3}', "[]"],
)
def test_another_file_than_the_expected_is_refused(
    tmp_path: Path, read: Callable[[Path], object], content: str
) -> None:
    file = tmp_path / "file.json"
    file.write_text(content)
    with pytest.raises(InvalidArgument, match=r"file\.json"):
        read(file)


def test_a_rule_asks_for_notes_without_the_words_of_their_titles(store: MemoryStore) -> None:
    cases = build_eval_candidates(store, n=20)
    assert len(cases) > 5
    for case in cases:
        note = store.get(case.relevant_ids[0])
        words = telling_words(case.query)
        assert len(words) >= 3
        assert not set(words) & set(telling_words(note.title))
        assert all(word.isalpha() for word in words)
        assert case.source == "rule"


def test_a_rule_drops_the_rarer_words_of_a_sentence(tmp_path: Path) -> None:
    common = "server request answer client header"
    with MemoryStore(tmp_path) as store:
        for number in range(6):
            store.write(type="semantic", title=f"Filler {number}", body=f"{common} {number}")
        note = store.write(
            type="semantic", title="Odd one", body=f"The {common} with xylophone quokka zeppelin marzipan HTTP_2 a1."
        )
        cases = build_eval_candidates(store, n=10)
    (case,) = [each for each in cases if each.relevant_ids == [note.id]]
    assert set(telling_words(case.query)) == set(common.split())


def test_a_rule_asks_by_the_title_of_a_superseded_note(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        old = store.write(type="semantic", title="Connections stay open for an hour", body="Keep alive.")
        new = store.write(type="semantic", title="Pool timeout", body="Six idle sockets.", supersedes=old.id)
        (case,) = build_eval_candidates(store)
    assert (case.query, case.kind, case.relevant_ids) == (old.title, "superseded", [new.id])


def test_the_same_seed_makes_the_same_cases_of_all_projects(store: MemoryStore) -> None:
    first = build_eval_candidates(store, n=6, seed=3)
    assert first == build_eval_candidates(store, n=6, seed=3)
    assert first != build_eval_candidates(store, n=6, seed=4)
    assert {store.get(each.relevant_ids[0]).project for each in first} == {"api", "web"}


def test_a_model_writes_the_queries(store: MemoryStore) -> None:
    asked = []

    def client(task: str, text: str) -> str:
        asked.append((task, text))
        return '```json\n{"query": "what went wrong with the thing"}\n```'

    cases = build_eval_candidates(store, client, "small", n=4)
    assert [(each.query, each.kind, each.source) for each in cases] == 4 * [
        ("what went wrong with the thing", "paraphrase", "model:small")
    ]
    titles = [case.note_titles[0] for case in cases]
    assert [text.partition("\n")[0] for _, text in asked] == [f"# {title}" for title in titles]


def test_a_query_that_repeats_the_note_is_dropped(store: MemoryStore) -> None:
    def client(task: str, text: str) -> str:
        return json.dumps({"query": text.partition("\n")[0].removeprefix("# ")})

    assert build_eval_candidates(store, client, "parrot", n=4) == []


@pytest.mark.parametrize("answer", ["", "no JSON", "{}", '{"query": ""}', '["query"]', '{"query": null'])
def test_an_answer_that_is_no_query_is_skipped(store: MemoryStore, answer: str) -> None:
    assert build_eval_candidates(store, lambda *_: answer, "odd", n=4) == []


def test_a_model_that_cannot_be_reached_ends_it_with_a_sentence(store: MemoryStore) -> None:
    calls = []

    def client(task: str, text: str) -> str:
        calls.append(text)
        raise urllib.error.URLError("Connection refused")

    with pytest.raises(StoreUnavailable, match=r"The model did not answer: .*refused.* by rule"):
        build_eval_candidates(store, client, "gone")
    assert len(calls) == 1


def test_a_secret_in_a_note_is_not_sent_to_a_model(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    sent = []

    def client(task: str, text: str) -> str:
        sent.append(text)
        return ""

    with MemoryStore(tmp_path) as store:
        note = store.write(type="semantic", title="Token", body="x")
        file = next(tmp_path.rglob(f"{note.id}.md"))
        file.write_text(file.read_text().replace("\nx", f"\nuse {secret}"))
        store.refresh()
        build_eval_candidates(store, client, "m")
    assert len(sent) == 1
    assert secret not in sent[0]


CONVERSATION = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I bought a canoe."},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a red kayak"},
        ],
        "session_2_date_time": "9 am on 9 May, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "It sank."}],
    },
    "qa": [
        {"question": "What did Ann buy?", "evidence": ["D1:1"], "category": 4},
        {"question": "What happened to it?", "evidence": ["D1:1; D2:1", "D:9"], "category": 1},
        {"question": "Nowhere?", "evidence": ["D9:9"], "category": 1},
        {"question": "What did Bob buy?", "evidence": ["D1:1"], "category": 5},
        {"question": "No evidence?", "category": 3},
    ],
}


def test_locomo_becomes_sessions_or_turns_and_questions_with_evidence(tmp_path: Path) -> None:
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps([CONVERSATION]))
    (sessions,), (turns,) = read_locomo(file), read_locomo(file, turns=True)
    assert [(note.id, note.title, note.body) for note in sessions.notes] == [
        ("conv-1-D1", "1:56 pm on 8 May, 2023", "Ann: I bought a canoe.\nBob: Look! [a red kayak]"),
        ("conv-1-D2", "9 am on 9 May, 2023", "Ann: It sank."),
    ]
    assert [note.body for note in turns.notes] == [
        "Ann: I bought a canoe.",
        "Bob: Look! [a red kayak]",
        "Ann: It sank.",
    ]
    assert [(case.query, case.relevant_ids, case.kind) for case in turns.cases] == [
        ("What did Ann buy?", ["conv-1-D1-1"], "single-hop"),
        ("What happened to it?", ["conv-1-D1-1", "conv-1-D2-1"], "multi-hop"),
    ]
    assert [case.relevant_ids for case in sessions.cases] == [["conv-1-D1"], ["conv-1-D1", "conv-1-D2"]]
