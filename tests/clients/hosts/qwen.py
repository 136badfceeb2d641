"""Qwen Code."""

from __future__ import annotations

import json

from tests.clients.exchange import Call
from tests.clients.host import SUBAGENT_PROMPT, Host
from tests.clients.stage import Stage


def _variables(stage: Stage) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{stage.url}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "stand-in"}


def _prepare(stage: Stage) -> None:
    folder = stage.home / ".qwen"
    folder.mkdir()
    wanted = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    (folder / "settings.json").write_text(json.dumps(wanted, indent=2) + "\n")


def _start(stage: Stage, prompt: str) -> list[str]:
    return ["qwen", "--yolo", "--prompt", prompt]


def _resume(stage: Stage, prompt: str) -> list[str]:
    return [*_start(stage, prompt), "--continue"]


HOST = Host(
    name="qwen",
    variables=_variables,
    prepare=_prepare,
    start=_start,
    resume=_resume,
    compact=lambda stage: [_resume(stage, "Send the ledger report."), _resume(stage, "/compress")],
    compact_tokens=100_000,  # it does not summarise a short session
    subagent=[
        Call("agent", {"description": "Count files", "prompt": SUBAGENT_PROMPT, "subagent_type": "general-purpose"})
    ],
    read_back=lambda stage: stage.run(["qwen", "mcp", "list"]).out,
)
