"""A session's transcript is found by the session's id, where the agent keeps it, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from anamnesis.capture import find_transcript

ID = "7e0f5a1c-22d4-4b7e-9d5a-1c2b3d4e5f60"
# Created on 2026-05-05 at 10:28:34 UTC, by its first digits.
ROLLOUT = "019df7ae-b036-76c2-a499-fe10385d955a"
NAME = f"rollout-2026-05-05T18-28-34-{ROLLOUT}.jsonl"

PLACES = [
    ("claude", ID, f".claude/projects/-w-app/{ID}.jsonl", "CLAUDE_CONFIG_DIR"),
    ("codex", ROLLOUT, f".codex/sessions/2026/05/05/{NAME}", "CODEX_HOME"),
    ("codex", ROLLOUT, f".codex/sessions/2026/05/06/{NAME}", "CODEX_HOME"),
    ("codex", ROLLOUT, f".codex/sessions/2026/05/04/{NAME}.zst", "CODEX_HOME"),
    ("codex", ROLLOUT, f".codex/archived_sessions/{NAME}", "CODEX_HOME"),
    ("codex", ID, f".codex/sessions/2025/06/01/rollout-2025-06-01T10-00-00-{ID}.jsonl", "CODEX_HOME"),
    ("copilot", ID, f".copilot/session-state/{ID}/events.jsonl", "COPILOT_HOME"),
    ("cursor", ID, f".cursor/projects/w-app/agent-transcripts/{ID}/{ID}.jsonl", "CURSOR_CONFIG_DIR"),
    ("droid", ID, f".factory/sessions/-w-app/{ID}.jsonl", ""),
    ("droid", ID, f".factory/sessions/{ID}.jsonl", ""),
    ("gemini", ID, ".gemini/tmp/app/chats/session-2026-08-01T10-00-7e0f5a1c.jsonl", "GEMINI_CLI_HOME"),
    ("cline", ID, f".cline/data/sessions/{ID}/{ID}.messages.json", "CLINE_DIR"),
    ("grok", ID, f".grok/sessions/%2Fw%2Fapp/{ID}/updates.jsonl", "GROK_HOME"),
    ("kimi", f"session_{ID}", f".kimi-code/sessions/wd_app_1/session_{ID}/agents/main/wire.jsonl", "KIMI_CODE_HOME"),
    ("kimi", ID, f".kimi/sessions/0a0b/{ID}/wire.jsonl", "KIMI_SHARE_DIR"),
    ("kiro", ID, f".kiro/sessions/cli/{ID}.jsonl", "KIRO_HOME"),
    ("qwen", ID, f".qwen/projects/-w-app/chats/{ID}.jsonl", "QWEN_HOME"),
    ("windsurf", ID, f".windsurf/transcripts/{ID}.jsonl", ""),
    ("antigravity", ID, f".gemini/antigravity-cli/brain/{ID}/.system_generated/logs/transcript.jsonl", ""),
]


def lay(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    return path


@pytest.mark.parametrize(("host", "session", "place", "variable"), PLACES)
def test_it_is_found_where_the_agent_stores_it(
    tmp_path: Path, host: str, session: str, place: str, variable: str
) -> None:
    assert find_transcript(host, session, tmp_path, {}) is None
    path = lay(tmp_path / place)
    lay(path.parent.parent / "other" / path.name.replace(session[:8], "ffffffff"))
    assert find_transcript(host, session, tmp_path, {}) == path
    assert find_transcript(host, "ffffffff-0000-7000-8000-000000000000", tmp_path, {}) is None


@pytest.mark.parametrize(("host", "session", "place", "variable"), [case for case in PLACES if case[3]])
def test_a_variable_moves_the_agents_folder(tmp_path: Path, host: str, session: str, place: str, variable: str) -> None:
    rest = place.partition("/")[2]
    moved = tmp_path / "moved"
    path = lay(moved / place if host == "gemini" else moved / rest)
    lay(tmp_path / "home" / place)
    assert find_transcript(host, session, tmp_path / "home", {variable: str(moved)}) == path
    assert find_transcript(host, session, tmp_path, {variable: "~/moved"}) == path


def test_an_empty_variable_is_ignored(tmp_path: Path) -> None:
    path = lay(tmp_path / PLACES[6][2])
    assert find_transcript("copilot", ID, tmp_path, {"COPILOT_HOME": ""}) == path


def test_the_full_log_is_preferred_to_the_shortened_one(tmp_path: Path) -> None:
    logs = tmp_path / ".gemini/antigravity/brain" / ID / ".system_generated/logs"
    lay(logs / "transcript.jsonl")
    path = lay(logs / "transcript_full.jsonl")
    assert find_transcript("antigravity", ID, tmp_path, {}) == path


@pytest.mark.parametrize(
    "session", ["", ".", "..", "../x", "a/b", "a\\b", "*", "a*", "[a]", "a\0b", "a b", "/etc/passwd"]
)
@pytest.mark.parametrize("host", sorted({case[0] for case in PLACES}))
def test_an_id_is_never_a_path_or_a_pattern(tmp_path: Path, host: str, session: str) -> None:
    for _, id, place, _ in PLACES:
        lay(tmp_path / place)
        lay(tmp_path / place.replace(id, "x"))
    assert find_transcript(host, session, tmp_path, {}) is None


def test_an_unknown_agent_has_no_place(tmp_path: Path) -> None:
    assert find_transcript("zed", ID, tmp_path, {}) is None


def test_a_folder_with_the_name_is_not_a_transcript(tmp_path: Path) -> None:
    (tmp_path / PLACES[6][2]).mkdir(parents=True)
    assert find_transcript("copilot", ID, tmp_path, {}) is None
