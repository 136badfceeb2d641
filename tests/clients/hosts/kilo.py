"""Kilo Code's command line, a fork of OpenCode."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.hosts.opencode import CONTEXT, SUBAGENT, settings
from tests.clients.stage import Stage


def _prepare(stage: Stage) -> None:
    folder = stage.home / ".config/kilo"
    folder.mkdir(parents=True)
    (folder / "kilo.jsonc").write_text(f"// the stand-in of the company\n{settings(stage)}")


HOST = Host(
    name="kilo",
    variables=lambda _: {
        "KILO_DISABLE_AUTOUPDATE": "1",
        "KILO_DISABLE_MODELS_FETCH": "1",
        "KILO_TELEMETRY_LEVEL": "off",
    },
    prepare=_prepare,
    start=lambda _, prompt: ["kilo", "run", "--auto", prompt],
    resume=lambda _, prompt: ["kilo", "run", "--auto", "--continue", prompt],
    compact=lambda _: [["kilo", "run", "--auto", "--continue", "Send the ledger report."]],
    compact_tokens=CONTEXT - 1_000,
    subagent=SUBAGENT,
    read_back=lambda stage: stage.run(["kilo", "mcp", "list"]).out,
)
