"""The verbs beyond the recordings: arguments as in Go's loops, messages, exit codes, answers to questions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.engram_cli.program import Program

from anamnesis.engram.gotext import indented
from anamnesis.engram_cli import VERBS


@pytest.fixture
def engram(tmp_path: Path) -> Program:
    return Program(tmp_path)


def test_without_a_command_engram_prints_its_usage_and_fails(engram: Program) -> None:
    done = engram()
    assert (done.code, done.err) == (1, "")
    assert all(f"\n  {name}" in done.out for name in VERBS)
    for word in ("help", "--help", "-h"):
        assert engram(word) == type(done)(0, done.out, "")


def test_an_unknown_command_is_named(engram: Program) -> None:
    done = engram("frobnicate")
    assert (done.code, done.err.strip()) == (1, "unknown command: frobnicate")
    assert "Usage: engram" in done.out


@pytest.mark.parametrize("word", ["version", "--version", "-v"])
def test_the_version_is_that_of_the_dialect(engram: Program, word: str) -> None:
    assert engram(word).out == "engram 0.1.0\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search"], "usage: engram search <query> "),
        (["search", "--limit", "5"], "error: search query is required"),
        (["search", "--limit"], "error: search query is required"),
        (["save"], "usage: engram save <title> <content> "),
        (["save", "only"], "usage: engram save <title> <content> "),
        (["timeline"], "usage: engram timeline <observation_id> [--before N] [--after N]"),
        (["timeline", "1_0"], 'error: invalid observation id "1_0"'),
        (["timeline", "9999999999999999999999"], 'error: invalid observation id "9999999999999999999999"'),
        (["timeline", "-4"], "engram: timeline: observation #-4 not found: sql: no rows in result set"),
        (["import"], "usage: engram import <file.json>"),
        (["import", "missing.json"], "engram: read missing.json: No such file or directory"),
        (["export", "no/such/folder.json"], "engram: open no/such/folder.json: No such file or directory"),
        (["projects", "frobnicate"], "unknown projects subcommand: frobnicate\nusage: engram projects list\n"),
        (["obsidian-export"], "error: flag --vault is required"),
        (["obsidian-export", "--frob"], "engram: unknown flag: --frob"),
        (["obsidian-export", "--vault", "v", "--interval", "5m"], "error: --interval requires --watch"),
        (["obsidian-export", "--vault", "v", "--watch", "--interval", "5s"], "error: --interval must be at least 1m"),
        (["obsidian-export", "--vault", "v", "--watch", "--interval", "soon"], "error: invalid --interval value"),
        (["obsidian-export", "--vault", "v", "--since", "tomorrow"], 'error: invalid --since value "tomorrow"'),
        (["obsidian-export", "--vault", "v", "--graph-config", "x"], "error: invalid --graph-config value: x"),
    ],
)
def test_wrong_usage_is_one_message_and_code_1(engram: Program, arguments: list[str], message: str) -> None:
    done = engram(*arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(message)


def test_every_word_that_is_not_a_flag_belongs_to_the_query(engram: Program) -> None:
    engram("save", "Deploy", "blue and green", "--type", "decision", "--project", "Shop", "--scope", "personal")
    for arguments in (
        ["blue", "green"],
        ["blue", "--limit", "x", "green"],
        ["--scope", "personal", "blue", "--project", "SHOP", "green", "--limit"],
    ):
        assert engram("search", *arguments).out.startswith("Found 1 memories:\n\n[1] #1 (decision) — Deploy\n")
    assert engram("search", "blue", "--frob").out == 'No memories found for: "blue --frob"\n'
    assert engram("search", "blue", "--type", "bugfix").out == 'No memories found for: "blue"\n'
    assert engram("search", 'say "hi"\n').out == 'No memories found for: "say \\"hi\\"\\n"\n'


def test_a_title_is_the_first_word_whatever_it_is(engram: Program) -> None:
    assert engram("save", "--type", "content").out == 'Memory saved: #1 "--type" (manual)\n'
    assert engram("save", "", "").out == 'Memory saved: #2 "" (manual)\n'
    assert engram("save", "T", "c", "--type").out == 'Memory saved: #3 "T" (manual)\n'


def test_an_invalid_byte_is_quoted_as_in_go(engram: Program) -> None:
    assert engram("save", b"caf\xe9", "c").out == 'Memory saved: #1 "caf\\xe9" (manual)\n'
    assert "— caf\ufffd\n" in engram("search", "c").out


def test_the_context_of_one_project_and_of_all(engram: Program) -> None:
    assert engram("context").out == "No previous session memories found.\n"
    engram("save", "A", "about a", "--project", "Alpha")
    engram("save", "B", "about b", "--project", "beta", "--scope", "personal")
    assert engram("context", "ALPHA").out == engram("context", "--project", "alpha").out
    assert "**B**" not in engram("context", "alpha").out
    everything = engram("context").out
    assert "**A**" in everything
    assert "**B**" in everything
    assert "**A**" not in engram("context", "--scope", "personal").out


def test_an_empty_memory_is_counted(engram: Program) -> None:
    assert engram("stats").out == (
        "Engram Memory Stats\n  Sessions:     0\n  Observations: 0\n  Prompts:      0\n  Projects:     none yet\n"
        f"  Database:     {engram.home}/engram/engram.db\n"
    )
    assert engram("projects").out == engram("projects", "list").out == "No projects found.\n"
    assert engram("projects", "prune").out == "No empty projects to prune.\n"
    assert engram("projects", "consolidate", "--all").out == "No similar project name groups found.\n"


def test_an_export_that_is_imported_again_adds_nothing(engram: Program) -> None:
    engram("save", "A & <b>", "x\u2028y", "--project", "p")
    assert engram("export").out.startswith("Exported to engram-export.json\n")
    written = (engram.folder / "engram-export.json").read_bytes()
    assert rb"A \u0026 \u003cb\u003e" in written
    assert rb"x\u2028y" in written
    assert indented(written) == written
    back = engram("import", "engram-export.json")
    assert back.out == "Imported from engram-export.json\n  Sessions:     0\n  Observations: 0\n  Prompts:      0\n"
    assert engram("export", "/dev/stdout").out.startswith('{\n  "version": "0.1.0",\n')
    (engram.folder / "broken.json").write_text("{")
    assert engram("import", "broken.json").err.startswith("engram: parse broken.json: ")


def test_memories_travel_in_git(engram: Program, tmp_path: Path) -> None:
    engram("save", "A", "a", "--project", "proj")
    engram("save", "B", "b", "--project", "else")
    assert engram("sync").out.startswith('Exporting memories for project "proj"...\nCreated chunk ')
    there = {"ENGRAM_DATA_DIR": str(tmp_path / "there"), "ANAMNESIS_HOME": str(tmp_path / "there")}
    assert engram("sync", "--status", **there).out.endswith("Remote chunks:   1\n  Pending import:  1\n")
    assert engram("sync", "--import", **there).out == (
        "Imported 1 new chunk(s) from .engram/\n  Sessions:     1\n  Observations: 1\n  Prompts:      0\n"
    )
    shown = engram("search", "a", **there).out
    assert "— [foreign: imported from tester, not reviewed by the user] A\n    > a\n" in shown
    (engram.folder / ".engram" / "manifest.json").write_text("<<<<<<< HEAD\n")
    done = engram("sync", "--import")
    assert (done.code, done.out) == (1, "")
    assert "manifest.json cannot be read" in done.err


def test_an_unreadable_chunk_is_reported_and_the_rest_is_imported(engram: Program) -> None:
    engram("save", "A", "a", "--project", "proj")
    engram("sync")
    manifest = engram.folder / ".engram" / "manifest.json"
    content = json.loads(manifest.read_text())
    content["chunks"].insert(0, {**content["chunks"][0], "id": "deadbeef"})
    manifest.write_text(json.dumps(content))
    (engram.folder / ".engram" / "chunks" / "deadbeef.jsonl.gz").write_bytes(b"broken")
    done = engram("sync", "--import", ENGRAM_DATA_DIR=str(engram.home / "there"))
    assert done.code == 1
    assert done.out.startswith("Imported 1 new chunk(s)")
    assert done.err.startswith("engram: chunk deadbeef: ")


def fill(engram: Program) -> None:
    for title, project in (("A", "proj"), ("B", "proj2"), ("C", "Proj_x"), ("D", "zebra")):
        engram("save", title, title, "--project", project)


def test_projects_that_are_called_like_this_folder_are_merged_into_it(engram: Program) -> None:
    fill(engram)
    dry = engram("projects", "consolidate", "--dry-run").out
    assert dry.startswith('Detected project: "proj"\n\nFound similar project names:\n')
    assert "  [1] proj2                            1 obs  (substring)\n" in dry
    assert dry.endswith('\n[dry-run] Would merge 2 project(s) into "proj"\n')
    assert engram("projects", "consolidate", stdin="none\n").out.endswith("Cancelled.\n")
    assert engram("projects", "consolidate").out.endswith("Cancelled.\n")
    wrong = engram("projects", "consolidate", stdin="1,9\n")
    assert (wrong.code, wrong.err) == (0, 'Invalid selection: "9" (expected 1-2)\n')
    done = engram("projects", "consolidate", stdin="ALL\n").out
    assert done.endswith('Done! Merged into "proj":\n  Observations: 2\n  Sessions:     2\n  Prompts:      0\n')
    assert engram("projects", "list").out.startswith(
        "Projects (2):\n  proj                              3 obs     3 sessions"
    )


def test_groups_of_projects_are_merged_one_by_one(engram: Program) -> None:
    fill(engram)
    asked = engram("projects", "consolidate", "--all", stdin="skip\n").out
    assert asked.startswith("Found 1 group(s) of similar project names:\n\nGroup 1:\n  → [1] proj  ")
    assert asked.endswith("  Choice:   Skipped.\n\n")
    assert engram("projects", "consolidate", "--all", stdin="1\n").out.endswith("  Nothing to merge.\n\n")
    assert engram("projects", "consolidate", "--all", stdin="9\n").err == '  Invalid selection: "9" (expected 1-3)\n'
    assert engram("projects", "consolidate", "--all", stdin="2\n").out.endswith(
        "  Merged: 1 obs, 1 sessions, 0 prompts\n\n"
    )
    assert engram("projects", "consolidate", "--all", stdin="rename\nFinal\n").out.endswith(
        "  Merged: 3 obs, 3 sessions, 0 prompts\n\n"
    )
    assert "  final                             3 obs" in engram("projects").out


def test_projects_without_memories_are_pruned(engram: Program) -> None:
    with engram.mcp("--tools=all") as tools:
        tools.text("mem_session_start", id="one", project="empty")
        tools.text("mem_session_start", id="two", project="void")
    assert engram("projects", "prune", stdin="n\n").out.endswith("Cancelled.\n")
    assert engram("projects", "prune", stdin="2\n").out.endswith(
        "Pruned 1 project(s): 1 sessions, 0 prompts removed.\n"
    )
    assert engram("projects", "prune", stdin="all\n").out.endswith(
        "Pruned 1 project(s): 1 sessions, 0 prompts removed.\n"
    )
    assert engram("projects").out == "No projects found.\n"


def test_a_vault_is_written(engram: Program) -> None:
    engram("save", "Deploy by tag", "how", "--project", "shop", "--type", "decision", "--topic", "ops/deploy")
    assert engram("obsidian-export", "--vault", "vault").out == (
        "Obsidian export complete\n  Created: 1\n  Updated: 0\n  Deleted: 0\n  Skipped: 0\n  Hubs:    1\n"
    )
    assert (engram.folder / "vault/engram/shop/decision/deploy-by-tag-1.md").exists()
    again = engram("obsidian-export", "--vault", "vault", "--force", "--project", "SHOP", "--since", "2025-01-01")
    assert "  Created: 0\n  Updated: 0\n  Deleted: 0\n  Skipped: 1\n" in again.out


def test_setup_of_an_unknown_agent_fails_with_a_message(engram: Program) -> None:
    done = engram("setup", "no-such-agent")
    assert done.code
    assert done.err
    assert "Traceback" not in done.err


def test_the_data_folder_follows_the_variable_then_engrams_folder_then_ours(engram: Program) -> None:
    """ENGRAM_DATA_DIR, else Engram's own folder if there is one, else that of Anamnesis."""
    assert f"{engram.home}/anamnesis/engram.db" in engram("stats", ENGRAM_DATA_DIR="").out
    (engram.home / ".engram").mkdir()
    assert f"{engram.home}/.engram/engram.db" in engram("stats", ENGRAM_DATA_DIR="").out
    relative = engram("stats", ENGRAM_DATA_DIR="relative")
    assert (relative.code, relative.out) == (1, "")
    assert "is not an absolute path" in relative.err


def test_a_file_that_is_not_a_database_is_reported_in_a_sentence(engram: Program) -> None:
    (engram.home / "engram").mkdir()
    (engram.home / "engram" / "engram.db").write_text("this is no database, whatever its name says" * 100)
    for arguments in (["stats"], ["mcp"], ["search", "x"]):
        done = engram(*arguments)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("engram: ")
        assert "Traceback" not in done.err


def test_the_program_is_engram_by_its_name_or_by_its_first_word(engram: Program, tmp_path: Path) -> None:
    copy = tmp_path / "copied" / "engram"
    copy.parent.mkdir()
    shutil.copy(engram.path.resolve(), copy)
    ways: list[list[str | Path]] = [
        [copy],
        [engram.path.resolve(), "engram"],
        [sys.executable, "-m", "anamnesis", "engram"],
    ]
    for way in ways:
        done = subprocess.run([*way, "version"], env=engram.variables, capture_output=True, text=True, check=True)
        assert done.stdout == "engram 0.1.0\n"


def test_the_other_command_line_lists_the_verbs(engram: Program) -> None:
    program = engram.path.resolve()
    for arguments in (["engram"], ["engram", "--help"]):
        done = subprocess.run([program, *arguments], env=engram.variables, capture_output=True, text=True, check=False)
        assert all(f"  {name} " in done.stdout + done.stderr for name in VERBS)


def test_a_closed_pipe_ends_a_verb_quietly(engram: Program) -> None:
    for number in range(20):
        engram("save", f"T{number}", "word " * 9000)
    process = subprocess.Popen(
        [engram.path, "context"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=engram.variables,
    )
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert process.wait(30) == 1
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_closed_pipe_ends_the_help_quietly(engram: Program) -> None:
    done = subprocess.run(
        ["bash", "-c", "engram | head -0; echo ${PIPESTATUS[0]}"],
        env=engram.variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_verb_imports_no_library_of_the_other_command_line(engram: Program) -> None:
    heavy = {"click", "rich", "yaml", "mcp", "pydantic", "starlette", "asyncio", "subprocess"}
    for arguments in (["search", "x"], ["mcp"], ["stats"], ["sync", "--status"]):
        script = (
            f"import sys\nsys.argv = ['engram', *{arguments!r}]\nfrom anamnesis.entry import main\n"
            "try:\n    main()\nexcept SystemExit:\n    pass\nprint(' '.join(sys.modules), file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            stdin=subprocess.DEVNULL,
            env={**engram.variables, "PATH": os.environ["PATH"]},
            cwd=engram.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        assert set(done.stderr.split()) & heavy == set()
        # An agent that starts `mcp` waits for the list of tools, and notes come with the first call of one.
        assert ("anamnesis.store" in done.stderr.split()) == (arguments != ["mcp"])


def document(*rows: tuple[str, str, str]) -> str:
    """An export of observations: each a sync id, a text, and the day of its last change."""
    observations = [
        {
            "id": number, "sync_id": sync_id, "session_id": "s", "type": "manual", "title": text, "content": text,
            "project": "p", "created_at": "2026-01-01 00:00:00", "updated_at": f"2026-01-{day} 00:00:00",
        }
        for number, (sync_id, text, day) in enumerate(rows, start=1)
    ]  # fmt: skip
    session = {"id": "s", "project": "p", "directory": "", "started_at": "2026-01-01 00:00:00"}
    return json.dumps({"sessions": [session], "observations": observations, "prompts": []})


def test_an_import_names_what_is_newer_or_deleted_here_and_not_what_is_the_same(engram: Program) -> None:
    given = engram.folder / "given.json"
    for rows in ([("obs-1", "old", "01"), ("obs-2", "new", "03"), ("obs-3", "same", "01")], [("obs-1", "newer", "02")]):
        given.write_text(document(*rows))
        assert engram("import", "given.json").err == ""
    given.write_text(document(("obs-1", "old", "01"), ("obs-2", "before", "02"), ("obs-3", "same", "01")))
    done = engram("import", "given.json")
    assert done.err == (
        'Not imported, as it is newer or deleted here: 2 observations\n  obs-1 "old"\n  obs-2 "before"\n'
    )
    assert "  Observations: 0\n" in done.out
    assert engram("search", "newer").out.startswith("Found 1 memories")


def test_of_observations_that_share_a_sync_id_each_is_imported_once(engram: Program) -> None:
    given = engram.folder / "given.json"
    given.write_text(document(("obs-1", "original", "01"), ("obs-1", "copied", "05"), ("obs-1", "original", "01")))
    for imported in (2, 0):
        done = engram("import", "given.json")
        assert (f"  Observations: {imported}\n" in done.out, done.err) == (True, "")
    engram("export", "all.json")
    rows = json.loads((engram.folder / "all.json").read_text())["observations"]
    assert sorted(row["title"] for row in rows) == ["copied", "original"]
    assert {row["sync_id"] for row in rows if row["title"] == "original"} == {"obs-1"}
