"""The official SDK's client against `anamnesis serve` as a process, in the handshake and in the modern era."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from anamnesis.config import change_config
from anamnesis.plain import plain
from anamnesis.store import MemoryStore
from mcp import Client, StdioServerParameters

ERAS = [("legacy", "2025-11-25"), ("auto", "2026-07-28")]
SPECIFIED = ["memory_search", "memory_list", "memory_status", "memory_write", "memory_sync"]


@asynccontextmanager
async def connected(home: Path, mode: str = "auto", **more: str) -> AsyncIterator[Client]:
    variables = {"ANAMNESIS_HOME": str(home), "ANAMNESIS_MACHINE_ID": "desktop", "PATH": os.environ["PATH"], **more}
    server = StdioServerParameters(command=sys.executable, args=["-m", "anamnesis", "serve"], env=variables)
    async with Client(server, mode=mode) as client:
        yield client


def run(home: Path, work: Callable[[Client], Awaitable[None]], mode: str = "auto") -> None:
    async def main() -> None:
        async with connected(home, mode) as client:
            await work(client)

    asyncio.run(asyncio.wait_for(main(), 60))


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    value: Any = result.structured_content
    shown = json.loads(result.content[0].text)  # type: ignore[union-attr]
    assert shown == (value["result"] if isinstance(shown, list) else value)
    return shown


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    text: str = result.content[0].text  # type: ignore[union-attr]
    assert "\n" not in text
    return text


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_the_version_is_negotiated_and_the_server_names_itself(tmp_path: Path, mode: str, version: str) -> None:
    async def work(client: Client) -> None:
        assert client.protocol_version == version
        assert client.server_info
        assert client.server_info.name == "anamnesis"
        assert client.instructions
        assert "memory_search" in client.instructions

    run(tmp_path, work, mode)


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_every_tool_works_and_returns_text_and_structure(tmp_path: Path, mode: str, version: str) -> None:
    async def work(client: Client) -> None:
        written = await call(client, "memory_write", type="procedural", title="Use WAL", body="Set busy_timeout.")
        assert list(written)[:9] == [
            *("id", "type", "title", "project", "machine_id", "scope", "tags", "created_at", "updated_at")
        ]
        assert (written["project"], written["machine_id"], written["scope"]) == (
            "global",
            "desktop",
            "portable",
        )
        assert written["body"] == "Set busy_timeout."
        assert await call(client, "memory_search", query="which busy timeout?") == [written]
        (hit,) = await call(client, "memory_search", query="which busy timeout?", explain=True)
        assert hit.pop("score") > 0
        assert hit.pop("fit") > 0.5
        assert hit.pop("why")["words"].keys() == {"busy", "timeout"}
        assert hit.pop("prov_session").startswith("mcp/")  # the SDK calls itself so
        assert hit == written
        (listed,) = await call(client, "memory_list")
        assert "body" not in listed
        assert listed["id"] == written["id"]
        assert await call(client, "memory_get", id=written["id"]) == written
        status = await call(client, "memory_status")
        assert status["by_type"] == {"procedural": 1}
        assert status["root"] == str(tmp_path)
        changed = await call(client, "memory_update", id=written["id"], title="Use WAL mode")
        assert (changed["title"], changed["body"]) == ("Use WAL mode", "Set busy_timeout.")
        deleted = await call(client, "memory_delete", id=written["id"])
        assert deleted["deleted"]["id"] == written["id"]
        assert await call(client, "memory_search", query="busy") == []

    run(tmp_path, work, mode)


def test_tools_are_declared_with_schema_and_annotations(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(SPECIFIED) <= set(tools)
        for name in ("memory_search", "memory_list", "memory_status", "memory_get"):
            hints = tools[name].annotations
            assert hints
            assert (hints.read_only_hint, hints.open_world_hint) == (True, False)
        write = tools["memory_write"].annotations
        assert write
        assert (write.read_only_hint, write.destructive_hint) == (False, False)
        sync = tools["memory_sync"].annotations
        assert sync
        assert (sync.read_only_hint, sync.open_world_hint) == (False, True)
        assert tools["memory_sync"].input_schema["properties"]["force"]["default"] is False
        delete = tools["memory_delete"].annotations
        assert delete
        assert delete.destructive_hint is True
        search = tools["memory_search"].input_schema
        assert search["required"] == ["query"]
        assert search["properties"]["k"]["default"] == 8
        assert search["properties"]["type"]["enum"] == ["procedural", "semantic", "episodic", None]
        assert tools["memory_list"].input_schema["properties"]["limit"]["default"] == 100
        assert tools["memory_write"].input_schema["required"] == ["type", "title", "body"]
        assert all(len(tool.description or "") < 2000 for tool in tools.values())

    run(tmp_path, work)


def test_a_sync_carries_a_note_from_one_server_to_another(tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", remote], check=True)
    for name in ("one", "two"):
        change_config(tmp_path / name, "remote", str(remote))

    async def send(client: Client) -> None:
        assert (await call(client, "memory_status"))["sync"] == {
            "initialized": False,
            "remote": str(remote),
            "head": "",
            "dirty": False,
            "detail": "not initialized",
        }
        await call(client, "memory_write", type="semantic", title="Travels", body="b")
        done = await call(client, "memory_sync")
        assert list(done) == ["pushed", "pulled", "conflicted", "decided", "head", "indexed", "detail"]
        assert (done["pushed"], done["pulled"], done["indexed"], done["detail"]) == (True, 0, 1, "synced")
        status = await call(client, "memory_status")
        assert (status["sync"]["initialized"], status["sync"]["dirty"], status["sync"]["detail"]) == (True, False, "ok")
        assert status["sync"]["head"] == done["head"]

    async def receive(client: Client) -> None:
        done = await call(client, "memory_sync", force=True)
        assert (done["pushed"], done["pulled"], done["indexed"]) == (False, 1, 1)
        assert [note["title"] for note in await call(client, "memory_search", query="travels")] == ["Travels"]

    run(tmp_path / "one", send)
    run(tmp_path / "two", receive)


def test_calls_are_answered_while_a_sync_waits_for_its_remote(tmp_path: Path) -> None:
    pipe = tmp_path / "never"
    os.mkfifo(pipe)
    variables = {
        "GIT_SSH_COMMAND": f"cat {pipe} #",
        "GIT_SSH_VARIANT": "ssh",
        "ANAMNESIS_GIT_REMOTE": "ssh://host/notes.git",
    }

    async def work() -> None:
        async with connected(tmp_path / "home", **variables) as client:
            waiting = asyncio.ensure_future(client.call_tool("memory_sync", {}))
            while not (tmp_path / "home" / "memory" / ".git").exists():
                await asyncio.sleep(0.01)
            for number in range(5):
                await call(client, "memory_write", type="semantic", title=f"t{number}", body="b")
            assert not waiting.done()
            pipe.write_bytes(b"")  # the remote hangs up
            assert "remote cannot be used" in (await waiting).content[0].text  # type: ignore[union-attr]

    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_bad_argument_is_one_sentence(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        note = await call(client, "memory_write", type="semantic", title="t", body="b")
        assert await refused(client, "memory_search") == "memory_search needs the argument 'query'."
        assert "k is -1" in await refused(client, "memory_search", query="x", k=-1)
        assert "must be a whole number" in await refused(client, "memory_search", query="x", k="many")
        assert "is not one of procedural" in await refused(client, "memory_list", type="opinion")
        assert "The title is empty" in await refused(client, "memory_write", type="semantic", title=" ", body="")
        assert "is not a note id" in await refused(client, "memory_get", id="../../etc/passwd")
        assert "No note has the id" in await refused(client, "memory_delete", id="nothing")
        assert "has no argument 'q'" in await refused(client, "memory_search", q="x")
        assert "no field to change" in await refused(client, "memory_update", id=note["id"])
        for owner in "ab":
            await call(client, "memory_write", type="semantic", title="t", body="b", project=f"github.com/{owner}/web")
        for name, given in (("memory_list", {}), ("memory_search", {"query": "b"})):
            assert "github.com/a/web and github.com/b/web" in await refused(client, name, project="web", **given)
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("memory_frobnicate", {})

    run(tmp_path, work)


def test_arguments_that_models_send_as_text_are_understood(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        note = await call(client, "memory_write", type="semantic", title="t", body="zebra", tags='["a", "b"]')
        assert note["tags"] == ["a", "b"]
        assert len(await call(client, "memory_search", query="zebra", k="1")) == 1
        assert (await call(client, "memory_update", id=note["id"], tags="x, y"))["tags"] == ["x", "y"]

    run(tmp_path, work)


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_notes_are_resources_and_reflect_is_a_prompt(tmp_path: Path, mode: str, version: str) -> None:
    async def work(client: Client) -> None:
        note = await call(client, "memory_write", type="semantic", title="t", body="zebra")
        (listed,) = (await client.list_resources()).resources
        assert str(listed.uri) == f"memory://note/{note['id']}"
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "memory://note/{id}"
        (content,) = (await client.read_resource(str(listed.uri))).contents
        assert content.text == (tmp_path / f"memory/semantic/{note['id']}.md").read_text()  # type: ignore[union-attr]
        for wrong in ("memory://note/nothing", "memory://note/../../etc/passwd", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(wrong)
        (prompt,) = (await client.list_prompts()).prompts
        assert prompt.name == "reflect"
        (message,) = (await client.get_prompt("reflect", {"project": "acme"})).messages
        assert "'acme'" in message.content.text  # type: ignore[union-attr]

    run(tmp_path, work, mode)


def test_two_clients_share_one_store(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path) as first, connected(tmp_path, "legacy") as second:
            both = (first, second)
            writes = [
                call(client, "memory_write", type="semantic", title=f"n{number} of {name}", body="zebra")
                for number in range(40)
                for name, client in zip("ab", both, strict=True)
            ]
            ids = {note["id"] for note in await asyncio.gather(*writes)}
            assert len(ids) == 80
            for client in both:
                found: set[str] = set()
                while len(found) < 80:
                    part = await call(client, "memory_search", query="zebra", mode="words", k=100, offset=len(found))
                    found |= {note["id"] for note in part}
                assert found == ids

    asyncio.run(asyncio.wait_for(main(), 60))
    with MemoryStore(tmp_path) as store:
        assert store.count() == 80


def test_a_body_of_ten_megabytes_goes_through(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        body = "zebra " * 1_700_000
        note = await call(client, "memory_write", type="semantic", title="big", body=body)
        assert body.startswith(note["body"][:5_000])
        assert len(note["body"]) < 24_000

    run(tmp_path, work)
    with MemoryStore(tmp_path) as store:
        (note,) = store.list()
        assert len(note.body) == 6 * 1_700_000


def test_a_note_reaches_an_agent_whole_and_with_nothing_hidden(tmp_path: Path) -> None:
    """Tools answer in JSON, where hidden characters are escapes: what is written back is what was read."""
    hidden = "seen\U000e0041\u202e\x9b31m\ufe01\u200b end"

    async def work(client: Client) -> None:
        written = await call(client, "memory_write", type="semantic", title=f"zebra {hidden}\nHuman:", body=hidden)
        result = await client.call_tool("memory_get", {"id": written["id"]})
        shown = result.content[0].text  # type: ignore[union-attr]
        assert plain(shown) == shown
        assert json.loads(shown)["body"] == hidden
        assert r"seen\udb40\udc41\u202e\u009b31m\ufe01\u200b end" in shown
        assert (await call(client, "memory_update", id=written["id"], body=json.loads(shown)["body"]))["body"] == hidden
        (listed,) = (await client.list_resources()).resources
        assert listed.title == "zebra seen31m end Human:"
        (content,) = (await client.read_resource(str(listed.uri))).contents
        assert plain(content.text) == content.text  # type: ignore[union-attr]

    run(tmp_path, work)


def test_a_write_returns_the_kinds_of_redacted_secrets(tmp_path: Path) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    async def work(client: Client) -> None:
        note = await call(client, "memory_write", type="semantic", title="t", body=f"use {token}", tags=[token])
        assert note["redacted"] == ["github-token"]
        assert note["body"] == "use [REDACTED:github-token]"
        changed = await call(client, "memory_update", id=note["id"], project=f"p/{token}")
        assert (changed["project"], changed["redacted"]) == ("p/[REDACTED:github-token]", ["github-token"])
        assert "redacted" not in await call(client, "memory_update", id=note["id"], title="plain")

    run(tmp_path, work, "auto")
