"""Codex CLI."""

from __future__ import annotations

from tests.clients.exchange import Call
from tests.clients.host import SUBAGENT_PROMPT, Host
from tests.clients.stage import Stage


def _variables(stage: Stage) -> dict[str, str]:
    return {"STAND_IN_KEY": "none"}


def _prepare(stage: Stage) -> None:
    folder = stage.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f"""model = "stand-in"
model_provider = "local"  # a proxy of the company
approval_policy = "never"
check_for_update_on_startup = false

[model_providers.local]
name = "local"
base_url = "{stage.url}/v1"
env_key = "STAND_IN_KEY"
wire_api = "responses"

[analytics]
enabled = false

[projects."{stage.project}"]
trust_level = "trusted"
"""
    )


HOST = Host(
    name="codex",
    variables=_variables,
    prepare=_prepare,
    start=lambda stage, prompt: ["codex", "exec", prompt],
    resume=lambda stage, prompt: ["codex", "exec", "resume", "--last", prompt],
    subagent=Call("spawn_agent", {"message": SUBAGENT_PROMPT}),
    read_back=lambda stage: stage.run(["codex", "mcp", "list"]).out,
    lacks={"compaction": "later"},
)
