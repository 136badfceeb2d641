"""Engram's tools beyond what was recorded, and the official SDK's client against `engram mcp` in both eras."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.engram_cli.program import Program, Tools

from anamnesis.mcp.engram import declared, reading, writing
from mcp import Client, StdioServerParameters

ERAS = [("legacy", "2025-11-25"), ("auto", "2026-07-28")]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def run(program: Program, work: Callable[[Client], Awaitable[None]], mode: str, *arguments: str) -> None:
    async def main() -> None:
        server = StdioServerParameters(
            command=str(program.path),
            args=["mcp", *arguments],
            env=program.variables,
            cwd=str(program.folder),
        )
        async with Client(server, mode=mode) as client:
            await work(client)

    asyncio.run(asyncio.wait_for(main(), 60))


async def said(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    text: str = result.content[0].text  # type: ignore[union-attr]
    assert (result.structured_content or {}).get("result", text) == text
    return text


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_the_official_client_keeps_and_finds(program: Program, mode: str, version: str) -> None:
    async def work(client: Client) -> None:
        assert client.protocol_version == version
        assert client.server_info
        assert (client.server_info.name, client.server_info.version) == ("engram", "0.1.0")
        assert client.instructions
        assert "mem_save" in client.instructions
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == sorted(names)
        assert len(names) == 15
        await said(client, "mem_session_start", id="one", project="proj")
        saved = await said(client, "mem_save", title="Use WAL", content="Set busy_timeout.", session_id="one")
        assert saved == 'Memory saved: "Use WAL" (manual)\nSaved as #1\nSuggested topic_key: topic/use-wal'
        assert "#1 (manual) — Use WAL" in await said(client, "mem_search", query="busy_timeout")
        assert "Set busy_timeout." in await said(client, "mem_get_observation", id=1)
        assert "**Use WAL**" in await said(client, "mem_context")
        assert ">>> #1 [manual] Use WAL <<<" in await said(client, "mem_timeline", observation_id=1)
        refused = await client.call_tool("mem_get_observation", {"id": 9})
        assert refused.is_error
        with pytest.raises(MCPError) as raised:
            await client.call_tool("mem_frobnicate", {})
        assert raised.value.error.code == -32602

    run(program, work, mode)


def test_every_tool_that_is_declared_has_a_function() -> None:
    for tool in declared.TOOLS:
        assert callable(getattr(reading if tool.read_only else writing, tool.name))


def test_a_tool_returns_only_what_engram_returns(program: Program) -> None:
    """No structured content but of mem_save, no isError where nothing is wrong, no title beside the annotations."""
    with program.mcp() as tools:
        assert tools.call("mem_stats", {})["result"].keys() == {"content"}
        assert tools.call("mem_delete", {})["result"].keys() == {"content", "isError"}
        declared = tools.ask("tools/list", {})["result"]["tools"]
    assert {key for tool in declared for key in tool} == {
        "annotations",
        "defer_loading",
        "description",
        "inputSchema",
        "name",
    }
    assert sum("defer_loading" in tool for tool in declared) == 9
    assert all(tool["description"].strip() for tool in declared)
    assert all(each["description"] for tool in declared for each in tool["inputSchema"]["properties"].values())


def test_the_id_of_a_saved_memory_is_returned_as_text_and_structure(program: Program) -> None:
    """Hosts show a model either the text or the structure, so each is complete."""
    with program.mcp("--project=shop") as tools:
        for id, more in ((1, {}), (2, {"topic_key": "a/b"}), (2, {"topic_key": "a/b", "title": "Again"})):
            result = tools.call("mem_save", {"title": "T", "content": f"c{id}", **more})["result"]
            assert result["structuredContent"] == {"id": id, "result": result["content"][0]["text"]}
            assert result["content"][0]["text"].splitlines()[1] == f"Saved as #{id}"
            assert f"#{id} [manual]" in tools.text("mem_get_observation", id=result["structuredContent"]["id"])


def test_a_context_has_as_many_memories_as_are_asked_for(program: Program) -> None:
    with program.mcp("--project=shop") as tools:
        for number in range(25):
            tools.text("mem_save", title=f"T{number}", content=f"c{number}")
        counts = [tools.text("mem_context", limit=limit).count("[manual]") for limit in (2, 24, 0, -1, "5")]
        assert counts == [2, 24, 20, 20, 20]


def test_a_summary_of_a_session_is_a_memory_and_the_summary_of_the_session(program: Program) -> None:
    with program.mcp("--project=shop") as tools:
        tools.text("mem_session_summary", session_id="one", content="## Goal\nship it", project="shop")
        tools.text("mem_session_summary", content="of no session", project="shop")
        shown = tools.text("mem_context")
    assert "): ## Goal\nship it [1 observations]" in shown
    assert "[session_summary] **Session summary: shop**: ## Goal\nship it" in shown
    assert "): of no session" not in shown


def test_strict_tools_answer_as_recorded(program: Program) -> None:
    with program.mcp("--project=shop", ANAMNESIS_ENGRAM_STRICT="1") as tools:
        result = tools.call("mem_save", {"title": "T", "content": "c", "topic_key": "a"})["result"]
        assert result == {"content": [{"type": "text", "text": 'Memory saved: "T" (manual)'}]}
        tools.text("mem_session_summary", session_id="one", content="done", project="shop")
        assert "): done" not in tools.text("mem_context", limit=1)
        assert tools.text("mem_context", limit=1).count("**: ") == 2


@pytest.fixture
def tools(program: Program) -> Any:
    with program.mcp("--project=Shop") as opened:
        yield opened


def test_arguments_of_the_wrong_kind_count_as_not_given(tools: Tools) -> None:
    assert tools.text("mem_save", title=5, content=None, type=[], frob=1).startswith('Memory saved: "" (manual)')
    assert tools.text("mem_delete", id=1.9, hard_delete="yes") == "Memory #1 soft-deleted"
    assert tools.refusal("mem_delete", id=0.5) == "id is required"
    assert tools.refusal("mem_delete", id=True) == "id is required"
    assert tools.text("mem_delete", id=-3) == "Memory #-3 soft-deleted"
    assert tools.refusal("mem_get_observation", id=2**70) == f"Observation #{-(2**63)} not found"
    assert tools.call("mem_stats", [])["result"] == tools.call("mem_stats", None)["result"]


def test_an_input_on_which_engram_fails_gets_a_sentence(tools: Tools) -> None:
    assert tools.refusal("mem_search") == tools.refusal("mem_search", query=" \n") == "query is required"
    assert tools.refusal("mem_session_start", project="p") == "id is required"
    assert tools.text("mem_search", query='zebra" OR (') == 'No memories found for: "zebra\\" OR ("'


def test_the_project_is_the_one_given_or_that_of_the_server(tools: Tools) -> None:
    tools.text("mem_save", title="A", content="zebra a")
    warned = tools.text("mem_save", title="B", content="zebra b", project="Other--Name")
    assert '⚠️ Project name normalized: "Other--Name" → "other-name"' in warned
    assert "| project: shop |" in tools.text("mem_search", query="zebra")
    assert "| project: other-name |" in tools.text("mem_search", query="zebra", project="OTHER-name")
    assert tools.text("mem_session_summary", content="x", project="Shop ") == (
        'Session summary saved for project "shop"'
    )


def test_the_project_is_detected_where_none_is_set(program: Program) -> None:
    subprocess.run(["git", "init", "-q"], cwd=program.folder, check=True)
    subprocess.run(["git", "remote", "add", "origin", "git@host:me/Thing.git"], cwd=program.folder, check=True)
    with program.mcp() as tools:
        assert tools.text("mem_session_summary", content="x") == 'Session summary saved for project "thing"'
    with program.mcp(ENGRAM_PROJECT="From__Env") as tools:
        assert tools.text("mem_session_summary", content="x") == 'Session summary saved for project "from_env"'
    with program.mcp("--project", "Flag", ENGRAM_PROJECT="env") as tools:
        assert tools.text("mem_session_summary", content="x") == 'Session summary saved for project "flag"'


def test_a_similar_project_is_named_once_and_only_for_a_new_one(tools: Tools) -> None:
    tools.text("mem_save", title="A", content="a")
    first = tools.text("mem_save", title="B", content="b", project="shopp")
    assert first.endswith(
        '⚠️ Project "shopp" has no memories. Similar project found: "shop" (1 memories).'
        " Consider using that name instead."
    )
    assert "Similar" not in tools.text("mem_save", title="C", content="c", project="shopp")
    assert "Similar" not in tools.text("mem_save", title="D", content="d", project="zebra")


def test_truncated_content_is_reported(tools: Tools) -> None:
    tools.text("mem_save", title="A", content="a")
    warning = "\n⚠ WARNING: Content was truncated from 50002 to 50000 chars. Consider splitting"
    assert warning in tools.text("mem_update", id=1, content="é" * 25_001)
    assert warning in tools.text("mem_save", title="B", content="é" * 25_001)


def test_previews_are_cut_by_characters_and_marked_by_bytes(tools: Tools) -> None:
    """As Engram does it: 200 characters of two bytes are shown whole and called a preview."""
    tools.text("mem_save", title="A", content="zebra " + "é" * 200)
    found = tools.text("mem_search", query="zebra")
    assert "é" * 200 + " [preview]\n" in found
    assert found.endswith("call mem_get_observation(id: <ID>).\n")


def test_a_session_that_nobody_started_is_refused_only_where_engram_refuses(tools: Tools) -> None:
    learned = "## Key Learnings:\n- The cache must be cleared after a deploy\n"
    assert tools.refusal("mem_capture_passive", content=learned, session_id="ghost") == (
        "Passive capture failed: passive capture save: constraint failed: FOREIGN KEY constraint failed (787)"
    )
    assert tools.text("mem_capture_passive", content=learned).endswith("extracted=1 saved=1 duplicates=0")
    assert tools.text("mem_save", title="a", content="b", session_id="ghost").startswith("Memory saved")
    assert tools.text("mem_save_prompt", content="why?", session_id="ghost2") == 'Prompt saved: "why?"'


def test_merging_names_the_missing_argument(tools: Tools) -> None:
    assert tools.refusal("mem_merge_projects", **{"from": " , ", "to": "x"}) == (
        "at least one source project name is required in 'from'"
    )
    assert tools.refusal("mem_merge_projects", **{"from": "a", "to": " "}).startswith("Merge failed: ")


def test_calls_that_are_sent_at_once_are_answered_in_their_order(tools: Tools) -> None:
    for number in range(1, 41):
        for tool, arguments in (
            ("mem_save", {"title": f"T{number}", "content": f"unique {number}"}),
            ("mem_get_observation", {"id": number}),
        ):
            call = {"name": tool, "arguments": arguments}
            tools.send({"jsonrpc": "2.0", "id": f"{tool} {number}", "method": "tools/call", "params": call})
    for number in range(1, 41):
        assert tools.receive()["id"] == f"mem_save {number}"
        answer = tools.receive()
        assert answer["result"]["content"][0]["text"].startswith(f"#{number} [manual] T{number}\nunique {number}\n")


def test_a_lone_half_of_a_character_is_replaced_as_go_replaces_it(tools: Tools) -> None:
    assert tools.text("mem_save", title="a \ud800 b", content="x").startswith('Memory saved: "a \ufffd b"')


def test_bytes_that_engram_cut_in_a_character_can_be_answered(program: Program) -> None:
    program("save", b"caf\xe9 title", "body")
    with program.mcp() as tools:
        assert json.dumps(tools.text("mem_get_observation", id=1)).isascii()
        assert "caf\ufffd title" in tools.text("mem_get_observation", id=1)


def test_the_tool_lists_need_neither_git_nor_much(program: Program) -> None:
    """The start that an agent waits for: no other program is started before a tool needs a project."""
    with program.mcp(PATH="/nowhere") as tools:
        assert len(tools.ask("tools/list", {})["result"]["tools"]) == 15
