"""Reverie's tools: a profile of their own beside Engram's, called by the official SDK's client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mcp.types import TextContent
from tests.engram_cli.program import Program
from tests.mcp.test_engram import ERAS, run, said

from anamnesis.mcp.engram import reverie
from anamnesis.mcp.engram.declared import REVERIE, TOOLS
from mcp import Client

NAMES = [
    *("add_observation", "add_observation_passive", "dream_last_report", "dream_status", "search_memory"),
    "smart_context",
]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_the_profile_keeps_finds_and_reports(program: Program, mode: str, version: str) -> None:
    async def work(client: Client) -> None:
        assert client.protocol_version == version
        assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
        assert client.instructions
        assert "mem_" not in client.instructions
        await said(client, "add_observation", title="Retry policy", content="zebra " * 200, project="p")
        learned = "## Key Learnings:\n\n1. Parsers have to reject trailing commas in the settings file."
        await said(client, "add_observation_passive", content=learned, project="p")
        found = await said(client, "search_memory", query="zebra", project="p")
        assert found.count("zebra") == 200
        assert "mem_get_observation" not in found
        context = await said(client, "smart_context", project="p", limit=-1)
        assert "**Retry policy**" in context
        assert "trailing commas" in context
        assert (await said(client, "dream_last_report")).startswith("No dream has run yet.")
        status = await client.call_tool("dream_status", {})
        assert status.structured_content
        assert (status.structured_content["last"], status.structured_content["changed_notes"]) == (None, 2)

    run(program, work, mode, "--tools=reverie")


def test_a_dream_is_reported_in_markdown(program: Program) -> None:
    async def save(client: Client) -> None:
        await said(client, "add_observation", title="t", content="c", project="p")

    async def ask(client: Client) -> None:
        assert (await said(client, "dream_last_report")).startswith("# Dream ")
        assert (await said(client, "dream_status")).startswith("Last dream: ")

    run(program, save, "auto", "--tools=reverie")
    subprocess.run([sys.executable, "-m", "anamnesis", "dream"], env=program.variables, capture_output=True, check=True)
    run(program, ask, "auto", "--tools=dream_status,dream_last_report")


def test_bad_arguments_are_answered_in_a_sentence(program: Program) -> None:
    async def work(client: Client) -> None:
        refused = await client.call_tool("search_memory", {"query": " "})
        assert refused.is_error
        assert isinstance(refused.content[0], TextContent)
        assert refused.content[0].text == "query is required"
        for limit in (-1, 10**30, "abc", None, 1.5):
            told = await said(client, "smart_context", project="nobody", limit=limit)
            assert told == "No previous session memories found."

    run(program, work, "auto", "--tools=reverie")


@pytest.mark.parametrize(("wanted", "count"), [("", 15), ("all", 15), ("agent", 11), ("agent,reverie", 17)])
def test_reveries_tools_are_listed_only_on_request(program: Program, wanted: str, count: int) -> None:
    async def work(client: Client) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert len(names) == count
        assert set(NAMES) <= set(names) or not set(NAMES) & set(names)

    run(program, work, "auto", f"--tools={wanted}")


def test_every_tool_that_is_declared_has_a_function_and_a_name_of_its_own() -> None:
    assert sorted(tool.name for tool in REVERIE) == NAMES == sorted(reverie.__all__)
    assert not {tool.name for tool in REVERIE} & {tool.name for tool in TOOLS}
