"""OpenAI's chat completions, which most vendors of models speak too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.clients.exchange import Question, Reply, Tool, joined

PATH = r"/chat/completions(\?|$)"
NAME = "chat"


def read(body: dict[str, Any], path: str) -> Question:
    tools = tuple(Tool(each["function"]["name"]) for each in body.get("tools") or [] if "function" in each)
    messages = body.get("messages", [])
    results = tuple(joined(message.get("content")) for message in messages if message.get("role") == "tool")
    wanted = body.get("response_format") or {}
    schema = (wanted.get("json_schema") or {}).get("schema") or ({} if wanted.get("type") == "json_object" else None)
    return Question(NAME, body, tools, results, schema, bool(body.get("stream")))


def whole(reply: Reply) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": [_call(reply)]} if reply.tool else None
    message = message or {"role": "assistant", "content": reply.text}
    choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
    return {**_envelope(reply, "chat.completion"), "choices": [choice], "usage": _usage(reply)}


def events(reply: Reply) -> Iterator[dict[str, Any] | None]:
    yield _chunk(reply, {"role": "assistant", "content": ""})
    if reply.tool:
        yield _chunk(reply, {"tool_calls": [{"index": 0, **_call(reply)}]})
    else:
        for word in reply.text.splitlines(keepends=True):
            yield _chunk(reply, {"content": word})
    yield _chunk(reply, {}, _reason(reply))
    yield {**_envelope(reply, "chat.completion.chunk"), "choices": [], "usage": _usage(reply)}
    yield None


def line(event: dict[str, Any] | None) -> str:
    return f"data: {'[DONE]' if event is None else json.dumps(event)}\n\n"


def _envelope(reply: Reply, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{reply.number}", "object": kind, "created": 1_700_000_000, "model": "stand-in"}


def _chunk(reply: Reply, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {**_envelope(reply, "chat.completion.chunk"), "choices": [choice]}


def _call(reply: Reply) -> dict[str, Any]:
    name = reply.tool.name if reply.tool else ""
    function = {"name": name, "arguments": json.dumps(reply.arguments)}
    return {"id": f"call_{reply.number}", "type": "function", "function": function}


def _usage(reply: Reply) -> dict[str, Any]:
    return {"prompt_tokens": reply.tokens, "completion_tokens": 20, "total_tokens": reply.tokens + 20}


def _reason(reply: Reply) -> str:
    return "tool_calls" if reply.tool else "stop"
