"""The official SDK's client against `engram serve`: the same tools over HTTP, on the same memory as over stdio."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.engram_cli.program import Program

from mcp import Client


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@contextmanager
def serving(program: Program, *arguments: str, **variables: str) -> Iterator[str]:
    """The address of `engram serve`, which says on stderr when it answers."""
    process = subprocess.Popen(
        [program.path, "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=program.environment(variables),
        cwd=program.folder,
        text=True,
    )
    assert process.stderr
    found = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
    assert found
    yield found[0]
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_tools_are_served_at_mcp(program: Program, mode: str, version: str) -> None:
    async def main(address: str) -> None:
        async with Client(f"{address}/mcp", mode=mode) as client:
            assert client.protocol_version == version
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert sum(name.startswith("mem_") for name in names) == 15
            saved = await client.call_tool("mem_save", {"title": "T", "content": "zebra", "project": "proj"})
            assert not saved.is_error
            found = await client.call_tool("mem_search", {"query": "zebra"})
            assert "#1 (manual) — T" in found.content[0].text  # type: ignore[union-attr]
            missing = await client.call_tool("mem_get_observation", {"id": 99})
            assert missing.is_error

    with serving(program, "0") as address:
        asyncio.run(asyncio.wait_for(main(address), 60))
        with program.mcp("--project=proj") as tools:
            assert "#1 (manual) — T" in tools.text("mem_search", query="zebra")


def test_many_clients_at_once_lose_nothing(program: Program) -> None:
    async def one(address: str, number: int) -> None:
        async with Client(f"{address}/mcp") as client:
            for count in range(5):
                arguments = {"title": f"T {number} {count}", "content": f"zebra {number} {count}"}
                assert not (await client.call_tool("mem_save", arguments)).is_error

    async def all_of_them(address: str) -> None:
        await asyncio.gather(*(one(address, number) for number in range(8)))

    with serving(program, "0") as address:
        asyncio.run(asyncio.wait_for(all_of_them(address), 60))
    assert "  Observations: 40\n" in program("stats").out


def test_the_port_is_the_argument_or_the_variable_if_they_are_numbers(program: Program) -> None:
    with serving(program, "0", ENGRAM_PORT="70000"):
        pass
    with serving(program, "abc", ENGRAM_PORT="0"):
        pass
    done = program("serve", "70000")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("engram: 70000 is not a port")
