"""No text of a note, a file name or a database controls the terminal, whichever command prints it."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from tests.cli.command import Command
from tests.engram_cli.program import Program

from anamnesis.cli import COMMANDS, LazyGroup
from anamnesis.engram import database
from anamnesis.engram_cli import VERBS
from anamnesis.notes import Memory

# Colour, screen, cursor, title, clipboard, hyperlink, 8-bit controls, line overwriting, backspace, bidi, tags.
ESCAPES = {
    "sgr": "\x1b[35mPWN",
    "clear": "\x1b[2JPWN",
    "clipboard": "\x1b]52;c;UFdO\x07",
    "title": "\x1b]0;PWN\x07",
    "link": "\x1b]8;;http://pwn.example\x1b\\PWN\x1b]8;;\x1b\\",
    "csi8": "\x9b35mPWN",
    "osc8": "\x9d52;c;UFdO\x9c",
    "overwrite": "good\rPWN",
    "backspace": "good\x08\x08\x08\x08PWN",
    "override": "\u202ePWN\u202c",
    "isolate": "\u2067PWN\u2069",
    "tags": "\U000e0050\U000e0057",
    "markup": "[link=http://pwn.example]PWN[/link] [blink]PWN[/blink]",
}
HOSTILE = " ".join(ESCAPES.values())
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]")
# What rich writes by itself: colours, and a progress bar that draws over its own line.
OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A|\r(?=\x1b\[)")
NAME = HOSTILE.replace("/", "_")
NOTE = "01J00000000000000000000000"
DELETED = "01J00000000000000000000002"

# A line per command, most with a case for each way it prints; every command and verb must have one.
CASES: list[list[str]] = [
    ["status"],
    ["status", "--json"],
    ["search", "PWN"],
    ["search", "PWN", "--long"],
    ["search", "PWN", "--json"],
    ["search", "PWN", "--explain"],
    ["tui", HOSTILE],
    ["pick", HOSTILE],
    ["list"],
    ["list", "--long"],
    ["list", "--since", HOSTILE],
    ["list", "--json"],
    ["list", "--project", HOSTILE],
    ["show", NOTE],
    ["show", NOTE, "--json"],
    ["show", HOSTILE],
    ["related", NOTE],
    ["related", NOTE, "--json"],
    ["related", HOSTILE],
    ["history", NOTE],
    ["history", NOTE, "--json"],
    ["history", NOTE, "--restore", "1"],
    ["write", HOSTILE, HOSTILE],
    ["write", HOSTILE, HOSTILE, "--json"],
    ["write", "t", "b", "--supersedes", HOSTILE],
    ["reflect", "--dry-run"],
    ["reflect"],
    ["reflect", "--json"],
    ["reflect", "--project", HOSTILE],
    ["dream", "--dry-run"],
    ["dream", "--dry-run", "--json"],
    ["dream"],
    ["dream", "status"],
    ["dream", "log"],
    ["dream", "show", HOSTILE],
    ["dream", "undo", HOSTILE],
    ["dream", "scan"],
    ["dream", "scan", "--json"],
    ["dream", "classify"],
    ["dream", "classify", "--json"],
    ["dream", "place"],
    ["dream", "prune"],
    ["dream", "gate", HOSTILE, HOSTILE],
    ["dream", "gate", "--log"],
    ["dream", "gate", "--log", "--json"],
    ["dream", "audit"],
    ["dream", "audit", NOTE, "--json"],
    ["dream", "audit", HOSTILE],
    ["edit", NOTE],
    ["edit", HOSTILE],
    ["tag", NOTE, "x"],
    ["tag", NOTE, HOSTILE],
    ["tag", NOTE, "x", "--json"],
    ["untag", NOTE, HOSTILE],
    ["move", NOTE, "-t", "procedural"],
    ["move", NOTE, "--project", HOSTILE],
    ["pin", NOTE],
    ["pin", HOSTILE],
    ["unpin", NOTE],
    ["delete", NOTE],
    ["delete", NOTE, "--json"],
    ["delete", HOSTILE],
    ["delete", NOTE, "--purge", "--yes"],
    ["delete", HOSTILE, "--purge"],
    ["restore"],
    ["restore", "--json"],
    ["restore", DELETED],
    ["restore", HOSTILE],
    ["sync"],
    ["sync", "--json"],
    ["conflicts"],
    ["conflicts", "--json"],
    ["conflicts", HOSTILE],
    ["project"],
    ["project", "show"],
    ["project", "trust"],
    ["project", "untrust"],
    ["review"],
    ["review", "--json"],
    ["review", "--all", "--accept"],
    ["review", HOSTILE, "--reject"],
    ["bridge", "status"],
    ["bridge", "reconcile", "--all"],
    ["import", "claude"],
    ["import", "claude", "--from", HOSTILE],
    ["import", "markdown", "."],
    ["export", "jsonl", HOSTILE],
    ["backup", HOSTILE],
    ["backup", "restore", HOSTILE],
    ["reindex"],
    ["reindex", "--json"],
    ["eval", "build"],
    ["eval", "build", "--json"],
    ["eval", "run", "cases.jsonl", "--mode", "words"],
    ["eval", "run", "cases.jsonl", "--mode", "words", "--json"],
    ["eval", "run", HOSTILE],
    ["eval", "run", "--locomo", HOSTILE],
    ["eval", "compare", "hostile.json", "hostile.json"],
    ["eval", "compare", HOSTILE, HOSTILE],
    ["doctor"],
    ["doctor", "--json"],
    ["doctor", "--fix"],
    ["config"],
    ["config", "list"],
    ["config", "get", "machine_id"],
    ["config", "get", HOSTILE],
    ["config", "set", "machine_id", HOSTILE],
    ["config", "unset", "machine_id"],
    ["service", "status"],
    ["service", "uninstall"],
    ["service", "install", "--print"],
    ["service", HOSTILE],
    ["login", HOSTILE],
    ["login", f"https://{HOSTILE}"],
    ["logout"],
    ["space"],
    ["space", "--json"],
    ["space", "accept", HOSTILE],
    ["space", "decline", HOSTILE],
    ["space", "share", HOSTILE],
    ["space", "share", "--space", HOSTILE],
    ["space", "keep", HOSTILE],
    ["hub", HOSTILE],
    ["hub", "init", "--database", HOSTILE],
    ["hub", "migrate", "--database", HOSTILE],
    ["hub", "doctor", "--database", HOSTILE],
    ["hub", "new-history", "--database", HOSTILE],
    ["hub", "serve", "--database", HOSTILE],
    ["hub", "user", "add", HOSTILE, "--database", HOSTILE],
    ["hub", "space", "add", HOSTILE, "--database", HOSTILE],
    ["hub", "token", "create", HOSTILE, "--database", HOSTILE],
    ["hub", "device", "approve", HOSTILE, "--user", HOSTILE, "--database", HOSTILE],
    ["hub", "audit", "--database", HOSTILE],
    ["hub", "backup", NAME, "--database", HOSTILE],
    ["hub", "restore", NAME, "--database", HOSTILE],
    ["hub", "export", HOSTILE, "--database", HOSTILE],
    ["hub", "erase", "note", HOSTILE, HOSTILE, "--database", HOSTILE],
    ["completion", "bash"],
    ["completion", HOSTILE],
    ["init", "--print", "--yes"],
    ["init", "--agent", HOSTILE],
    ["uninstall", "--print"],
    ["serve", HOSTILE],
    ["daemon", "status"],
    ["daemon", "stop"],
    ["daemon", "--host", HOSTILE],
    ["inject"],
    ["inject", HOSTILE],
    ["recall"],
    ["capture", "--transcript", HOSTILE, "--no-sync"],
    ["engram", HOSTILE],
    [HOSTILE],
]
VERB_CASES: list[list[str]] = [
    ["search", "PWN"],
    ["search", f"nothing {HOSTILE}"],
    ["save", HOSTILE, HOSTILE],
    ["save", HOSTILE, HOSTILE, "--type", HOSTILE, "--project", HOSTILE],
    ["timeline", "1"],
    ["timeline", HOSTILE],
    ["context"],
    ["context", HOSTILE],
    ["stats"],
    ["export", "out.json"],
    ["export", f"{HOSTILE}/out.json"],
    ["import", HOSTILE],
    ["import", "hostile.json"],
    ["sync"],
    ["sync", "--all"],
    ["sync", "--import"],
    ["sync", "--status"],
    ["projects"],
    ["projects", "list"],
    ["projects", "consolidate", "--dry-run"],
    ["projects", "consolidate", "--all", "--dry-run"],
    ["projects", "prune", "--dry-run"],
    ["projects", HOSTILE],
    ["obsidian-export", "--vault", "vault"],
    ["obsidian-export", HOSTILE],
    ["obsidian-export", "--vault", f"out.json/{HOSTILE}"],
    ["setup", HOSTILE],
    ["tui", HOSTILE],
    ["serve", HOSTILE],
    ["mcp", "--tools", HOSTILE],
    ["version"],
    [HOSTILE],
]


def test_every_command_and_verb_has_a_case() -> None:
    assert {case[0] for case in CASES} >= set(COMMANDS)
    assert {case[0] for case in VERB_CASES} >= set(VERBS)
    for name in COMMANDS:
        command = LazyGroup.load(name)
        if isinstance(command, click.Group) and name != "engram":
            names = set(command.list_commands(click.Context(command)))
            assert names <= {case[1] for case in CASES if case[0] == name and len(case) > 1}, name


@pytest.fixture(scope="module")
def hostile_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which every text that somebody else may have written contains terminal escapes."""
    command = Command(tmp_path_factory.mktemp("hostile"))
    names = ("title", "body", "project", "machine_id", "prov_model", "prov_session")
    texts: dict[str, Any] = dict.fromkeys(names, HOSTILE)
    with command.store() as store:
        for number in range(5):
            extra = {"updated_at": f"conflict_of: {NOTE}\n"} if number == 1 else {}
            tags = [HOSTILE, "conflict"] if number == 1 else [HOSTILE]
            note = Memory(NOTE[:-1] + str(number), "semantic", tags=tags, extra=extra, **texts)
            store.put(replace(note, created_at=HOSTILE, updated_at=f"{HOSTILE}{number}", body=f"{HOSTILE}\n{number}"))
        store.delete(DELETED)
        stated = {**texts, "body": f"**Decisions:**\n- We decided to use Redis {HOSTILE} as the broker"}
        store.put(Memory(NOTE[:-1] + "7", "episodic", prov_source="session-end", **stated))
    file = next(command.home.rglob(f"{NOTE[:-1]}3.md"))
    file.write_text(re.sub("created_at: .*", "created_at: [/b]", file.read_text()))
    for name in (f"{NAME}.md", os.fsdecode(b"caf\xe9\x9b2J.md")):
        file.with_name(name).write_text(f"---\n{HOSTILE}: [\n---\n", errors="surrogateescape")
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=command.home / "memory", check=True)
    author = ["-c", f"user.name={HOSTILE}", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "add", "-A"], cwd=command.home / "memory", check=True)
    subprocess.run(["git", *author, "commit", "-qm", HOSTILE], cwd=command.home / "memory", check=True)
    home = Path(command.variables["HOME"])
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(
        json.dumps({"env": {HOSTILE: HOSTILE}}, indent=2, ensure_ascii=False)
    )
    (home / ".claude.json").write_text(f"{{ {HOSTILE}")
    fill(home / ".engram" / "engram.db")
    return command.folder


def fill(path: Path) -> None:
    """Rows in which every text contains terminal escapes."""
    database.prepare(path)
    rows = {
        "sessions": "id project directory started_at ended_at summary",
        "observations": "sync_id session_id type title content tool_name project scope topic_key created_at updated_at",
        "user_prompts": "sync_id session_id content project created_at",
    }
    with closing(sqlite3.connect(path)) as db, db:
        for table, columns in rows.items():
            for number in range(2):
                values = [
                    f"{HOSTILE}{number}" if name in ("sync_id", "topic_key") else HOSTILE for name in columns.split()
                ]
                marks = ", ".join("?" * len(values))
                db.execute(f"INSERT OR IGNORE INTO {table} ({', '.join(columns.split())}) VALUES ({marks})", values)


@pytest.fixture
def hostile(hostile_home: Path, tmp_path: Path) -> Command:
    command = Command(tmp_path)
    shutil.copytree(hostile_home, tmp_path, dirs_exist_ok=True)
    case = {"query": f"PWN {HOSTILE}", "relevant_ids": [NOTE], "kind": HOSTILE}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n" + json.dumps({**case, "kind": "other"}))
    outcome = {"query": HOSTILE, "kind": HOSTILE, "relevant": 1, "ranks": [1], "shown": 1, "tokens": 1}
    (tmp_path / "hostile.json").write_text(json.dumps({"outcomes": [{**outcome, "milliseconds": 1.0}]}))
    command.variables |= {
        "ANAMNESIS_MACHINE_ID": HOSTILE,
        "ANAMNESIS_GIT_REMOTE": f"/nowhere/{NAME}",
        "EDITOR": "true",
        "ENGRAM_PORT": "0",
    }
    return command


@pytest.mark.parametrize(
    "name", ["list", "search PWN", f"show {NOTE}", f"history {NOTE}", "conflicts", "restore", "doctor"]
)
def test_the_hostile_home_is_read_and_its_harmless_part_is_printed(hostile: Command, name: str) -> None:
    """Otherwise the tests below would prove nothing."""
    assert "PWN" in hostile(*name.split()).out
    assert "PWN" in hostile.on_terminal(*name.split())


def commanding(shown: str) -> list[str]:
    """The control characters of an output that are not ours."""
    return FORBIDDEN.findall(shown)


@pytest.mark.parametrize("arguments", CASES, ids=lambda case: " ".join(case).replace(HOSTILE, "HOSTILE"))
def test_no_command_prints_terminal_escapes(hostile: Command, arguments: list[str]) -> None:
    done = hostile(*arguments)
    assert commanding(done.out) == []
    assert commanding(done.err) == []
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "arguments",
    [case for case in CASES if HOSTILE not in case and "--json" not in case and case[0] != "capture"],
    ids=" ".join,
)
def test_on_a_terminal_only_our_own_colours_are_commands(hostile: Command, arguments: list[str]) -> None:
    shown = hostile.on_terminal(*arguments, NO_PAGER="1")
    assert "\x1b[35m" not in shown
    assert "\x1b[5m" not in shown
    assert commanding(OURS.sub("", shown)) == []
    assert "Traceback" not in shown


@pytest.mark.parametrize("arguments", VERB_CASES, ids=lambda case: " ".join(case).replace(HOSTILE, "HOSTILE"))
def test_no_verb_of_engram_prints_terminal_escapes(tmp_path: Path, arguments: list[str]) -> None:
    engram = Program(tmp_path)
    folder = tmp_path / NAME
    fill(folder / "engram.db")
    if arguments[0] == "serve":  # which would wait for requests
        (folder / "engram.db").write_text("no database")
    (engram.folder / "hostile.json").write_text(f'{{"version": "{NAME}')
    done = engram(*arguments, ENGRAM_DATA_DIR=str(folder), ENGRAM_PORT="0")
    assert commanding(done.out) == []
    assert commanding(done.err) == []
    assert "Traceback" not in done.err


def test_ordinary_titles_look_as_they_were_written(anamnesis: Command) -> None:
    """Emoji of several characters, letters of both directions, and brackets that are not markup."""
    title = "👨‍👩‍👧 ❤️‍🔥 שלום عالم می‌خواهم [bold]x[/bold] [/x] :smile:"
    note_id = anamnesis("write", title, "body").out.strip()
    assert anamnesis("list").out.strip().endswith(title)
    assert title in anamnesis("show", note_id).out
    assert anamnesis("show", note_id, "--json").json["title"] == title
    assert title in anamnesis("show", note_id, "--json").out
    assert "[/x] :smile:" in anamnesis.on_terminal("list")
    assert f"({title})" in anamnesis("delete", note_id).out


def test_json_is_the_note_to_the_last_character(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        note = store.write(type="semantic", title="t", body=HOSTILE)
    done = anamnesis("show", note.id, "--json")
    assert done.json["body"] == HOSTILE
    assert commanding(done.out) == []


def test_a_file_that_is_shown_in_a_pipe_keeps_its_lines(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        note = store.write(type="semantic", title="t", body="one\n\ttwo\x9b2J\nthree")
    assert anamnesis("show", note.id).out.endswith("\none\n\ttwo2J\nthree\n")


def test_the_editor_gets_the_unchanged_file(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        note = store.write(type="semantic", title="t", body=HOSTILE)
    anamnesis(
        "edit",
        note.id,
        EDITOR=f"{sys.executable} -c \"open('seen', 'wb').write(open(__import__('sys').argv[1], 'rb').read())\"",
    )
    assert HOSTILE.encode() in (anamnesis.folder / "seen").read_bytes().replace(b"\r\n", b"\n")
