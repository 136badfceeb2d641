"""GitHub Copilot CLI, with a model of the user's own."""

from __future__ import annotations

from tests.clients.exchange import Call
from tests.clients.host import SUBAGENT_PROMPT, Host
from tests.clients.stage import Stage

_TASK = {"name": "count", "description": "Count files", "prompt": SUBAGENT_PROMPT, "agent_type": "general-purpose"}


def _variables(stage: Stage) -> dict[str, str]:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{stage.url}/v1",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "stand-in",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "100000",
    }


def _prepare(stage: Stage) -> None:
    (stage.home / ".copilot").mkdir()
    (stage.home / ".copilot/config.json").write_text("{}\n")


def _start(stage: Stage, prompt: str) -> list[str]:
    return ["copilot", "-p", prompt, "--allow-all-tools", "--disable-client-telemetry"]


HOST = Host(
    name="copilot",
    variables=_variables,
    prepare=_prepare,
    start=_start,
    resume=lambda stage, prompt: [*_start(stage, prompt), "--continue"],
    compact=lambda stage: [[*_start(stage, "/compact"), "--continue"]],
    subagent=[Call("task", _TASK)],
    read_back=lambda stage: stage.run(["copilot", "mcp", "list"]).out,
)
