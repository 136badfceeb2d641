"""A setup works: every server answers and every hook prints notes, run as its agent would run it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.capture import opencode
from tests.onboard.machines import NAMES, Machine
from tests.waiting import wait_until

from anamnesis.notes import Memory
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.formats import engine
from anamnesis.onboard.pieces import Item, Server
from anamnesis.onboard.program import Program, call_in
from anamnesis.store import MemoryStore

NOTE = "Zebra crossing"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
WITH_CONTEXT = [name for name in NAMES if {"inject", "recall"} & Machine(Path("/none")).agent(name).verbs]


@pytest.fixture
def installed(machine: Machine) -> Machine:
    """A machine with the real program and a store in another place, with a note in it."""
    store = machine.home / "my notes"
    machine.program = Program((str(Path(sys.executable).with_name("anamnesis")),), str(store))
    with MemoryStore(store) as notes:
        notes.write(type="semantic", title=NOTE, body="Zebras cross at the lights.", project="work")
        for number in range(60):
            notes.write(type="semantic", title=f"Filler {number}", body=f"Filler {number}.", project="x")
    (machine.home / "work").mkdir()
    return machine


def run(command: list[str] | str, told: object, cwd: Path, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        input=json.dumps(told) + "\n",
        capture_output=True,
        text=True,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **(environment or {})},
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def entries(machine: Machine, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every call of ours in the files of an agent, as the agent would read them."""
    for edit in machine.settings(name):
        document = engine(edit.format).read(edit.file.read_bytes().decode())
        for piece in edit.pieces:
            if isinstance(piece, Server | Item):
                yield from _calls(document, "serve" if isinstance(piece, Server) else piece.verb)


def _calls(value: Any, verb: str) -> Iterator[tuple[str, dict[str, Any]]]:
    call = call_in(value) if isinstance(value, dict) else None
    if call and call.verb == verb:
        yield verb, value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _calls(inner, verb)


@pytest.mark.parametrize("name", NAMES)
def test_the_server_of_every_agent_answers(installed: Machine, name: str) -> None:
    installed.init(name)
    servers = [entry for verb, entry in entries(installed, name) if verb == "serve"]
    assert servers
    for entry in servers:
        first = entry.get("command", entry.get("cmd"))
        command = first if isinstance(first, list) else [first, *entry["args"]]
        environment = entry.get("env") or entry.get("environment") or entry.get("envs")
        answer = json.loads(run(command, HELLO, installed.home, environment).splitlines()[0])
        assert answer["result"]["serverInfo"]["name"] == "anamnesis"
        assert environment == {"ANAMNESIS_HOME": str(installed.home / "my notes")}


@pytest.mark.parametrize("name", sorted(set(WITH_CONTEXT) - {"cline", "opencode", "kilo"}))
def test_the_hooks_of_every_agent_print_notes(installed: Machine, name: str) -> None:
    if name == "windsurf":
        (installed.home / ".config/devin").mkdir(parents=True)  # Cascade itself accepts no context from hooks
    installed.init(name)
    work = installed.home / "work"
    told = 0
    for verb, entry in entries(installed, name):
        if verb not in ("inject", "recall"):
            continue
        event = {
            "session_id": verb,
            "conversationId": verb,
            "cwd": str(work),
            "invocationNum": 0,
            "prompt": "where do zebras cross the road?",
        }
        line = str(entry.get("command", entry.get("bash")))
        shown = run([line, *entry["args"]] if "args" in entry else line, event, installed.home)
        assert NOTE in shown
        told += 1
    assert told


@pytest.mark.skipif(not shutil.which("node"), reason="runs the plugin")
@pytest.mark.parametrize("name", ["opencode", "kilo"])
def test_the_plugin_gives_notes_at_the_start_and_beside_a_prompt(installed: Machine, name: str) -> None:
    installed.init(name)
    script = """
        const { Anamnesis } = await import(process.argv[1])
        const hooks = await Anamnesis({ directory: process.argv[2] })
        const part = { id: "prt_0123456789abAAAAAAAAAAAAAA", sessionID: "s", messageID: "m", type: "text", text: "" }
        const transform = async (sessionID, first = "You are.") => {
            const output = { system: [first] }
            await hooks["experimental.chat.system.transform"]({ sessionID }, output)
            return output.system
        }
        const ask = async (sessionID, text, more = {}) => {
            const output = { parts: [{ ...part, sessionID, text, ...more }] }
            await hooks["chat.message"]({ sessionID }, output)
            return output.parts
        }
        console.log(JSON.stringify({
            first: await transform("s"),
            second: await transform("s"),
            none: await transform(undefined),
            title: await transform("s", "You are a title generator. You output ONLY a thread title."),
            summary: await transform("s", "You are a context summarization agent. You are given a conversation"),
            told: await ask("s", "where do zebras cross the road?"),
            silent: await ask("t", "thanks", { synthetic: true }),
        }))
        const elsewhere = await Anamnesis({ directory: "/" })
        const other = { parts: [{ ...part, text: "where do zebras cross the road?" }] }
        await elsewhere["chat.message"]({ sessionID: "u" }, other)
        console.log(JSON.stringify(other.parts))
    """
    command = ["node", "--input-type=module", "-e", script, str(module(installed, name)), str(installed.home / "work")]
    out = run(command, {}, installed.home)
    seen, other = map(json.loads, out.splitlines())
    assert seen["first"][0] == "You are."
    assert NOTE in seen["first"][1]
    assert seen["second"] == seen["first"]
    assert seen["none"] == ["You are."]
    assert len(seen["title"]) == len(seen["summary"]) == 1, "the host's own requests need no notes"
    assert len(seen["told"]) == 1, "injected at the start already"
    assert len(seen["silent"]) == 1
    assert len(other) == 1, "the note belongs to another project"


@pytest.mark.skipif(not shutil.which("node"), reason="runs the plugin")
def test_a_note_beside_a_prompt_is_a_separate_last_part(installed: Machine) -> None:
    store = installed.home / "my notes"
    installed.init("opencode")
    script = """
        const { Anamnesis } = await import(process.argv[1])
        const hooks = await Anamnesis({ directory: process.argv[2] })
        const part = { id: "prt_0123456789abAAAAAAAAAAAAAA", sessionID: "s", messageID: "m", type: "text", text: "hi" }
        await hooks["chat.message"]({ sessionID: "s" }, { parts: [part] })
        const { execFileSync } = await import("node:child_process")
        execFileSync(process.argv[3], ["write", "Yak shaving", "Yaks are shaved in June.", "--project", "work"])
        const output = { parts: [{ ...part, text: "when are yaks shaved?" }] }
        await hooks["chat.message"]({ sessionID: "s" }, output)
        console.log(JSON.stringify(output.parts))
    """
    program = installed.program.words[0]
    work = str(installed.home / "work")
    command = ["node", "--input-type=module", "-e", script, str(module(installed, "opencode")), work, program]
    first, second = json.loads(run(command, {}, installed.home, {"ANAMNESIS_HOME": str(store)}))
    assert "Yak shaving" in second["text"]
    assert (second["synthetic"], second["sessionID"], second["messageID"]) == (True, "s", "m")
    assert second["id"] > first["id"]
    assert len(second["id"]) == len(first["id"])


@pytest.mark.skipif(not shutil.which("node"), reason="runs the plugin")
def test_the_plugin_of_cline_gives_notes_at_the_first_prompt_and_captures_after_a_turn(installed: Machine) -> None:
    installed.init("cline")
    home, session = installed.home, "1794849881359_apo6w"
    transcript = home / f".cline/data/sessions/{session}/{session}.messages.json"
    transcript.parent.mkdir(parents=True)
    asked = '<user_input mode="act">why does the zebra wait?</user_input>'
    spoken = {"user": asked, "assistant": "Root cause: a red light."}
    messages = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in spoken.items()]
    transcript.write_text(json.dumps({"agent": "lead", "sessionId": session, "messages": messages}))
    script = """
        const { default: plugin } = await import(process.argv[1])
        const [, , folder, sessionId, asked] = process.argv
        plugin.setup({}, { session: { sessionId }, workspaceInfo: { rootPath: folder } })
        const snapshot = { messages: JSON.parse(asked).slice(0, 1) }
        const first = await plugin.hooks.beforeRun({ snapshot })
        const again = await plugin.hooks.beforeRun({ snapshot })
        const other = await plugin.hooks.beforeRun({ snapshot: { ...snapshot, parentAgentId: "lead" } })
        await plugin.hooks.afterRun({ snapshot, result: { outputText: "Root cause: a red light." } })
        console.log(JSON.stringify([first, again ?? null, other ?? null]))
    """
    words = [str(module(installed, "cline")), str(home / "work"), session, json.dumps(messages)]
    out = run(["node", "--input-type=module", "-e", script, *words], {}, home, {"HOME": str(home)})
    first, *rest = json.loads(out)
    assert NOTE in first["appendContext"]
    assert rest == [None, None]

    def notes() -> list[Memory]:
        with MemoryStore(home / "my notes") as store:
            return store.list(type="episodic")

    wait_until(lambda: bool(notes()))
    assert "- Root cause: a red light." in notes()[0].body


@pytest.mark.skipif(not shutil.which("node"), reason="runs the plugin")
def test_a_program_that_is_gone_does_not_stop_the_plugin(installed: Machine) -> None:
    installed.program = Program(("/gone/anamnesis",))
    installed.init("opencode")
    script = """
        const { Anamnesis } = await import(process.argv[1])
        const hooks = await Anamnesis({ directory: "/" })
        const output = { system: [], parts: [{ type: "text", text: "x" }] }
        await hooks["experimental.chat.system.transform"]({ sessionID: "s" }, output)
        await hooks["chat.message"]({ sessionID: "s" }, output)
        await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
        await hooks.dispose()
        console.log(output.system.length, output.parts.length)
    """
    command = ["node", "--input-type=module", "-e", script, str(module(installed, "opencode"))]
    assert run(command, {}, installed.home) == "0 1\n"


def module(machine: Machine, name: str) -> Path:
    """The plugin as Node.js imports it."""
    (plugin,) = [edit.file for edit in machine.agent(name).edits if not isinstance(edit, SettingsEdit)]
    copy = plugin.with_suffix(".mjs")
    copy.write_bytes(plugin.read_bytes())
    return copy


def episodic(machine: Machine) -> list[Memory]:
    with MemoryStore(machine.home / "my notes") as store:
        return store.list(type="episodic")


# Sends the end of a turn and, if asked to, of the program, as each version of OpenCode does.
ENDS = {
    1: """
        const { Anamnesis, default: plugin } = await import(process.argv[1])
        const hooks = await (plugin?.server ?? Anamnesis)({ directory: process.argv[2] })
        await hooks.event({ event: { type: "session.idle", properties: { sessionID: process.argv[3] } } })
        if (process.argv[4]) await hooks.dispose()
    """,
    2: """
        const { default: plugin } = await import(process.argv[1])
        const events = [{ type: "session.execution.succeeded", data: { sessionID: process.argv[3] } }]
        const context = {
            location: { directory: process.argv[2] },
            session: { hook: async () => {} },
            event: { subscribe: async function* () { yield* events } },
        }
        const end = await plugin.setup(context)
        if (process.argv[4]) await end()
    """,
}


@pytest.mark.skipif(not shutil.which("node"), reason="runs the plugin")
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize(("name", "version"), [("opencode", 1), ("opencode", 2), ("kilo", 1)])
def test_the_plugin_captures_the_session_after_a_turn_and_at_the_end(
    installed: Machine, name: str, version: int, at_end: bool
) -> None:
    installed.init(name)
    data, work = installed.home / "data", installed.home / "work"
    with opencode.database(data / name / "opencode.db", version) as stored:
        stored.say("user", opencode.text("why does the zebra wait?"))
        stored.say("assistant", opencode.text("Root cause: the light was stuck on red."))
    command = ["node", "--input-type=module", "-e", ENDS[version], str(module(installed, name)), str(work)]
    variables = {"XDG_DATA_HOME": str(data), "HOME": str(installed.home)}
    run([*command, opencode.SESSION, *["end"] * at_end], {}, installed.home, variables)
    wait_until(lambda: bool(episodic(installed)))
    if at_end:
        log = installed.home / "my notes/anamnesis.log"
        wait_until(lambda: log.exists() and '"sync"' in log.read_text())
    (note,) = episodic(installed)
    assert note.title == "why does the zebra wait?"
    assert "- Root cause: the light was stuck on red." in note.body
    assert (note.prov_session, note.tags) == (opencode.SESSION, ["session", "session-end"])


@pytest.mark.skipif(not shutil.which("node"), reason="runs the plugin")
@pytest.mark.parametrize("name", ["opencode", "kilo"])
def test_the_plugin_captures_a_session_whose_program_is_killed(installed: Machine, name: str) -> None:
    """OpenCode dies of a signal, as Ctrl-C at `opencode run` sends it, without an event for its plugins."""
    installed.init(name)
    data, work = installed.home / "data", installed.home / "work"
    with opencode.database(data / name / "opencode.db", 1) as stored:
        stored.say("user", opencode.text("why does the zebra wait?"))
        stored.say("assistant", opencode.text("Root cause: the light was stuck on red."))
    script = """
        const { Anamnesis } = await import(process.argv[1])
        const hooks = await Anamnesis({ directory: process.argv[2] })
        const part = { id: "prt_0123456789abAAAAAAAAAAAAAA", messageID: "m", type: "text", text: "why?" }
        await hooks["chat.message"]({ sessionID: process.argv[3] }, { parts: [part] })
        process.kill(process.pid, "SIGKILL")
    """
    words = ["node", "--input-type=module", "-e", script, str(module(installed, name)), str(work), opencode.SESSION]
    variables = {"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(data), "HOME": str(installed.home)}
    assert subprocess.run(words, env=variables, timeout=60, check=False).returncode == -9
    wait_until(lambda: bool(episodic(installed)))
    (note,) = episodic(installed)
    assert "- Root cause: the light was stuck on red." in note.body


@pytest.mark.skipif(not shutil.which("node"), reason="runs the plugin")
def test_the_plugin_gives_notes_to_version_2(installed: Machine) -> None:
    installed.init("opencode")
    script = """
        const { default: plugin } = await import(process.argv[1])
        const hooks = {}
        const context = {
            location: { directory: process.argv[2] },
            session: { hook: async (name, run) => { hooks[name] = run } },
            event: { subscribe: async function* () {} },
        }
        const end = await plugin.setup(context)
        await hooks.prompt({ sessionID: "s", prompt: { text: "where do zebras cross the road?" } })
        const seen = []
        for (let step = 0; step < 2; step++) {
            const event = { sessionID: "s", system: [{ type: "text", text: "You are." }] }
            await hooks.context(event)
            seen.push(event.system)
        }
        await end()
        console.log(JSON.stringify(seen))
    """
    command = ["node", "--input-type=module", "-e", script, str(module(installed, "opencode"))]
    first, second = json.loads(run([*command, str(installed.home / "work")], {}, installed.home))
    assert [part["type"] for part in first] == ["text", "text"]
    assert NOTE in first[1]["text"]
    assert second == first, "the same text at each step"


@pytest.mark.skipif(not shutil.which("node"), reason="runs the plugin")
def test_the_plugin_of_kilo_code_exports_functions_only(installed: Machine) -> None:
    """Its older loader calls every export and fails on one that is not a function."""
    exports = {}
    for name in ("opencode", "kilo"):
        installed.init(name)
        script = """
            const exported = Object.entries(await import(process.argv[1]))
            console.log(JSON.stringify(exported.map(([name, value]) => [name, typeof value])))
        """
        command = ["node", "--input-type=module", "-e", script, str(module(installed, name))]
        exports[name] = dict(json.loads(run(command, {}, installed.home)))
    assert exports == {"opencode": {"Anamnesis": "function", "default": "object"}, "kilo": {"Anamnesis": "function"}}
