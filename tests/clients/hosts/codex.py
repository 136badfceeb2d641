"""Codex CLI."""

from __future__ import annotations

import json
from typing import Any

from tests.clients.exchange import Call
from tests.clients.host import SUBAGENT_PROMPT, Host
from tests.clients.stage import Stage

_CONFIG = """\
model = "stand-in"
model_provider = "local"  # a proxy of the company
approval_policy = "never"
check_for_update_on_startup = false

[model_providers.local]
name = "local"
base_url = "{url}/v1"
env_key = "STAND_IN_KEY"
wire_api = "responses"

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false
plugin_discovery_prefetch = false

[projects."{project}"]
trust_level = "trusted"
"""


def _variables(_: Stage) -> dict[str, str]:
    return {"STAND_IN_KEY": "none"}


def _prepare(stage: Stage) -> None:
    (stage.home / ".codex").mkdir()
    (stage.home / ".codex/config.toml").write_text(_CONFIG.format(url=stage.url, project=stage.project))


def _start(_: Stage, prompt: str) -> list[str]:
    return ["codex", "exec", prompt]


def _resume(_: Stage, prompt: str) -> list[str]:
    return ["codex", "exec", "resume", "--last", prompt]


def _compact(stage: Stage) -> list[list[str]]:
    """It compacts before the next prompt if the last answer reported more than the limit."""
    limit = ["-c", "model_auto_compact_token_limit=2000"]
    return [[*_resume(stage, "Go on with the ledger report."), *limit] for _ in range(2)]


def _waiting(started: str) -> dict[str, Any]:
    return {"targets": [json.loads(started)["agent_id"]], "timeout_ms": 60_000}


HOST = Host(
    name="codex",
    variables=_variables,
    prepare=_prepare,
    start=_start,
    resume=_resume,
    compact=_compact,
    compact_tokens=5000,
    subagent=[Call("spawn_agent", {"message": SUBAGENT_PROMPT}), Call("wait_agent", _waiting)],
    read_back=lambda stage: stage.run(["codex", "mcp", "list"]).out,
)
