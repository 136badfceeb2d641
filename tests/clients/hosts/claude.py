"""Claude Code."""

from __future__ import annotations

import json

from tests.clients.exchange import Call
from tests.clients.host import SUBAGENT_PROMPT, Host
from tests.clients.stage import Stage

_TOOLS = ("mcp__anamnesis", "Agent", "Task", "Read")

_AGENT = Call("Agent", {"description": "Count files", "prompt": SUBAGENT_PROMPT, "subagent_type": "general-purpose"})


def _variables(stage: Stage) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": stage.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }


def _prepare(stage: Stage) -> None:
    state = {"hasCompletedOnboarding": True, "numStartups": 3}
    (stage.home / ".claude.json").write_text(json.dumps(state, indent=2))
    (stage.home / ".claude").mkdir()
    (stage.home / ".claude/settings.json").write_text(json.dumps({"includeCoAuthoredBy": False}, indent=2) + "\n")


def _start(stage: Stage, prompt: str) -> list[str]:
    return ["claude", "-p", prompt, "--allowedTools", ",".join(_TOOLS)]


HOST = Host(
    name="claude",
    variables=_variables,
    prepare=_prepare,
    start=_start,
    resume=lambda stage, prompt: [*_start(stage, prompt), "--continue"],
    compact=lambda stage: [[*_start(stage, "/compact"), "--continue"]],
    subagent=[_AGENT],
    read_back=lambda stage: stage.run(["claude", "mcp", "list"]).out,
)
