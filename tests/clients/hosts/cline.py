"""Cline's command line. It skips plugins that take more than four seconds to start, as on a busy machine."""

from __future__ import annotations

from tests.clients.exchange import Call
from tests.clients.host import SUBAGENT_PROMPT, Host
from tests.clients.stage import Stage


def _prepare(stage: Stage) -> None:
    provider = ["--provider", "openai", "--apikey", "none", "--modelid", "stand-in", "--baseurl", f"{stage.url}/v1"]
    stage.run(["cline", "auth", *provider])


def _start(stage: Stage, prompt: str) -> list[str]:
    return ["cline", "--auto-approve", "true", prompt]


HOST = Host(
    name="cline",
    variables=lambda _: {"CLINE_TELEMETRY_DISABLED": "1", "CLINE_NO_AUTO_UPDATE": "1"},
    prepare=_prepare,
    start=_start,
    subagent=[Call("spawn_agent", {"systemPrompt": "You count files.", "task": SUBAGENT_PROMPT})],
    lacks={
        "read back": "it has no command that lists its servers; the tools are offered in the session",
        "resume": "only its own interface resumes a session",
        "compaction": "only its own interface compacts a session on demand",
    },
)
