"""Finds the transcript of a session whose hook event names only its id."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

# For each agent: variables that override its folder, the default folder, and the pattern of a transcript in it.
_PLACES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "claude": (("CLAUDE_CONFIG_DIR", ".claude", "projects/*/{id}.jsonl"),),
    "cline": (
        ("CLINE_DIR", ".cline", "data/sessions/{id}/{id}.messages.json"),
        ("CLINE_DATA_DIR", ".cline/data", "sessions/{id}/{id}.messages.json"),
    ),
    "copilot": (("COPILOT_HOME", ".copilot", "session-state/{id}/events.jsonl"),),
    "cursor": (("CURSOR_CONFIG_DIR", ".cursor", "projects/*/agent-transcripts/{id}/{id}.jsonl"),),
    "droid": (("", ".factory", "sessions/*/{id}.jsonl"), ("", ".factory", "sessions/{id}.jsonl")),
    "grok": (("GROK_HOME", ".grok", "sessions/*/{id}/updates.jsonl"),),
    "kimi": (
        ("KIMI_CODE_HOME", ".kimi-code", "sessions/*/{id}/agents/main/wire.jsonl"),
        ("KIMI_SHARE_DIR", ".kimi", "sessions/*/{id}/wire.jsonl"),
    ),
    "kiro": (("KIRO_HOME", ".kiro", "sessions/cli/{id}.jsonl"),),
    "qwen": (("QWEN_RUNTIME_DIR QWEN_HOME", ".qwen", "projects/*/chats/{id}.jsonl"),),
    "windsurf": (("", ".windsurf", "transcripts/{id}.jsonl"),),
    "antigravity": tuple(
        ("", f".gemini/{folder}/brain", "{id}/.system_generated/logs/" + name)
        for folder in ("antigravity-cli", "antigravity", "antigravity-ide")
        for name in ("transcript_full.jsonl", "transcript.jsonl")
    ),
}
# Agents with a database: its folder under XDG_DATA_HOME, and the variable that names another file.
_DATABASES = {"opencode": ("opencode", "OPENCODE_DB"), "kilo": ("kilo", "KILO_DB")}
# The id comes from another program: it must not be a path.
_ID = re.compile(r"\w[\w.-]{0,127}")
# A version 7 UUID begins with the milliseconds since 1970, which begin with 0 for the next centuries.
_UUID7 = re.compile(r"(0[0-9a-f]{7})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def find_transcript(host: str, session_id: str, home: Path, environ: Mapping[str, str]) -> Path | None:
    """The transcript of a session of `host`; None if there is none or its place is unknown."""
    if not _ID.fullmatch(session_id):
        return None
    if host == "codex":
        found = _rollouts(_folder("CODEX_HOME", ".codex", home, environ), session_id)
    elif host == "gemini":
        found = _chats(home, environ, session_id)
    elif host in _DATABASES:
        return _stored(host, home, environ, session_id)
    else:
        found = (
            path
            for variables, default, pattern in _PLACES.get(host, ())
            for path in _folder(variables, default, home, environ).glob(pattern.format(id=session_id))
        )
    return next((path for path in found if path.is_file()), None)


def _folder(variables: str, default: str, home: Path, environ: Mapping[str, str]) -> Path:
    """The folder named by the first variable that is set, else the default; under home unless absolute."""
    named = next((value for name in variables.split() if (value := environ.get(name))), default)
    return home / named.removeprefix("~/")


def _rollouts(codex: Path, session_id: str) -> Iterator[Path]:
    """The files of a Codex session. Folders are local dates, and the id gives the date in UTC: three days are tried."""
    folders = [codex / "archived_sessions"]
    if created := _UUID7.fullmatch(session_id):
        start = datetime.fromtimestamp(int(created[1] + created[2], 16) / 1000, UTC)
        folders[:0] = [codex / "sessions" / f"{start + timedelta(days):%Y/%m/%d}" for days in (0, -1, 1)]
    else:
        folders[:0] = sorted((codex / "sessions").glob("*/*/*"), reverse=True)
    for folder in folders:
        for suffix in (".jsonl", ".jsonl.zst"):
            yield from folder.glob(f"rollout-*-{session_id}{suffix}")


def _chats(home: Path, environ: Mapping[str, str], session_id: str) -> Iterator[Path]:
    """The files of a Gemini CLI session, named by the beginning of its id. The variable is the parent of `.gemini`."""
    tmp = home / environ.get("GEMINI_CLI_HOME", "").removeprefix("~/") / ".gemini/tmp"
    yield from sorted(tmp.glob(f"*/chats/session-*-{session_id[:8]}.json*"), reverse=True)


def _stored(host: str, home: Path, environ: Mapping[str, str], session_id: str) -> Path | None:
    """A session in a database. Each release channel has its own database, so all are searched."""
    from anamnesis.capture.opencode_database import SUFFIX, has_session

    name, variable = _DATABASES[host]
    data = _folder("XDG_DATA_HOME", ".local/share", home, environ) / name
    named = [data / environ[variable]] if environ.get(variable) else []
    found = (path for path in (*named, *sorted(data.glob(f"*{SUFFIX}"))) if has_session(path, session_id))
    return next((path / session_id for path in found), None)
