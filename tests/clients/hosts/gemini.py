"""Gemini CLI."""

from __future__ import annotations

import json

from tests.clients.exchange import Call
from tests.clients.host import SUBAGENT_PROMPT, Host
from tests.clients.stage import Stage


def _variables(stage: Stage) -> dict[str, str]:
    return {"GOOGLE_GEMINI_BASE_URL": stage.url, "GEMINI_API_KEY": "none"}


def _prepare(stage: Stage) -> None:
    folder = stage.home / ".gemini"
    folder.mkdir()
    wanted = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    (folder / "settings.json").write_text(json.dumps(wanted, indent=2) + "\n")
    (folder / "trustedFolders.json").write_text(json.dumps({str(stage.project): "TRUST_FOLDER"}))


def _start(stage: Stage, prompt: str) -> list[str]:
    return ["gemini", "--yolo", "--prompt", prompt]


def _resume(stage: Stage, prompt: str) -> list[str]:
    return [*_start(stage, prompt), "--resume", "latest"]


HOST = Host(
    name="gemini",
    variables=_variables,
    prepare=_prepare,
    start=_start,
    resume=_resume,
    compact=lambda stage: [_resume(stage, "Send the ledger report.")],
    compact_tokens=900_000,
    compact_with_call=True,
    subagent=[Call("invoke_agent", {"agent_name": "generalist", "prompt": SUBAGENT_PROMPT})],
    subagent_end=lambda answer: Call("complete_task", {"result": {"response": answer}}),
    read_back=lambda stage: "{0.out}{0.err}".format(stage.run(["gemini", "mcp", "list"])),
)
