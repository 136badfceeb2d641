"""The stand-in speaks each protocol and plays its part, and understands requests of real clients."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients import isolation, recording
from tests.clients.dialects import anthropic, chat, gemini, responses
from tests.clients.exchange import Call
from tests.clients.standin import Part, StandIn

TOOL = "mcp__anamnesis__memory_search"
GEMINI = "/v1beta/models/m"
SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}, "choice": {"enum": ["flash", "pro"]}}}


@pytest.fixture
def model() -> Iterator[StandIn]:
    with StandIn() as made:
        yield made


def post(model: StandIn, path: str, body: Any) -> str:
    request = urllib.request.Request(
        f"{model.url}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return str(answer.read().decode())


def streamed(text: str) -> list[dict[str, Any]]:
    """The data of a stream's events."""
    lines = (line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: "))
    return [json.loads(line) for line in lines if line != "[DONE]"]


class Anthropic:
    path, stream_path, dialect = "/v1/messages", "/v1/messages?beta=true", anthropic.NAME
    ask = staticmethod(lambda: {"messages": [{"role": "user", "content": "hello"}], "tools": [{"name": TOOL}]})
    answered = staticmethod(
        lambda body: {
            **body,
            "messages": [
                *body["messages"],
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "found"}]},
            ],
        }
    )
    shaped = staticmethod(lambda body: {**body, "output_config": {"format": {"schema": SCHEMA}}})
    text = staticmethod(lambda answer: answer["content"][0]["text"])
    called = staticmethod(lambda answer: (answer["content"][0]["name"], answer["content"][0]["input"]))
    streamed_text = staticmethod(
        lambda events: "".join(event["delta"].get("text", "") for event in events if "text" in event.get("delta", {}))
    )
    streamed_call = staticmethod(
        lambda events: (
            next(event["content_block"]["name"] for event in events if "content_block" in event),
            json.loads("".join(event["delta"].get("partial_json", "") for event in events if "delta" in event)),
        )
    )


class Chat:
    path = stream_path = "/v1/chat/completions"
    dialect = chat.NAME
    ask = staticmethod(
        lambda: {
            "messages": [{"role": "user", "content": "hello"}],
            "tools": [{"type": "function", "function": {"name": TOOL}}],
        }
    )
    answered = staticmethod(
        lambda body: {
            **body,
            "messages": [*body["messages"], {"role": "tool", "tool_call_id": "1", "content": "found"}],
        }
    )
    shaped = staticmethod(lambda body: {**body, "response_format": {"json_schema": {"schema": SCHEMA}}})
    text = staticmethod(lambda answer: answer["choices"][0]["message"]["content"])
    called = staticmethod(lambda answer: Chat._call(answer["choices"][0]["message"]["tool_calls"][0]))
    streamed_text = staticmethod(
        lambda events: "".join(
            choice["delta"].get("content") or "" for event in events for choice in event.get("choices", [])
        )
    )
    streamed_call = staticmethod(
        lambda events: next(
            Chat._call(choice["delta"]["tool_calls"][0])
            for event in events
            for choice in event.get("choices", [])
            if choice["delta"].get("tool_calls")
        )
    )

    @staticmethod
    def _call(call: dict[str, Any]) -> tuple[str, Any]:
        return call["function"]["name"], json.loads(call["function"]["arguments"])


class Responses:
    path = stream_path = "/v1/responses"
    dialect = responses.NAME
    ask = staticmethod(
        lambda: {
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
            "tools": [{"type": "function", "name": TOOL}],
        }
    )
    answered = staticmethod(
        lambda body: {
            **body,
            "input": [*body["input"], {"type": "function_call_output", "call_id": "1", "output": "found"}],
        }
    )
    shaped = staticmethod(lambda body: {**body, "text": {"format": {"type": "json_schema", "schema": SCHEMA}}})
    text = staticmethod(lambda answer: answer["output"][0]["content"][0]["text"])
    called = staticmethod(lambda answer: (answer["output"][0]["name"], json.loads(answer["output"][0]["arguments"])))
    streamed_text = staticmethod(
        lambda events: "".join(event["delta"] for event in events if "text.delta" in event["type"])
    )
    streamed_call = staticmethod(
        lambda events: next(
            (event["item"]["name"], json.loads(event["item"]["arguments"]))
            for event in events
            if event["type"] == "response.output_item.done"
        )
    )


class Gemini:
    path, stream_path, dialect = f"{GEMINI}:generateContent", f"{GEMINI}:streamGenerateContent?alt=sse", gemini.NAME
    ask = staticmethod(
        lambda: {
            "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
            "tools": [{"functionDeclarations": [{"name": TOOL}]}],
        }
    )
    answered = staticmethod(
        lambda body: {
            **body,
            "contents": [
                *body["contents"],
                {"role": "user", "parts": [{"functionResponse": {"name": TOOL, "response": {"output": "found"}}}]},
            ],
        }
    )
    shaped = staticmethod(lambda body: {**body, "generationConfig": {"responseJsonSchema": SCHEMA}})
    text = staticmethod(lambda answer: answer["candidates"][0]["content"]["parts"][0]["text"])
    called = staticmethod(lambda answer: Gemini._call(answer["candidates"][0]["content"]["parts"][0]))
    streamed_text = staticmethod(
        lambda events: "".join(event["candidates"][0]["content"]["parts"][0]["text"] for event in events)
    )
    streamed_call = staticmethod(lambda events: Gemini.called(events[0]))

    @staticmethod
    def _call(part: dict[str, Any]) -> tuple[str, Any]:
        return part["functionCall"]["name"], part["functionCall"]["args"]


DIALECTS = pytest.mark.parametrize("speaker", [Anthropic, Chat, Responses, Gemini])


@DIALECTS
def test_a_part_is_played_in_every_protocol_as_a_document_and_as_a_stream(model: StandIn, speaker: Any) -> None:
    calls = [Call("memory_search", {"query": "é"}), Call("memory_search", lambda result: {"query": result})]
    model.play(Part("First line.\nLast line.\n", calls))
    body = speaker.ask()
    assert speaker.called(json.loads(post(model, speaker.path, body))) == (TOOL, {"query": "é"})
    later = {**speaker.answered(body), "stream": True}
    assert speaker.streamed_call(streamed(post(model, speaker.stream_path, later))) == (TOOL, {"query": "found"})
    assert speaker.streamed_text(streamed(post(model, speaker.stream_path, later))) == "First line.\nLast line.\n"
    assert speaker.text(json.loads(post(model, speaker.path, speaker.answered(body)))) == "First line.\nLast line.\n"
    assert [question.dialect for question in model.questions] == [speaker.dialect] * 4
    assert [question.results for question in model.questions] == [(), ("found",), ("found",), ("found",)]
    assert [question.streamed for question in model.questions] == [False, True, True, False]


@DIALECTS
def test_a_request_with_a_schema_gets_matching_json_and_no_call(model: StandIn, speaker: Any) -> None:
    model.play(Part("Text.", [Call("memory_search")]))
    answer = json.loads(speaker.text(json.loads(post(model, speaker.path, speaker.shaped(speaker.ask())))))
    assert answer["choice"] == "flash"
    assert answer["title"]
    assert speaker.called(json.loads(post(model, speaker.path, speaker.ask())))[0] == TOOL


@DIALECTS
def test_a_first_request_with_the_text_of_an_aside_gets_its_answer(model: StandIn, speaker: Any) -> None:
    model.play(Part("Main.", [Call("memory_search")], asides={"hello": "Aside."}))
    assert speaker.text(json.loads(post(model, speaker.path, speaker.ask()))) == "Aside."
    assert speaker.called(json.loads(post(model, speaker.path, speaker.answered(speaker.ask()))))[0] == TOOL


@DIALECTS
def test_a_hanging_answer_starts_and_never_ends(model: StandIn, speaker: Any) -> None:
    model.play(Part("One.\nTwo.\nThree.\nFour.\n", hangs=True))
    got: list[str] = []
    asking = threading.Thread(
        target=lambda: got.append(post(model, speaker.stream_path, {**speaker.ask(), "stream": True}))
    )
    asking.start()
    assert model.hanging.wait(60)
    assert asking.is_alive()
    model.close()
    asking.join(60)
    assert "One." in got[0]
    assert "Four." not in got[0]


def test_deferred_tools_are_searched_for_and_then_called(model: StandIn) -> None:
    model.play(Part("Done.", [Call("memory_search", {"query": "x"})]))
    body: dict[str, Any] = Anthropic.ask()
    body["tools"] = [{"name": "ToolSearch"}, {"name": TOOL, "defer_loading": True}]
    assert Anthropic.called(json.loads(post(model, "/v1/messages", body))) == (
        "ToolSearch",
        {"query": f"select:{TOOL}"},
    )
    found = [{"type": "tool_reference", "tool_name": TOOL}]
    result = {"type": "tool_result", "tool_use_id": "1", "content": found}
    body["messages"] = [*body["messages"], {"role": "user", "content": [result]}]
    assert Anthropic.called(json.loads(post(model, "/v1/messages", body))) == (TOOL, {"query": "x"})


def test_a_tool_in_a_namespace_is_called_in_it(model: StandIn) -> None:
    model.play(Part("Done.", [Call("memory_search")]))
    body: dict[str, Any] = Responses.ask()
    body["tools"] = [{"type": "namespace", "name": "mcp__anamnesis", "tools": [{"name": "memory_search"}]}]
    (item,) = json.loads(post(model, "/v1/responses", body))["output"]
    assert (item["namespace"], item["name"]) == ("mcp__anamnesis", "memory_search")


def test_requests_to_other_hosts_are_refused_and_recorded(model: StandIn) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(model, "/api/telemetry?key=1", {"event": "start"})
    refused.value.close()
    proxied = urllib.request.build_opener(urllib.request.ProxyHandler({"https": model.url}))
    with pytest.raises(OSError, match="404"):
        proxied.open("https://vendor.example/update", timeout=30)
    assert model.strangers == ["POST /api/telemetry", "CONNECT vendor.example:443"]


@pytest.mark.parametrize(
    ("kind", "dialect", "body"), list(recording.read()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_recorded_request_of_a_client_is_understood(model: StandIn, kind: str, dialect: str, body: Any) -> None:
    """It contains the note and the memory's tools, and the model calls a tool that the client offers."""
    speaker = {each.dialect: each for each in (Anthropic, Chat, Responses, Gemini)}[dialect]
    model.play(Part("Done.", [Call("memory_search", {"query": "x"})]))
    answer = streamed(post(model, speaker.stream_path, {**body, "stream": True}))
    (question,) = model.questions
    assert any(word in question.text for word in recording.CONTEXT_WORDS)
    assert any("heliotrope" in result for result in question.results) is (kind.endswith("with a result"))
    name, _ = speaker.streamed_call(answer)
    assert name in {tool.name for tool in question.tools}
    assert "/root" not in question.text


@pytest.mark.skipif(not isolation.is_possible(), reason="this system does not isolate processes")
def test_an_isolated_process_has_only_loopback() -> None:
    script = """
import errno, socket
from tests.clients import isolation
from tests.clients.standin import StandIn
isolation.bring_loopback_up()
with StandIn() as model:
    socket.create_connection(("127.0.0.1", int(model.url.rpartition(":")[2])), 5).close()
    try:
        socket.create_connection(("192.0.2.1", 443), 5)
    except OSError as error:
        print(errno.errorcode[error.errno])
"""
    words = isolation.isolated([sys.executable, "-c", script])
    done = subprocess.run(words, cwd=Path(__file__).parent.parent.parent, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("ENETUNREACH\n", "")
