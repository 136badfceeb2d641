"""Grok, with a model of the user's own."""

from __future__ import annotations

from tests.clients.exchange import Call
from tests.clients.host import SUBAGENT_PROMPT, Host
from tests.clients.stage import Stage


def _variables(stage: Stage) -> dict[str, str]:
    return {"STAND_IN_KEY": "none", "GROK_HOME": str(stage.home / ".grok"), "GROK_TELEMETRY_ENABLED": "false"}


def _prepare(stage: Stage) -> None:
    (stage.home / ".grok").mkdir()
    (stage.home / ".grok/config.toml").write_text(
        f"""[models]
default = "stand-in"

[model.stand-in]
model = "stand-in"
name = "stand-in"
base_url = "{stage.url}/v1"
env_key = "STAND_IN_KEY"
api_backend = "chat_completions"
context_window = 100000
"""
    )


def _start(stage: Stage, prompt: str) -> list[str]:
    return ["grok", "-p", prompt, "--always-approve"]


HOST = Host(
    name="grok",
    variables=_variables,
    prepare=_prepare,
    start=_start,
    resume=lambda stage, prompt: [*_start(stage, prompt), "--continue"],
    compact=lambda stage: [[*_start(stage, "/compact"), "--continue"]],
    subagent=[Call("spawn_subagent", {"description": "Count", "prompt": SUBAGENT_PROMPT, "background": False})],
    read_back=lambda stage: stage.run(["grok", "mcp", "list"]).out,
    adds_context=False,
)
