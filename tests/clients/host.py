"""The declaration of a client: everything that differs between clients, and nothing else.

`hosts/NAME.py` has one `HOST = Host(...)`; the module of Claude Code is the example. The functions get the `Stage`, of
which they need `home`, `project`, `url` (the stand-in's address, without a path) and `run`:

- `name`: as `anamnesis init` names the client; also the name of its table in versions.toml, if a registry has it.
- `variables`: the environment that points the client at the stand-in and turns telemetry and updates off.
- `prepare`: writes the settings that a user of this client has before `anamnesis init`: a way to log in, a trusted
  folder.
- `start(stage, prompt)`: the command of a new headless session that may use the memory's tools without asking.
  None if no session can be played; `lacks` then has the reason under "sessions".
- `resume(stage, prompt)`: the command that continues the last session.
- `compact(stage)`: the commands that compact the last session. For a client that only compacts when its context is
  full, `compact_tokens` is the size that the stand-in reports for each request; if it checks the size only between two
  requests of a turn, `compact_with_call` makes the model call a tool first.
- `subagent`: the calls with which the model starts a subagent and waits for it; its prompt is SUBAGENT_PROMPT.
  `subagent_end` is the call with which a subagent answers, if it does not answer with a text.
- `read_back(stage)`: what the client's own program reports about its MCP servers after `init`, such as the output of
  `mcp list`; it must name `anamnesis`. A check against a published schema may be used instead: it raises `Failed`.
- `allow(stage)`: the manual steps that the client requires after `init`.
- `lacks`: for each scene that the client does not offer (a name of `scenes.SCENES`), the reason. It is not played.
- `adds_context`: False if no hook can add context. `init` then adds a line to its instructions; the requests must
  contain the line instead of notes, and the model has to search.
- `interrupt`: the signal with which a user interrupts it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.clients.exchange import Call
from tests.clients.stage import Stage

# The first request of a subagent contains it.
SUBAGENT_PROMPT = "Count the files of the project and answer with one sentence about the palimpsest."

Words = Sequence[str]


class Failed(Exception):
    """A scene failed; the message is the reason."""


def nothing(stage: Stage) -> None:
    """Nothing is needed."""


def no_variables(stage: Stage) -> Mapping[str, str]:
    """No variables are needed."""
    return {}


@dataclass(frozen=True, slots=True)
class Host:
    """One client."""

    name: str
    variables: Callable[[Stage], Mapping[str, str]] = no_variables
    prepare: Callable[[Stage], None] = nothing
    start: Callable[[Stage, str], Words] | None = None
    resume: Callable[[Stage, str], Words] | None = None
    compact: Callable[[Stage], Sequence[Words]] | None = None
    compact_tokens: int = 100
    compact_with_call: bool = False
    subagent: Sequence[Call] = ()
    subagent_end: Callable[[str], Call] | None = None
    read_back: Callable[[Stage], str] | None = None
    allow: Callable[[Stage], None] = nothing
    lacks: Mapping[str, str] = field(default_factory=dict)
    adds_context: bool = True
    interrupt: signal.Signals = signal.SIGINT
