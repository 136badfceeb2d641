"""Claude Code's own memory is imported once and updated, without undoing the user's edits."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from anamnesis.importers.claude_memory import import_claude
from anamnesis.importers.pipeline import ImportResult
from anamnesis.notes import Memory, derived_id, moment_of
from anamnesis.store import MemoryStore
from anamnesis.store.purging import purge

NESTED = """---
name: feedback-tests
description: Run the tests with uv
metadata:
  node_type: memory
  type: feedback
  originSessionId: 3bf75f14
---
**Why:** the venv is uv's.

**How to apply:** `uv run pytest`
"""


class Claude:
    """A Claude Code folder with the memory of one project."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / ".claude"
        self.work = folder / "My_App.x"
        self.work.mkdir()
        slug = "".join(character if character.isalnum() else "-" for character in str(self.work))
        self.project = self.home / "projects" / slug
        (self.project / "memory").mkdir(parents=True)

    def remember(self, name: str, text: str) -> Path:
        path = self.project / "memory" / name
        path.write_text(text)
        return path


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path)


def run(store: MemoryStore, claude: Claude, machine: str = "desk") -> ImportResult:
    return import_claude(store, claude.home, machine, claude.home.parent)


def test_each_file_but_the_index_becomes_a_note_of_its_project(store: MemoryStore, claude: Claude) -> None:
    claude.remember("feedback_testing.md", NESTED)
    claude.remember(
        "user_role.md", "---\nname: user-role\ndescription: Who the user is\ntype: user\n---\nA developer.\n"
    )
    claude.remember("MEMORY.md", "- [user_role.md](user_role.md): who\n")
    assert run(store, claude) == ImportResult(new=2)
    notes = {note.title: note for note in store.list()}
    tests = notes["Run the tests with uv"]
    assert (tests.type, tests.prov_source, tests.prov_session) == ("procedural", "import", "3bf75f14")
    assert tests.body == "**Why:** the venv is uv's.\n\n**How to apply:** `uv run pytest`"
    assert notes["Who the user is"].type == "semantic"
    assert {note.project for note in notes.values()} == {"my_app.x"}
    assert {note.machine_id for note in notes.values()} == {"desk"}


def test_the_project_is_read_from_transcripts_if_the_folder_is_gone(store: MemoryStore, claude: Claude) -> None:
    claude.remember("a.md", "text")
    claude.work.rmdir()
    lines = ['{"type":"summary"}', json.dumps({"type": "user", "cwd": "/gone/Other \u00e9 App"})]
    (claude.project / "s.jsonl").write_text("\n".join(lines))
    run(store, claude)
    assert store.list()[0].project == "other é app"


def test_the_id_has_the_time_of_the_file_and_survives_changes(store: MemoryStore, claude: Claude) -> None:
    file = claude.remember("a.md", NESTED)
    os.utime(file, (1_700_000_000, 1_700_000_000))
    run(store, claude)
    (note,) = store.list()
    assert moment_of(note.id) == note.created_at == "2023-11-14T22:13:20+00:00"
    claude.remember("a.md", NESTED + "more")
    (store.root / "imported.json").unlink()
    assert run(store, claude) == ImportResult(left=1)
    assert [each.id for each in store.list()] == [note.id]


def test_a_note_of_an_earlier_release_keeps_its_id(store: MemoryStore, claude: Claude) -> None:
    file = claude.remember("a.md", NESTED)
    earlier = derived_id("", f"claude:desk:{file.relative_to(claude.home).as_posix()}")
    store.put(Memory(earlier, "procedural", "Run the tests with uv", "", prov_source="import"))
    run(store, claude)
    assert [each.id for each in store.list()] == [earlier]


def test_a_second_import_changes_nothing(store: MemoryStore, claude: Claude) -> None:
    claude.remember("a.md", NESTED)
    run(store, claude)
    before = store.list()
    assert run(store, claude) == ImportResult(unchanged=1)
    assert store.list() == before


def test_a_changed_file_updates_its_note(store: MemoryStore, claude: Claude) -> None:
    claude.remember("a.md", NESTED)
    run(store, claude)
    created = store.list()[0].created_at
    claude.remember("a.md", NESTED.replace("uv run pytest", "make test"))
    assert run(store, claude) == ImportResult(updated=1)
    (note,) = store.list()
    assert "make test" in note.body
    assert note.created_at == created


def test_a_note_deleted_here_stays_deleted_even_if_the_file_changes(store: MemoryStore, claude: Claude) -> None:
    claude.remember("a.md", NESTED)
    run(store, claude)
    store.delete(store.list()[0].id)
    assert run(store, claude) == ImportResult(left=1)
    claude.remember("a.md", NESTED + "more")
    assert run(store, claude) == ImportResult(left=1)
    assert store.list() == []


def test_a_note_edited_here_is_not_changed(store: MemoryStore, claude: Claude) -> None:
    claude.remember("a.md", NESTED)
    run(store, claude)
    store.update(store.list()[0].id, body="mine")
    claude.remember("a.md", NESTED + "more")
    assert run(store, claude) == ImportResult(left=1)
    assert store.list()[0].body == "mine"


def test_two_machines_with_the_same_path_have_separate_notes(store: MemoryStore, claude: Claude) -> None:
    claude.remember("a.md", NESTED)
    run(store, claude, "desk")
    claude.remember("a.md", NESTED.replace("uv", "pip"))
    assert run(store, claude, "lap") == ImportResult(new=1)
    assert store.count() == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no front matter",
        "---\nname: a: b\ndescription: broken: yaml: here\n---\nbody",
        "---\nunclosed: true\nbody",
        "---\n- list\n---\nbody",
        "---\r\nname: crlf\r\n---\r\nbody\r\n",
        "\ufeff---\nname: bom\n---\nbody",
        "---\nmetadata: text\ntype: [x]\n---\nbody",
    ],
)
def test_any_file_content_becomes_a_note(store: MemoryStore, claude: Claude, text: str) -> None:
    claude.remember("some_file.md", text)
    assert run(store, claude) == ImportResult(new=1)
    (note,) = store.list()
    assert note.title
    assert ("body" in note.body) == ("body" in text)


def test_invalid_utf8_links_and_missing_folders_do_not_stop_an_import(store: MemoryStore, claude: Claude) -> None:
    (claude.project / "memory" / "latin.md").write_bytes(b"caf\xe9")
    (claude.project / "memory" / "link.md").symlink_to("/etc/passwd")
    (claude.project / "a.jsonl").mkdir()
    assert run(store, claude) == ImportResult(new=1)
    assert import_claude(store, claude.home / "nothing", "desk", claude.home.parent) == ImportResult()


def test_two_empty_memories_are_two_notes(store: MemoryStore, claude: Claude) -> None:
    claude.remember("a.md", "")
    claude.remember("b.md", "")
    assert run(store, claude) == ImportResult(new=2)


def test_secrets_are_not_imported_and_redaction_does_not_count_as_an_edit(store: MemoryStore, claude: Claude) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    claude.remember("a.md", f"Use {token} for the api.")
    assert run(store, claude) == ImportResult(new=1)
    assert store.list()[0].body == "Use [REDACTED:github-token] for the api."
    claude.remember("a.md", f"Use {token} for the new api.")
    assert run(store, claude) == ImportResult(updated=1)


@pytest.mark.parametrize(
    "front",
    [
        "description: &a [x, x]\n" + "".join(f"a{n}: &b{n} [{f'*b{n - 1}, ' * 9}*a]\n" for n in range(1, 12)),
        "description: " + "[" * 20_000,
        "description: " + "[" * 20_000 + "]" * 20_000,
        "description: a\ncreated: 2026-99-99\n",
        "description: &a\n  x: *a\n",
    ],
    ids=["aliases of aliases", "brackets", "closed brackets", "an invalid date", "itself"],
)
def test_malicious_or_broken_front_matter_loses_no_memory(store: MemoryStore, claude: Claude, front: str) -> None:
    claude.remember("a.md", f"---\n{front}\n---\nThe memory.\n")
    assert run(store, claude) == ImportResult(new=1)
    [note] = store.list()
    assert note.body == "The memory." and len(note.title) <= 200


def test_an_impossible_folder_in_a_transcript_is_ignored(store: MemoryStore, claude: Claude) -> None:
    claude.remember("a.md", "The memory.\n")
    (claude.project / "s.jsonl").write_bytes(b'{"cwd":"/a\\u0000b"}\n{"cwd":"\\q"}\n{"cwd":"\xff"}\n')
    assert run(store, claude) == ImportResult(new=1)


def test_a_secret_in_a_session_id_is_redacted_and_changes_are_followed(store: MemoryStore, claude: Claude) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    front = f"---\nmetadata:\n  originSessionId: {token}\n---\n"
    claude.remember("a.md", f"{front}first")
    assert run(store, claude) == ImportResult(new=1)
    assert store.list()[0].prov_session == "[REDACTED:github-token]"
    claude.remember("a.md", f"{front}second")
    assert run(store, claude) == ImportResult(updated=1)


def test_a_purged_note_is_not_imported_again_even_without_the_ledger(store: MemoryStore, claude: Claude) -> None:
    claude.remember("feedback_testing.md", NESTED)
    run(store, claude)
    purge(store, store.list()[0].id)
    assert run(store, claude) == ImportResult(left=1)
    (store.root / "imported.json").unlink()
    assert run(store, claude) == ImportResult(left=1)
    assert store.list() == []
