"""Continue's command line."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.stage import Stage

_NO_HOOKS = "it declares hooks but runs none"


def _variables(stage: Stage) -> dict[str, str]:
    return {"CONTINUE_TELEMETRY_ENABLED": "0", "CONTINUE_METRICS_ENABLED": "0", "CONTINUE_USE_BEDROCK": "false"}


def _prepare(stage: Stage) -> None:
    (stage.home / ".continue").mkdir()
    (stage.home / ".continue/config.yaml").write_text(
        f"""name: Local Config
version: 1.0.0
schema: v1
models:
  - name: stand-in
    provider: openai
    model: stand-in
    apiBase: {stage.url}/v1
    apiKey: none
    roles:
      - chat
"""
    )


def _start(stage: Stage, prompt: str) -> list[str]:
    config = str(stage.home / ".continue/config.yaml")
    return ["cn", "-p", prompt, "--auto", "--beta-subagent-tool", "--config", config]


HOST = Host(
    name="continue",
    variables=_variables,
    prepare=_prepare,
    start=_start,
    resume=lambda stage, prompt: [*_start(stage, prompt), "--resume"],
    adds_context=False,
    lacks={
        "read back": "it has no command that lists its servers; the tools are offered in the session",
        "capture": _NO_HOOKS,
        "next session": _NO_HOOKS,
        "compaction": "a run without a terminal cannot be told to compact",
        "subagent": "it starts only subagents that a model of the settings is assigned to",
    },
)
