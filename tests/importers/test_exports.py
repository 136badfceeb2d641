"""Downloaded exports: zips are read in place and within limits, and conversations become episodes."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.importers.conftest import TOKEN, Here

from anamnesis.importers.archives import LimitedStream, members, values_in
from anamnesis.importers.foreign_record import Unreadable
from anamnesis.importers.pipeline import ImportResult

ASK = "Why does the lamp flicker when the door opens?"
ANSWER = "The cause was a loose wire behind the switch. Always switch the fuse off first."


def zipped(path: Path, files: Mapping[str, str | bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def said(role: str, text: object, parent: str | None, time: object = 1_700_000_000, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    return {"parent": parent, "message": {"author": {"role": role}, "content": content, "create_time": time, **more}}


def chat(**more: Any) -> dict[str, Any]:
    mapping = {
        "root": {"parent": None, "message": None},
        "a": said("user", ASK, "root"),
        "other": said("assistant", "A branch that was left.", "a"),
        "b": said("assistant", ANSWER, "a", 1_700_000_060.5),
        "c": said("user", f"Thanks. Remember {TOKEN}", "b"),
        "tool": said("assistant", "search()", "c", recipient="web"),
        "d": said("assistant", "You are welcome.", "tool", None),
    }
    given = {"conversation_id": "c-1", "title": "Flickering", "create_time": 1_700_000_000, "update_time": None}
    return {**given, "mapping": mapping, "current_node": "d", "default_model_slug": "gpt-x", **more}


def test_a_chatgpt_conversation_is_an_episode_of_its_current_branch(here: Here) -> None:
    small = chat(conversation_id="c-2", mapping={"a": said("user", "hi", None), "b": said("assistant", "Hello!", "a")})
    broken: list[Any] = [{"title": "no mapping"}, 7, {"mapping": {"a": 1, "b": {"message": []}}, "id": "odd"}]
    circle = chat(conversation_id="c-3", title=None, mapping={"d": said("user", ASK, "d")}, create_time="soon")
    files = {"conversations.json": json.dumps([chat(), small, *broken, circle]), "chat.html": "<html>"}
    zipped(here.home / "Downloads" / "export.zip", files)
    assert here.found("claude-ai") == []
    done = here.run_import("chatgpt")
    assert (done.new, done.skipped, done.broken) == (2, 2, 2)
    notes = here.notes()
    note = notes["Flickering"]
    assert (note.type, note.prov_session, note.prov_model) == ("episodic", "c-1", "gpt-x")
    assert note.tags == ["session", "chatgpt"] and note.created_at == "2023-11-14T22:13:20+00:00"
    assert note.body.startswith(f"**Ask:** {ASK}") and "**Outcome:** You are welcome." in note.body
    assert "**Causes and fixes:**\n- The cause was a loose wire behind the switch." in note.body
    assert "branch" not in note.body and "search()" not in note.body and TOKEN not in note.body
    assert [*here.store.unreflected()] and note.id in here.store.unreflected()
    assert here.run_import("chatgpt").counts == ImportResult(unchanged=2).counts


def test_conversations_memory_and_projects_of_claude_ai_are_imported(here: Here) -> None:
    talk = {
        "uuid": "u-1",
        "name": "",
        "created_at": "2025-05-01T10:00:00.123456Z",
        "updated_at": "2025-05-01T11:00:00Z",
        "chat_messages": [
            {"sender": "human", "text": ASK, "content": [{"type": "text", "text": ASK}], "created_at": "2025-05-01"},
            {"sender": "assistant", "text": "", "content": [{"type": "thinking", "thinking": "Hm."}]},
            {"sender": "assistant", "text": ANSWER, "content": "no list"},
            "odd",
        ],
    }
    memory = [{"conversations_memory": "Ada repairs lamps.", "project_memories": {"p-1": "Wires.", "p-2": 3}}]
    project = {
        "uuid": "p-1",
        "name": "Lamp",
        "prompt_template": "Be brief.",
        "docs": [{"filename": "a.md", "content": "X"}],
    }
    files = {
        "conversations.json": json.dumps([talk, {"uuid": "u-2", "chat_messages": []}]),
        "memories.json": json.dumps(memory),
        "projects.json": json.dumps([project, {"uuid": "p-9", "name": "Empty", "docs": None}]),
        "users.json": "[]",
    }
    zipped(here.home / "Downloads" / "data.zip", files)
    done = here.run_import("claude-ai")
    assert (done.new, done.skipped, done.broken) == (5, 2, 1)
    notes = here.notes()
    episode = next(note for note in notes.values() if note.type == "episodic")
    assert episode.title == ASK and episode.prov_session == "u-1" and "Hm." not in episode.body
    assert episode.created_at == "2025-05-01T10:00:00+00:00"
    assert notes["What Claude.ai remembers"].body == "Ada repairs lamps."
    told = notes["What Claude.ai remembers of the project Lamp"]
    assert (told.project, told.body) == ("lamp", "Wires.")
    assert (notes["Lamp: instructions"].type, notes["a.md"].project) == ("procedural", "lamp")


def test_both_files_of_openmemory_are_read_and_each_memory_once(here: Here) -> None:
    one = {"id": "m1", "content": "Red", "metadata": {"n": 1}, "created_at": "2025-01-01", "state": "archived"}
    lines = [{**one, "app": "cursor", "categories": ["home"]}, {"id": "m4", "content": None}]
    tables = {
        "categories": [{"id": "k", "name": "garden"}],
        "apps": [{"id": "p", "name": "zed"}],
        "memories": [
            one,
            {"id": "m2", "content": "Green", "category_ids": ["k", 9], "app_id": "p", "state": "active"},
            {"id": "m3", "content": "Gone", "state": "deleted"},
            "odd",
        ],
    }
    blob = gzip.compress(b"\n".join([*(json.dumps(line).encode() for line in lines), b"{half", b""]))
    zipped(here.home / "Downloads/backup.zip", {"memories.json": json.dumps(tables), "memories.jsonl.gz": blob})
    done = here.run_import("openmemory")
    assert (done.new, done.broken) == (2, 2)
    notes = here.notes()
    assert notes["Red"].tags == ["home", "archived", "openmemory"] and "app: cursor\n" in notes["Red"].extra["tags"]
    assert notes["Green"].tags == ["garden", "openmemory"] and "app: zed\n" in notes["Green"].extra["tags"]


def test_a_portable_store_keeps_types_relations_and_foreign_fields(here: Here) -> None:
    memory = {
        "id": "mem-1",
        "type": "skill",
        "status": "superseded",
        "content": "Solders wires.",
        "content_hash": "sha256:" + "0" * 64,
        "summary": "Soldering",
        "tags": ["wires"],
        "confidence": {"current": 0.9},
        "temporal": {"created_at": "2025-01-01T00:00:00Z", "valid_until": "2026-01-01T00:00:00Z"},
        "provenance": {"platform": "claude", "conversation_ref": "conv-1"},
        "metadata": {"language": "en", "project": "lamp"},
    }
    other = {"id": "mem-2", "type": "fact", "content": "A lamp.", "temporal": {}, "provenance": {}}
    store = {
        "schema": "portable-ai-memory",
        "schema_version": "1.0",
        "owner": {"id": "ada"},
        "memories": [memory, other, {"id": "mem-3"}, 4],
        "relations": [{"id": "r", "from": "mem-1", "to": "mem-2", "type": "related_to"}, {"from": 3}],
    }
    path = here.write("memory-store.json", json.dumps(store))
    done = here.run_import("portable-ai-memory", path)
    assert (done.new, done.broken) == (2, 2)
    note = here.notes()["Soldering"]
    assert note.body == "Solders wires.\n\n- related to [[A lamp.]]"
    assert (note.type, note.project, note.prov_session) == ("procedural", "lamp", "conv-1")
    assert note.tags == ["wires", "superseded", "portable-ai-memory"]
    front = note.extra["tags"]
    assert "language: en\n" in front and 'valid_until: "2026-01-01T00:00:00Z"\n' in front
    assert 'confidence: {"current": 0.9}\n' in front


def values(text: str) -> list[Any]:
    return [*values_in("file", LimitedStream(io.BytesIO(text.encode()), 1 << 30))]


def test_an_array_is_read_element_by_element_up_to_an_invalid_one() -> None:
    many = [{"n": number, "text": "é" * 1000} for number in range(3000)]
    assert values("\ufeff " + json.dumps(many, ensure_ascii=False)) == many
    assert values('{"a": [1]}') == [{"a": [1]}]
    cut = values('[{"a": 1}, {"b": ')
    assert cut[0] == {"a": 1} and isinstance(cut[1], Unreadable) and len(cut) == 2
    bad = values('[{"a": 1}, oops, {"c": 3}]' + " " * (3 << 20))
    assert bad[0] == {"a": 1} and isinstance(bad[-1], Unreadable)
    assert isinstance(values("")[0], Unreadable)
    deep = values('[{"a": 1}, ' + "[" * 100_000 + "]" * 100_000 + "]")
    assert deep[0] == {"a": 1} and isinstance(deep[-1], Unreadable)


def test_a_zip_bomb_is_stopped_and_an_encrypted_or_truncated_zip_is_reported(here: Here) -> None:
    bomb = zipped(here.home / "bomb.zip", {"conversations.json": b"[" + b" " * 3_000_000 + b"]"})
    with pytest.raises(ValueError, match="too large"):
        for _, stream in members(bomb, lambda _: True, 1_000_000):
            stream.read()
    cut = here.write("cut.zip", bomb.read_bytes()[: -len(bomb.read_bytes()) // 3])
    assert here.run_import("chatgpt", cut).broken == 1
    locked = bytearray(zipped(here.home / "locked.zip", {"conversations.json": "[]"}).read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(mark) + offset] |= 1  # the flag of encryption
    assert "password" in here.run_import("chatgpt", here.write("locked.zip", bytes(locked))).problems[0]


def test_a_damaged_file_of_a_zip_is_reported_and_the_others_are_imported(here: Here) -> None:
    files = {
        "conversations-000.json": json.dumps([chat()]),
        "conversations-001.json": json.dumps([chat(conversation_id="c-2")]),
    }
    path = zipped(here.home / "Downloads" / "data.zip", files)
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x03\x04") + 100] ^= 0xFF
    path.write_bytes(data)
    done = here.run_import("chatgpt", path)
    assert (done.new, done.broken) == (1, 1) and "conversations-000.json" in done.problems[0]


def test_a_backup_of_openmemory_with_truncated_lines_is_read_from_its_tables(here: Here) -> None:
    memories = [{"id": f"m{number}", "content": f"Fact {number}"} for number in range(3)]
    blob = gzip.compress(b"\n".join(json.dumps(each).encode() for each in memories))
    tables = json.dumps({"memories": memories})
    path = zipped(here.home / "backup.zip", {"memories.json": tables, "memories.jsonl.gz": blob[:-12]})
    done = here.run_import("openmemory", path)
    assert (done.new, done.broken) == (3, 1)


def test_paths_in_a_zip_are_not_followed(here: Here) -> None:
    files = {"../../conversations.json": json.dumps([chat()]), "/etc/conversations.json": "[]"}
    path = zipped(here.home / "Downloads" / "evil.zip", files)
    before = set(here.home.rglob("*"))
    assert here.run_import("chatgpt", path).new == 1
    assert set(here.home.rglob("*")) == before


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b" " * 17_000_000, id="nothing else"),
        pytest.param(b"[1," + b"\n" * 17_000_000 + b"2]", id="between two values"),
    ],
)
def test_a_file_of_blanks_is_given_up(here: Here, content: bytes) -> None:
    """A zip of 600 MB of them is small, and took a minute."""
    path = zipped(here.home / "blank.zip", {"conversations.json": content})
    assert "It has too many blanks." in here.run_import("chatgpt", path).problems[-1]


def test_empty_lines_of_an_unpacked_file_count_too(here: Here) -> None:
    blob = gzip.compress(b"\n" * 1_100_000)
    path = zipped(here.home / "backup.zip", {"memories.json": "[]", "memories.jsonl.gz": blob})
    assert "too large" in here.run_import("openmemory", path).problems[-1]
