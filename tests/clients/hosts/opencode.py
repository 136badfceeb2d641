"""OpenCode and its fork Kilo Code."""

from __future__ import annotations

import json

from tests.clients.exchange import Call
from tests.clients.host import SUBAGENT_PROMPT, Host
from tests.clients.stage import Stage

# After a request that reports more tokens than this, the context is full.
CONTEXT = 100_000
SUBAGENT = [Call("task", {"description": "Count files", "prompt": SUBAGENT_PROMPT, "subagent_type": "general"})]


def settings(stage: Stage) -> str:
    """The user's own settings: a provider of models."""
    model = {"name": "Stand-in", "limit": {"context": CONTEXT, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{stage.url}/v1", "apiKey": "none"},
        "models": {"stand-in": model},
    }
    wanted = {"autoupdate": False, "share": "disabled", "model": "local/stand-in", "provider": {"local": provider}}
    return json.dumps(wanted, indent=2) + "\n"


def _prepare(stage: Stage) -> None:
    folder = stage.home / ".config/opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.json").write_text(settings(stage))


HOST = Host(
    name="opencode",
    variables=lambda _: {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
    prepare=_prepare,
    start=lambda _, prompt: ["opencode", "run", prompt],
    resume=lambda _, prompt: ["opencode", "run", "--continue", prompt],
    compact=lambda _: [["opencode", "run", "--continue", "Send the ledger report."]],
    compact_tokens=CONTEXT - 1_000,
    subagent=SUBAGENT,
    read_back=lambda stage: stage.run(["opencode", "mcp", "list"]).out,
)
