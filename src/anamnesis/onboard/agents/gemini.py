"""Gemini CLI and its fork Qwen Code: one settings file, hook timeouts in milliseconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import Settings
from anamnesis.onboard.hooks import COMPACT, END, PROMPT, START, On, grouped
from anamnesis.onboard.pieces import Member, Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def gemini(place: Place, program: Program) -> Agent:
    settings = place.named("GEMINI_CLI_HOME", "") / ".gemini/settings.json"
    moments = (
        replace(START, matcher="startup|resume|clear"),
        replace(PROMPT, event="BeforeAgent"),
        replace(COMPACT, event="PreCompress"),
        replace(END, seconds=10),
    )
    return Agent(
        name="gemini",
        title="Gemini CLI",
        programs=("gemini",),
        signs=(settings,),  # the folder alone may be Antigravity's
        edits=(_settings(settings, program, "gemini", *moments),),
    )


def qwen(place: Place, program: Program) -> Agent:
    folder = place.named("QWEN_HOME", ".qwen")
    return Agent(
        name="qwen",
        title="Qwen Code",
        programs=("qwen",),
        signs=(folder,),
        edits=(_settings(folder / "settings.json", program, "qwen", START, PROMPT, COMPACT, END),),
    )


def _settings(file: Path, program: Program, host: str, *moments: On) -> Settings:
    server = Server(("mcpServers", "anamnesis"), program.server())
    allowed = Member(("mcp", "allowed"), "anamnesis")
    return Settings(file, "jsonc", (server, allowed, *grouped(program, host, *moments, unit=1000)))
