"""The known agents, one declaration each: where their settings are, in which format, and what we add."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.agents.amp import amp
from anamnesis.onboard.agents.antigravity import antigravity
from anamnesis.onboard.agents.claude import claude
from anamnesis.onboard.agents.cline import cline, roo
from anamnesis.onboard.agents.codex import codex
from anamnesis.onboard.agents.continue_ import continue_
from anamnesis.onboard.agents.copilot import copilot, vscode
from anamnesis.onboard.agents.crush import crush
from anamnesis.onboard.agents.cursor import cursor
from anamnesis.onboard.agents.desktop import desktop
from anamnesis.onboard.agents.droid import droid
from anamnesis.onboard.agents.gemini import gemini, qwen
from anamnesis.onboard.agents.goose import goose
from anamnesis.onboard.agents.grok import grok
from anamnesis.onboard.agents.kimi import kimi
from anamnesis.onboard.agents.kiro import kiro
from anamnesis.onboard.agents.opencode import kilo, opencode
from anamnesis.onboard.agents.windsurf import windsurf
from anamnesis.onboard.agents.zed import zed
from anamnesis.onboard.edits import Launcher
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program

AGENTS: dict[str, Callable[[Place, Program], Agent]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "cursor": cursor,
    "vscode": vscode,
    "copilot": copilot,
    "windsurf": windsurf,
    "zed": zed,
    "qwen": qwen,
    "cline": cline,
    "kiro": kiro,
    "amp": amp,
    "goose": goose,
    "crush": crush,
    "roo": roo,
    "kilo": kilo,
    "continue": continue_,
    "droid": droid,
    "antigravity": antigravity,
    "kimi": kimi,
    "grok": grok,
    "claude-desktop": desktop,
}


def all_agents(place: Place, program: Program) -> list[Agent]:
    """Every agent as declared for a machine, with an edit for the launcher if the program is one."""
    launcher = (Launcher(Path(program.words[0]), program.runs),) if program.runs else ()
    agents = [declare(place, program) for declare in AGENTS.values()]
    return [replace(agent, edits=(*launcher, *agent.edits)) if agent.edits else agent for agent in agents]
