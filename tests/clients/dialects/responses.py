"""OpenAI's responses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.clients.exchange import Question, Reply, Tool, joined

PATH = r"/responses(\?|$)"
NAME = "responses"


def read(body: dict[str, Any], path: str) -> Question:
    tools: list[Tool] = []
    for each in body.get("tools") or []:
        if each.get("type") == "namespace":
            tools += [Tool(inner["name"], each["name"]) for inner in each.get("tools", []) if "name" in inner]
        elif "name" in each:
            tools.append(Tool(each["name"]))
    given = body.get("input")
    items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    outputs = (item for item in items if str(item.get("type")).endswith("call_output"))
    shape = (body.get("text") or {}).get("format") or {}
    schema = shape.get("schema") or ({} if shape.get("type") == "json_object" else None)
    results = tuple(joined(item.get("output")) for item in outputs)
    return Question(NAME, body, tuple(tools), results, schema, bool(body.get("stream")))


def whole(reply: Reply) -> dict[str, Any]:
    return _response(reply, "completed", [_item(reply)])


def events(reply: Reply) -> Iterator[tuple[str, dict[str, Any]]]:
    item = _item(reply)
    yield "response.created", {"response": _response(reply, "in_progress", [])}
    empty: dict[str, Any] = {"arguments": ""} if reply.tool else {"content": []}
    opened = {**item, "status": "in_progress", **empty}
    yield "response.output_item.added", {"output_index": 0, "item": opened}
    if not reply.tool:
        at = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        yield "response.content_part.added", {**at, "part": {"type": "output_text", "text": "", "annotations": []}}
        for word in reply.text.splitlines(keepends=True):
            yield "response.output_text.delta", {**at, "delta": word}
        yield "response.output_text.done", {**at, "text": reply.text}
        yield "response.content_part.done", {**at, "part": item["content"][0]}
    else:
        at = {"item_id": item["id"], "output_index": 0}
        yield "response.function_call_arguments.delta", {**at, "delta": item["arguments"]}
        yield "response.function_call_arguments.done", {**at, "arguments": item["arguments"]}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": whole(reply)}


def line(event: tuple[str, dict[str, Any]]) -> str:
    name, data = event
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"


def _item(reply: Reply) -> dict[str, Any]:
    if reply.tool:
        space = {"namespace": reply.tool.namespace} if reply.tool.namespace else {}
        named = {"id": f"fc_{reply.number}", "call_id": f"call_{reply.number}", "name": reply.tool.name, **space}
        return {"type": "function_call", **named, "arguments": json.dumps(reply.arguments), "status": "completed"}
    content = [{"type": "output_text", "text": reply.text, "annotations": []}]
    named = {"id": f"msg_{reply.number}", "role": "assistant", "status": "completed"}
    return {"type": "message", **named, "content": content}


def _response(reply: Reply, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {
        "input_tokens": reply.tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.tokens + 20,
    }
    named = {"id": f"resp_{reply.number}", "object": "response", "created_at": 1_700_000_000, "model": "stand-in"}
    return {**named, "status": status, "output": output, "usage": usage if output else None}
