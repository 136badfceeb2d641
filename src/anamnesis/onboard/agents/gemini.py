"""Gemini CLI and its fork Qwen Code: one settings file, hook timeouts in milliseconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.hooks import COMPACT, END, PROMPT, START, TURN, grouped
from anamnesis.onboard.pieces import AllowListEntry, Piece, RetiredItem, Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def gemini(place: Place, program: Program) -> Agent:
    """Gemini CLI runs PreCompress before every request and does not wait for SessionEnd, so the end of a turn captures.

    The first prompt brings the notes of the session's start: a run without a terminal puts the output of SessionStart
    before the prompt, and drops such a prompt when the session is resumed.
    """
    settings = place.named("GEMINI_CLI_HOME", "") / ".gemini/settings.json"
    moments = (
        replace(PROMPT, event="BeforeAgent"),
        replace(TURN, event="AfterAgent"),
        replace(END, seconds=10),
    )
    former = (
        RetiredItem(("hooks", "PreCompress"), "capture"),
        RetiredItem(("hooks", "SessionStart"), "inject"),
    )
    return Agent(
        name="gemini",
        title="Gemini CLI",
        programs=("gemini",),
        signs=(settings,),  # the folder alone may be Antigravity's
        edits=(_settings(settings, program.server(), *former, *grouped(program, "gemini", *moments, unit=1000)),),
        remark="Gemini CLI starts the server and the hooks only in folders that you trust; it asks in each one.",
    )


def qwen(place: Place, program: Program) -> Agent:
    """Qwen Code reports the end of a session only with a terminal, and defers the tools of servers."""
    folder = place.named("QWEN_HOME", ".qwen")
    moments = (START, PROMPT, COMPACT, TURN, END)
    server = {**program.server(), "alwaysLoadTools": True}
    return Agent(
        name="qwen",
        title="Qwen Code",
        programs=("qwen",),
        signs=(folder,),
        edits=(_settings(folder / "settings.json", server, *grouped(program, "qwen", *moments, unit=1000)),),
    )


def _settings(file: Path, server: dict[str, Any], *hooks: Piece) -> SettingsEdit:
    allowed = AllowListEntry(("mcp", "allowed"), "anamnesis")
    return SettingsEdit(file, "jsonc", (Server(("mcpServers", "anamnesis"), server), allowed, *hooks))
