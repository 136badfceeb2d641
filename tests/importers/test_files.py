"""Memories in files: markdown, rules, JSON lines. No link is followed, and unreadable files are reported."""

from __future__ import annotations

import json
import sqlite3

import pytest
from tests.importers.conftest import TOKEN, Here

from anamnesis.importers.pipeline import ImportResult

SPEC = """---
title: Search
type: spec
permalink: specs/search
tags: [ranking, words]
created: 2025-02-01T08:00:00+00:00
modified: 2025-02-03 09:00:00
custom: {a: [1, 2]}
---
# Search

- [decision] Words first #fast (measured)
- [howto] Run `make bench #not-a-tag`

- implements [[Ranking]]
"""


def test_basic_memory_keeps_permalinks_links_tags_times_and_its_own_fields(here: Here) -> None:
    here.write("notes/work/search.md", SPEC)
    config = {"projects": {"lamp": {"path": "~/notes/work"}, "gone": "/no/where"}, "default_project": "lamp"}
    here.write(".basic-memory/config.json", json.dumps(config))
    assert here.run_import("basic-memory") == ImportResult(new=1)
    note = here.notes()["Search"]
    assert note.tags == ["ranking", "words", "fast", "basic-memory"]
    assert (note.project, note.type) == ("lamp", "procedural")
    assert (note.created_at, note.updated_at) == ("2025-02-01T08:00:00+00:00", "2025-02-03T09:00:00+00:00")
    assert "- implements [[Ranking]]" in note.body
    assert 'custom: {"a": [1, 2]}\n' in note.extra["tags"] and "type: spec\n" in note.extra["tags"]
    # Moved, and on another machine: the permalink names it.
    (here.home / "notes/work/search.md").rename(here.home / "notes/work/moved.md")
    assert here.run_import("basic-memory", machine="lap").counts == {"new": 0, "updated": 1, "unchanged": 0, "left": 0}


def test_without_a_configuration_basic_memory_is_in_its_default_folder(here: Here) -> None:
    here.write("basic-memory/a/b.md", "Plain text.")
    here.write(".basic-memory/config.json", "{broken")
    assert here.run_import("basic-memory") == ImportResult(new=1)
    assert here.notes()["b"].project == "global"


def test_a_vault_is_imported_completely_and_without_files_outside(here: Here) -> None:
    here.write(
        "vault/Ideas/One idea.md", "---\naliases: [first]\ntags: idea\n---\nSee [[Two]] and ![[picture.png]] #done\n"
    )
    here.write("vault/Two.md", "# The second\n\nText.\n")
    here.write("vault/broken.md", "---\ntitle: a: b: c\n---\nKept.\n")
    here.write("vault/latin.md", b"caf\xe9")
    here.write("vault/empty.md", "")
    here.write("vault/.obsidian/plugins/readme.md", "no")
    here.write("vault/large.md", "x" * 5_000_001)
    secret = here.write("secret.md", "outside")
    (here.home / "vault" / "link.md").symlink_to(secret)
    (here.home / "vault" / "folder").symlink_to(here.home / "work")
    here.write(".config/obsidian/obsidian.json", json.dumps({"vaults": {"ab12": {"path": str(here.home / "vault")}}}))
    done = here.run_import("markdown")
    assert (done.new, done.broken) == (4, 2)
    notes = here.notes()
    assert notes.keys() == {"One idea", "The second", "a: b: c", "latin"}
    idea = notes["One idea"]
    assert idea.tags == ["idea", "done", "markdown"] and "![[picture.png]]" in idea.body
    assert 'aliases: ["first"]\n' in idea.extra["tags"] and 'path: "Ideas/One idea.md"\n' in idea.extra["tags"]
    here.write("vault/Two.md", "# The second\n\nChanged.\n")
    assert here.run_import("markdown").updated == 1


def test_relations_of_the_reference_server_become_links(here: Here) -> None:
    lines = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["writes code", f"uses {TOKEN}"]},
        {"type": "relation", "from": "Ada", "to": "The lamp", "relationType": "repairs"},
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["writes code", "is kind"]},
        {"type": "entity", "name": 7, "entityType": ["x"], "observations": "one"},
        {"type": "relation", "from": "Nobody", "to": "Ada", "relationType": "knows"},
        {"type": "relation", "to": "Ada"},
        {"type": "entity"},
    ]
    text = "\n".join([*map(json.dumps, lines), "{half", "", "[]"])
    path = here.write("memory.jsonl", text)
    here.write(".cursor/mcp.json", json.dumps({"mcpServers": {"memory": {"env": {"MEMORY_FILE_PATH": str(path)}}}}))
    done = here.run_import("mcp-memory")
    assert (done.new, done.broken) == (3, 4)
    notes = here.notes()
    ada = notes["Ada"]
    assert ada.body == "- writes code\n- uses [REDACTED:github-token]\n- is kind\n\n- repairs [[The lamp]]"
    assert ada.tags == ["person", "mcp-memory"] and notes["Nobody"].body == "- knows [[Ada]]"
    here.environ["MEMORY_FILE_PATH"] = str(path)
    assert here.found("mcp-memory") == [path]
    assert here.run_import("mcp-memory").unchanged == 3


def test_rules_of_project_and_user_are_imported_by_section(here: Here) -> None:
    (here.work / ".git").mkdir()
    rules = (
        "Preamble.\n\n# Lamp\n\n## Tests\n\nRun `make`.\n\n```sh\n# no heading\n```\n\n## Empty\n\n# Style\nShort.\n"
    )
    ours = "<!-- anamnesis: begin -->\n# Memory\nUse it.\n<!-- anamnesis: end -->\n"
    here.write("work/lamp/AGENTS.md", rules + ours)
    here.write(".claude/CLAUDE.md", "## Always\nBe brief.\n")
    project, own = sorted(here.found("rules"), key=lambda path: path.name)
    assert here.run_import("rules", project) == ImportResult(new=3)
    assert here.run_import("rules", own) == ImportResult(new=1)
    notes = here.notes()
    assert notes.keys() == {"Preamble.", "Tests", "Style", "Always"}
    assert notes["Tests"].body == "Run `make`.\n\n```sh\n# no heading\n```" and notes["Tests"].type == "procedural"
    assert (notes["Tests"].project, notes["Always"].project) == ("lamp", "global")
    assert 'section: ["Lamp"]\n' in notes["Tests"].extra["tags"]
    here.write("work/lamp/AGENTS.md", rules.replace("`make`", "`make test`"))
    assert here.run_import("rules", project, machine="lap") == ImportResult(updated=1, unchanged=2)


def test_codex_threads_are_imported_once_from_database_and_files(here: Here) -> None:
    here.write(".codex/memories/MEMORY.md", "# Lamp\n\nUse the red one.\n")
    here.write(".codex/memories/raw_memories.md", "# Thread t-1\nThe same again.\n")
    here.write(".codex/memories/rollout_summaries/2026-a.md", "thread_id: t-1\ncwd: /work/room\n\nKnown.\n")
    here.write(".codex/memories/rollout_summaries/2026-b.md", "thread_id: t-2\ncwd: /work/lamp\n\nOnly here.\n")
    here.write(".codex/memories_2.sqlite", b"no database")
    db = sqlite3.connect(here.home / ".codex/memories_1.sqlite")
    db.execute(
        "CREATE TABLE stage1_outputs (thread_id TEXT PRIMARY KEY, source_updated_at INTEGER, raw_memory TEXT,"
        " rollout_summary TEXT, rollout_slug TEXT, generated_at INTEGER, usage_count INTEGER, last_usage INTEGER)"
    )
    rows = [("t-1", 1, "Raw.", "Fixed it.", "fix-the-lamp", 1_700_000_000, 3, None), ("t-3", 1, "", None, "", 2, 0, 0)]
    db.executemany("INSERT INTO stage1_outputs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    db.commit()
    db.close()
    done = here.run_import("codex")
    assert (done.new, done.broken) == (3, 2)
    notes = here.notes()
    assert notes.keys() == {"fix the lamp", "Lamp", "2026 b"}
    thread = notes["fix the lamp"]
    assert (thread.body, thread.type, thread.prov_session) == ("Fixed it.\n\nRaw.", "episodic", "t-1")
    assert thread.created_at == "2023-11-14T22:13:20+00:00" and "usage_count: 3\n" in thread.extra["tags"]
    assert (thread.project, notes["2026 b"].project) == ("room", "lamp")


def test_each_fact_of_gemini_is_a_note(here: Here) -> None:
    here.write(
        ".gemini/GEMINI.md", "# Style\nShort.\n\n## Gemini Added Memories\n- The lamp\n  is red.\n- Ada is kind.\n"
    )
    here.write(".gemini/tmp/lamp/memory/MEMORY.md", "# Wires\nLoose.\n")
    here.write(f".gemini/tmp/{'a' * 64}/memory/MEMORY.md", "# Unknown\nText.\n")
    assert here.run_import("gemini") == ImportResult(new=5)
    notes = here.notes()
    assert notes.keys() == {"The lamp", "Ada is kind.", "Style", "Wires", "Unknown"}
    assert (notes["Wires"].project, notes["Unknown"].project, notes["Style"].project) == ("lamp", "global", "global")
    assert here.run_import("gemini") == ImportResult(unchanged=5)


def test_cursors_rules_and_clines_memory_bank_belong_to_the_project(here: Here) -> None:
    here.write(
        "work/lamp/.cursor/rules/style.mdc", "---\ndescription: Style\nglobs: *.py\nalwaysApply: true\n---\nShort.\n"
    )
    here.write("work/lamp/.cursorrules", "Old rules.\n")
    here.write("work/lamp/memory-bank/activeContext.md", "# Active context\n\nThe lamp.\n")
    assert here.run_import("cursor") == ImportResult(new=2)
    assert here.run_import("cline") == ImportResult(new=1)
    notes = here.notes()
    assert {note.project for note in notes.values()} == {"lamp"}
    assert notes["Style"].type == "procedural" and "alwaysApply" in notes["Style"].extra["tags"]
    assert notes["Active context"].type == "semantic"


def test_the_last_change_of_a_memory_in_mem0_is_imported(here: Here) -> None:
    (here.home / ".mem0").mkdir()
    db = sqlite3.connect(here.home / ".mem0/history.db")
    db.execute(
        "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,"
        " created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
    )
    rows = [
        ("1", "m1", None, "It is red", "ADD", "2025-01-01T00:00:00-08:00", None, 0, "ada", "user"),
        ("2", "m2", None, "Gone", "ADD", "2025-01-01", None, 0, None, None),
        ("3", "m1", "It is red", "It is green", "UPDATE", "2025-01-01T00:00:00-08:00", "2025-02-01", 0, "ada", None),
        ("4", "m2", "Gone", None, "DELETE", "2025-01-01", "2025-02-01", 1, None, None),
        ("5", None, None, "Whose?", "ADD", None, None, 0, None, None),
        ("6", "m3", None, b"\xff", "ADD", 7, "never", "no", None, None),
    ]
    db.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    db.commit()
    done = here.run_import("mem0")
    assert (done.new, done.broken) == (2, 1)
    note = here.notes()["It is green"]
    assert (note.created_at, note.updated_at) == ("2025-01-01T08:00:00+00:00", "2025-02-01T00:00:00+00:00")
    assert "actor_id: ada\n" in note.extra["tags"]
    db.execute("UPDATE history SET new_memory = 'It is blue' WHERE id = '3'")  # the owner can write: no lock is left
    db.commit()
    assert here.run_import("mem0").updated == 1
    db.close()


@pytest.mark.parametrize("source", ["basic-memory", "codex", "gemini", "cursor", "cline", "mem0", "rules", "markdown"])
def test_an_empty_machine_has_no_sources(here: Here, source: str) -> None:
    assert here.found(source) == []
    assert here.run_import(source, here.home / "work").counts["new"] == 0


def test_files_with_the_same_name_in_a_project_are_different_notes(here: Here) -> None:
    (here.work / ".git").mkdir()
    for folder in (".", ".claude", "parts/a", "parts/b"):
        here.write(f"work/lamp/{folder}/CLAUDE.md", f"# Build\nThat of {folder}.\n")
    places = [*here.found("rules"), here.work / "parts/a", here.work / "parts/b"]
    assert [here.run_import("rules", place) for place in places] == [ImportResult(new=1)] * 4
    assert [here.run_import("rules", place) for place in places] == [ImportResult(unchanged=1)] * 4


@pytest.mark.parametrize("has_repository", [True, False])
def test_a_rule_is_imported_once_however_its_path_is_given(here: Here, has_repository: bool) -> None:
    if has_repository:
        (here.work / ".git").mkdir()
    rule = here.write("work/lamp/.cursor/rules/style.mdc", "Short.\n")
    bank = here.write("work/lamp/memory-bank/progress.md", "# Done\nAll.\n")
    assert here.run_import("cursor").new == here.run_import("cline").new == 1
    for place in (rule.parents[1], rule.parent, rule):
        assert here.run_import("cursor", place) == ImportResult(unchanged=1)
    for place in (here.work, bank.parent, bank):
        assert here.run_import("cline", place) == ImportResult(unchanged=1)


def test_one_file_of_a_source_can_be_given(here: Here) -> None:
    handbook = here.write(".codex/memories/MEMORY.md", "# Lamp\n\nUse the red one.\n")
    assert here.run_import("codex", handbook) == ImportResult(new=1)
    assert here.run_import("codex") == ImportResult(unchanged=1)
    assert here.run_import("basic-memory", here.write("basic-memory/b.md", "Text.")) == ImportResult(new=1)


def test_a_binary_file_is_reported(here: Here) -> None:
    here.write("vault/picture.md", b"\x89PNG\0\0")
    done = here.run_import("markdown", here.home / "vault")
    assert (done.new, done.broken) == (0, 1) and done.problems[0].endswith("picture.md: It is not text.")


@pytest.mark.parametrize("source", ["mcp-memory", "jsonl"])
def test_an_overlong_line_is_reported(here: Here, source: str) -> None:
    path = here.write("lines", b"x" * ((32 << 20) + 1) + b"\n{}\n")
    done = here.run_import(source, path)
    assert done.broken == 2 and done.problems[0] == f"{path}, line 1: It is longer than 32 MB."
