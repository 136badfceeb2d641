"""Writes the reference pages from the code: `make docs`. A test fails when they are not what this writes."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click
from starlette.routing import Route

from anamnesis.cli import anamnesis
from anamnesis.cli.help import help_of
from anamnesis.config import ENGRAM_VARIABLES, HOME_VARIABLE, HUB_VARIABLES, SETTINGS, read_settings
from anamnesis.hub import app
from anamnesis.hub.changes import MOST_PULLED
from anamnesis.hub.incoming import MOST_CHANGES, MOST_NOTE_BYTES
from anamnesis.hub.limits import DEFAULT_RATE
from anamnesis.hub.routes import MOST_BODY_BYTES
from anamnesis.hub.ui import keeping, reading
from anamnesis.mcp import engram, memory
from anamnesis.mcp.answer import BUDGET, KEYS
from anamnesis.mcp.engram.tool import EngramMemory
from anamnesis.onboard.agents import all_agents
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program
from anamnesis.store import MemoryStore

DOCS = Path(__file__).parent
LAST_RUN = DOCS.parent / "tests/clients/last-run.json"


SCENES = {
    "init": "`anamnesis init` finds the agent in a fresh home and sets it up.",
    "read back": "The agent's own program lists the server, or its settings fit its published schema.",
    "injection": "A note is in the first request, through the hook at the start or at the prompt.",
    "tools": "The model calls `memory_search` and `memory_write`, and both answer; no tool is offered twice.",
    "capture": "After the session, exactly one note is about it, with its substance.",
    "next session": "The note about the first session is in the first request of a second one.",
    "resume": "A resumed session continues, and its note is updated.",
    "compaction": "A compacted session keeps its one note, and its notes are injected again.",
    "interruption": "One session is interrupted and another killed in the middle of an answer; the next one works.",
    "subagent": "A subagent's prompt is not taken for the user's: one note, about what the user asked.",
    "doctor": "`anamnesis doctor` finds nothing.",
    "uninstall": "`anamnesis uninstall` restores every file; one that the agent rewrote since has nothing of ours.",
}


def pages() -> dict[Path, str]:
    """Every generated page with its text."""
    return {
        DOCS / "agents.md": agents_page(json.loads(LAST_RUN.read_text("utf-8"))),
        DOCS / "cli.md": _cli(),
        DOCS / "configuration.md": _configuration(),
        DOCS / "hub-api.md": _hub_api(),
        DOCS / "mcp-tools.md": _mcp_tools(),
        DOCS / "anamnesis.1": _man_page(),
    }


def agents_page(run: dict[str, Any]) -> str:
    """The last run of `make clients`; agents that it did not play have an empty row."""
    titles = {agent.name: agent.title for agent in all_agents(Place("linux", DOCS, {}), Program(("anamnesis",)))}
    scenes = list(max((client["scenes"] for client in run.values()), key=len))
    head = ["agent", "version", "date", *scenes]
    parts = [
        "# Agents",
        "Generated from the last run of `make clients` by `make docs`. It installs the agents' own programs from the"
        " package registries and plays each in a fresh home, against a stand-in model on loopback"
        " ([why and how](decisions/real-clients.md)). A scene is judged by the requests that the model received and by"
        " the files on disk.",
        "✓ works · – not offered by the agent, or not playable, for the reason below · ✗ fails. An agent without marks"
        " was not played.",
        _table(head, ([title, *_marks(run.get(name), scenes)] for name, title in titles.items())),
        _table(["scene", "what is played"], ([name, SCENES[name]] for name in scenes)),
        "## Reasons and remarks",
        *(_reasons(title, run[name]) for name, title in titles.items() if name in run),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _marks(client: dict[str, Any] | None, scenes: list[str]) -> list[str]:
    if client is None:
        return [""] * (len(scenes) + 2)
    return [client["version"], client["date"], *(client["scenes"].get(name, [""])[0] for name in scenes)]


def _reasons(title: str, client: dict[str, Any]) -> str:
    """The reasons of an agent, each with the scenes it holds for; "" if there is none."""
    given: dict[str, list[str]] = {}
    for name, (mark, *reason) in client["scenes"].items():
        if reason:
            given.setdefault(f"{mark} {reason[0]}", []).append(name)
    package = f" ({client['package']})" if client["package"] else ""
    lines = [f"- {', '.join(names)}: {text}" for text, names in given.items()]
    return "\n".join([f"### {title}{package}", "", *lines]) if lines else ""


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _root() -> click.Context:
    return anamnesis.make_context("anamnesis", [], resilient_parsing=True, terminal_width=100)


def _man_page() -> str:
    """The manual of the command: what --help says of each command, in the form of man(7)."""
    parts = [
        '.TH ANAMNESIS 1 "" "" "Anamnesis"',
        ".SH NAME\nanamnesis \\- one memory for every coding agent",
        ".SH SYNOPSIS\n.B anamnesis\n[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]",
        f".SH DESCRIPTION\n{_roff(cleandoc(anamnesis.help or ''))}",
        ".SH COMMANDS",
        *(f".SS {_roff(name)}\n.nf\n{_roff(text)}\n.fi" for name, text in _helps(anamnesis, _root())),
        ".SH ENVIRONMENT",
        *(f".TP\n.B {name}\n{_roff(purpose)}" for name, purpose in _variables().items()),
        ".SH FILES\n.TP\n.I ~/.anamnesis\nThe notes, the index and the settings.",
        ".SH EXIT STATUS\n0 done, 1 refused or failed, 2 wrong usage.",
    ]
    return "\n".join(parts) + "\n"


def _variables() -> dict[str, str]:
    ours = {each.variable: each.purpose for each in SETTINGS}
    return {HOME_VARIABLE: "Where the notes are.", **ours, **HUB_VARIABLES}


def _roff(text: str) -> str:
    """A text that man(7) shows as it is: it takes a line that begins with a dot or a quote for a request."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def _cli() -> str:
    parts = [
        "# Command line",
        "Generated from the code by `make docs`.",
        "Results go to stdout, messages to stderr. Exit codes: 0 done, 1 refused or failed, 2 wrong usage.",
        "On a terminal, results are drawn; in a pipe, they are lines with columns separated by tabs.",
        *(part for name, text in _helps(anamnesis, _root()) for part in (f"## {name}", f"```text\n{text}\n```")),
    ]
    return "\n\n".join(parts) + "\n"


def _helps(group: click.Group, context: click.Context) -> Iterator[tuple[str, str]]:
    """Every command with its help."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        yield inner.command_path, help_of(inner)
        if isinstance(command, click.Group):
            yield from _helps(command, inner)


def _configuration() -> str:
    rows = [f"| | `{HOME_VARIABLE}` | Where the notes are. | `~/.anamnesis` |"]
    rows += [f"| `{each.name}` | `{each.variable}` | {each.purpose} | {each.default} |" for each in SETTINGS]
    return "\n".join(
        [
            "# Configuration",
            "",
            "Generated from the code by `make docs`.",
            "",
            "A setting comes from its environment variable, else from `config.json` in the store's root,",
            "else from its default. `anamnesis config list` shows what is in force and where it comes from;",
            "`anamnesis config set NAME VALUE` writes `config.json` (mode 0600). It stays on this machine.",
            "A program reads its settings when it starts: restart the daemon and running agents after a change.",
            "A key that is no setting has no effect, which every command says in one line; one that looks like a",
            "mistyped `token` counts as a broken file, as a daemon without it would let everybody in.",
            "While `config.json` is broken, no daemon starts and nothing is synced; other commands use defaults and",
            "say so.",
            "",
            "| in config.json | variable | purpose | default |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            "A hub is reached through the HTTP proxy in `HTTPS_PROXY` or `HTTP_PROXY`, unless `NO_PROXY` names its",
            "host, domain or network. This machine itself is always reached directly.",
            "",
            "These variables hold for Engram's dialect and are never kept in `config.json`:",
            "",
            "| variable | purpose |",
            "| --- | --- |",
            *(f"| `{name}` | {purpose} |" for name, purpose in ENGRAM_VARIABLES.items()),
            "",
            "These are for `anamnesis hub`, on the server of a hub:",
            "",
            "| variable | purpose |",
            "| --- | --- |",
            *(f"| `{name}` | {purpose} |" for name, purpose in HUB_VARIABLES.items()),
            "",
        ]
    )


def _mcp_tools() -> str:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(folder) as store:
        tools = [tool.declaration() for tool in memory.tools(lambda: store, read_settings({}, Path(folder)))]
        prompts = [prompt.declaration() for prompt in memory.prompts(lambda: store)]
    parts = [
        "# MCP tools",
        "Generated from the code by `make docs`. Served by `anamnesis serve` on standard input and output, in the"
        " protocol of 2026-07-28 and the four before it.",
        'Each tool returns its value as JSON text and as structured content (a list as `{"result": [...]}`). A bad'
        " argument is an error of the tool in one sentence, so that a model can correct its call.",
        f"A note has the keys {', '.join(f'`{key}`' for key in KEYS)} and, except in a list, `body`. Its provenance"
        " (`prov_source`, `prov_model`, `prov_session`, `confidence`, `supersedes`) comes with `explain`, where it is"
        " not the default, and so does the `score` of a search.",
        f"An answer has at most {BUDGET:,} characters, text and structure together. Bodies that do not fit are cut, and"
        " end with the number of characters that are left and the `offset` with which `memory_get` returns them. A list"
        " that does not fit is cut too: a second text and `total` and `next_offset` beside `result` say how many notes"
        " there are, and where the next part begins.",
    ]
    for tool in tools:
        hints = ", ".join(name for name, value in tool["annotations"].items() if value is True)
        rows = [*_parameters(tool["inputSchema"])]
        table = ["| argument | type | default | meaning |", "| --- | --- | --- | --- |", *rows] if rows else []
        parts += [
            f"## {tool['name']}",
            tool["description"],
            f"Hints: {hints or 'writes, adds only'}.",
            "\n".join(table),
        ]
    parts += ["## Engram's tools", *_engram_tools()]
    parts += ["## Resources", "`memory://note/{id}`: a note with its front matter, as its file has it."]
    parts += ["## Prompts", *(f"`{prompt['name']}`: {prompt['description']}" for prompt in prompts)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _hub_api() -> str:
    """The routes of the hub, each with its docstring; the pages and forms of its dashboard in a table."""
    sections = [
        part
        for route in app.routes()
        for part in (f"## {_methods(route)} {route.path}", cleandoc(route.endpoint.__doc__ or ""))
    ]
    pages = [["GET", f"/ui{page.path}", _first(page.read)] for page in (*reading.PAGES, *keeping.PAGES)]
    forms = [["POST", f"/ui{form.path}", _first(form.do)] for form in (*reading.FORMS, *keeping.FORMS)]
    parts = [
        "# The hub's HTTP API",
        "Generated from the code by `make docs`. `anamnesis hub serve` answers on port 8437; see"
        " [why it is so](decisions/hub.md). Bodies and answers are JSON; in the shapes below, a name in capitals stands"
        " for a value, and a key that does not apply is left out.",
        "A token of the hub comes as `Authorization: Bearer anh_…`, and stands for its user: a space is visible with a"
        " role in it and the scope `read`, and can be changed from the role `writer` on with the scope `write`.",
        'An error is `{"error", "hint"}`, two sentences, with a status: 400 what was sent is wrong, 401 no token that'
        " holds, 403 the role or the scope does not allow it, 404 there is none, or the caller may not see it, 409"
        " somebody else has changed the note, 413 too large, 429 too many requests (`Retry-After` says when to try"
        " again), 503 the database cannot be used now.",
        _table(["what", "limit"], (list(each) for each in _hub_limits())),
        *sections,
        "## The dashboard",
        "For people, with a login that keeps a token in a cookie. A program gets the data of a page with its token and"
        " `Accept: application/json`. A form takes fields as a browser sends them.",
        _table(["method", "path", "what it is"], [*pages, *forms]),
    ]
    return "\n\n".join(parts) + "\n"


def _hub_limits() -> Iterator[tuple[str, str]]:
    yield "body of a request", f"{MOST_BODY_BYTES:,} bytes"
    yield "changes in a request", f"{MOST_CHANGES:,}"
    yield "a note", f"{MOST_NOTE_BYTES:,} bytes"
    yield "versions in an answer of a sync", f"{MOST_PULLED:,}, and about 4 MB of texts"
    yield "requests of a token", f"{DEFAULT_RATE:.0f} a second (`--rate`), six times as many at once"
    yield "requests of an address", "four times as many as of a token"


def _methods(route: Route) -> str:
    return ", ".join(sorted(each for each in route.methods or () if each != "HEAD"))


def _first(function: Callable[..., Any]) -> str:
    """The first sentence of a docstring."""
    return " ".join(cleandoc(function.__doc__ or "").partition("\n\n")[0].split())


def _engram_tools() -> list[str]:
    return [
        "Served by `anamnesis engram mcp`, alone, and with the others at `/mcp` of `anamnesis daemon`. They answer in"
        " the texts of Engram. Arguments in bold are required.",
        _tool_table(""),
        "## Reverie's tools",
        "Served by `anamnesis engram mcp --tools=reverie`, on the same memory; nobody gets them who does not ask for"
        " them. `--tools=agent,reverie` has both.",
        _tool_table("reverie"),
    ]


def _tool_table(wanted: str) -> str:
    with contextlib.closing(sqlite3.connect(":memory:")) as nowhere:
        tools = [
            tool.declaration() for tool in engram.tools(EngramMemory(lambda: contextlib.nullcontext(nowhere)), wanted)
        ]
    rows = []
    for tool in tools:
        schema = tool["inputSchema"]
        required = schema.get("required", [])
        arguments = [f"**{name}**" if name in required else name for name in schema.get("properties", {})]
        rows.append(f"| `{tool['name']}` | {', '.join(arguments)} | {tool['description'].splitlines()[0]} |")
    return "\n".join(["| tool | arguments | what it is for |", "| --- | --- | --- |", *rows])


def _parameters(schema: dict[str, Any], before: str = "") -> Iterator[str]:
    """A row for each argument, and for each key of the objects in a list."""
    for name, each in schema["properties"].items():
        yield _parameter(f"{before}{name}", each)
        if each.get("items", {}).get("type") == "object":
            yield from _parameters(each["items"], f"{before}{name}[].")


def _parameter(name: str, schema: dict[str, Any]) -> str:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    default = f"`{json.dumps(schema['default'])}`" if "default" in schema else "required"
    return f"| `{name}` | {' or '.join(kinds)} | {default} | {schema['description']} |"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
