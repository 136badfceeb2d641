"""Factory Droid, with a model of the user's own. It starts with any key, which only its own models need."""

from __future__ import annotations

import json

from tests.clients.host import Host
from tests.clients.stage import Stage

_MODEL = "custom:stand-in-0"


def _variables(stage: Stage) -> dict[str, str]:
    return {
        "FACTORY_API_KEY": "none",
        "FACTORY_DROID_AUTO_UPDATE_ENABLED": "false",
        "FACTORY_TELEMETRY_DISABLED": "1",
        "FACTORY_STATE_FOLDER": str(stage.home / ".factory"),
    }


def _prepare(stage: Stage) -> None:
    model = {
        "model": "stand-in",
        "id": _MODEL,
        "index": 0,
        "displayName": "stand-in",
        "baseUrl": f"{stage.url}/v1",
        "apiKey": "none",
        "provider": "generic-chat-completion-api",
        "maxOutputTokens": 4000,
    }
    (stage.home / ".factory").mkdir()
    (stage.home / ".factory/settings.json").write_text(json.dumps({"customModels": [model]}, indent=2) + "\n")


def _start(stage: Stage, prompt: str) -> list[str]:
    return ["droid", "exec", "--auto", "high", "-m", _MODEL, prompt]


def _resume(stage: Stage, prompt: str) -> list[str]:
    files = (stage.home / ".factory/sessions").glob("*/*.jsonl")
    newest = max(files, key=lambda path: path.stat().st_mtime)
    return [*_start(stage, prompt), "--session-id", newest.stem]


HOST = Host(
    name="droid",
    variables=_variables,
    prepare=_prepare,
    start=_start,
    resume=_resume,
    read_back=lambda stage: stage.run(["droid", "mcp", "list"]).out,
    lacks={
        "compaction": "a run without a terminal cannot be told to compact",
        "subagent": "its daemon, which runs them, wants the vendor's login",
    },
)
