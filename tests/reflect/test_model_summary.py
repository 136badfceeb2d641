"""A model that summarises, served by a real local HTTP server; and everything that can go wrong with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.reflect.model import Model
from tests.waiting import wait_until

from anamnesis.capture import ParsedSession, write_episodic
from anamnesis.reflect import FALLBACK, ModelSummarizer, summarizer
from anamnesis.store import MemoryStore

SESSION = ParsedSession(
    first_prompt="Why does login fail?",
    prompts=["Why does login fail?"],
    last_outcome="The cookie had expired.",
    files_touched=["auth.py"],
    session_id="s1",
    started_at="2026-08-01T10:00:00+00:00",
)


def test_the_model_is_asked_in_the_common_dialect_and_its_summary_is_kept(model: Model) -> None:
    result = summarizer(model.settings()).summarize(SESSION)
    assert result
    assert (result.title, result.body, result.prov_model) == ("Login fixed", "The cookie had expired.", "small")
    ((path, key, asked),) = model.asked
    assert (path, key) == ("/v1/chat/completions", "Bearer key")
    assert (asked["model"], asked["max_tokens"]) == ("small", 77)
    assert "Why does login fail?" in asked["messages"][1]["content"]


@pytest.mark.parametrize("wrapped", ["```json\n{}\n```", "Here it is: {} Done."])
def test_an_object_wrapped_in_words_is_found(model: Model, wrapped: str) -> None:
    model.answer = model.saying(wrapped.replace("{}", '{"title": "T", "body": "B"}'))
    result = ModelSummarizer(model.settings()).summarize(SESSION)
    assert result
    assert (result.title, result.body) == ("T", "B")


def test_a_session_that_the_model_finds_worthless_is_skipped(model: Model) -> None:
    model.answer = model.saying("SKIP\n")
    assert ModelSummarizer(model.settings()).summarize(SESSION) is None


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (500, b""),
        (401, b'{"error": "no"}'),
        (200, b"not json"),
        (200, b"[]"),
        (200, b'{"choices": []}'),
        (200, b'{"choices": [{"message": {"content": null}}]}'),
        (200, Model.saying("no object")),
        (200, Model.saying('{"title": ""}')),
        (200, Model.saying('{"title": "t", "body": ""}')),
        (200, Model.saying("{broken")),
    ],
)
def test_whatever_goes_wrong_the_heuristic_is_kept_and_says_so(model: Model, status: int, answer: bytes) -> None:
    model.status, model.answer = status, answer
    result = ModelSummarizer(model.settings()).summarize(SESSION)
    assert result
    assert result.prov_model == FALLBACK
    assert result.title == "Why does login fail?"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "file:///etc/passwd", "ftp://x", "nonsense", ""])
def test_an_address_that_leads_nowhere_falls_back(model: Model, url: str) -> None:
    result = ModelSummarizer(model.settings(base_url=url)).summarize(SESSION)
    assert result
    assert result.prov_model == FALLBACK


def test_a_model_that_hangs_is_given_up(model: Model) -> None:
    model.may_answer.clear()
    result = ModelSummarizer(model.settings(timeout=1)).summarize(SESSION)
    assert result
    assert result.prov_model == FALLBACK


def test_no_secret_is_sent_to_a_model(model: Model, store: MemoryStore) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    session = ParsedSession(first_prompt=f"use {token}", prompts=[f"use {token}"], last_outcome=f"used {token}")
    chosen = ModelSummarizer(model.settings())
    write_episodic(store, session, summarizer=chosen, project="p", source="session-end", machine_id="m")
    assert token not in json.dumps(model.asked)


def test_a_capture_answers_at_once_and_the_model_improves_its_note_later(model: Model, tmp_path: Path) -> None:
    lines = [
        {"type": "user", "sessionId": "s1", "cwd": str(tmp_path), "message": {"content": "Why does login fail?"}},
        {
            "type": "assistant",
            "sessionId": "s1",
            "message": {"id": "m", "content": [{"type": "text", "text": "a" * 60}]},
        },
    ]
    (tmp_path / "s1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    model.may_answer.clear()
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "ANAMNESIS_HOME": str(tmp_path / "store"),
        "ANAMNESIS_REFLECTION_PROVIDER": "openai",
        "ANAMNESIS_REFLECTION_MODEL": "small",
        "ANAMNESIS_REFLECTION_BASE_URL": model.url,
        "ANAMNESIS_REFLECTION_API_KEY": "key",
        "ANAMNESIS_REFLECTION_TIMEOUT": "600",
    }
    event = json.dumps({"cwd": str(tmp_path), "session_id": "s1", "transcript_path": str(tmp_path / "s1.jsonl")})
    subprocess.run([sys.executable, "-m", "anamnesis", "capture"], input=event.encode(), env=variables, check=True)
    with MemoryStore(tmp_path / "store") as store:
        (note,) = store.list()
        assert (note.title, note.prov_model) == ("Why does login fail?", "")
        model.may_answer.set()
        wait_until(lambda: store.list()[0].prov_model == "small")
        (note,) = store.list()
    assert (note.title, note.prov_model) == ("Login fixed", "small")
