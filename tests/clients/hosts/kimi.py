"""Kimi Code."""

from __future__ import annotations

from tests.clients.exchange import Call
from tests.clients.host import SUBAGENT_PROMPT, Failed, Host
from tests.clients.stage import Stage


def _prepare(stage: Stage) -> None:
    (stage.home / ".kimi-code").mkdir()
    (stage.home / ".kimi-code/config.toml").write_text(
        f"""default_model = "stand-in"
telemetry = false

[providers.local]
type = "openai"
base_url = "{stage.url}/v1"
api_key = "none"

[models.stand-in]
provider = "local"
model = "stand-in"
max_context_size = 100000
"""
    )


def _start(stage: Stage, prompt: str) -> list[str]:
    return ["kimi", "-p", prompt]


def _read_back(stage: Stage) -> str:
    """It lists servers only in its own interface; its check of the settings covers our hooks."""
    checked = stage.run(["kimi", "doctor"])
    if checked.status:
        raise Failed(checked.last_words)
    return (stage.home / ".kimi-code/config.toml").read_text()


HOST = Host(
    name="kimi",
    prepare=_prepare,
    variables=lambda _: {"KIMI_CODE_NO_AUTO_UPDATE": "1", "KIMI_DISABLE_TELEMETRY": "1"},
    start=_start,
    resume=lambda _, prompt: ["kimi", "--continue", "-p", prompt],
    compact=lambda _: [["kimi", "--continue", "-p", "Go on with the ledger report."]],
    compact_tokens=99_000,
    subagent=[Call("Agent", {"description": "Count files", "prompt": SUBAGENT_PROMPT, "subagent_type": "coder"})],
    read_back=_read_back,
)
