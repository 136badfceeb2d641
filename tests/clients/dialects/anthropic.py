"""Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.clients.exchange import Question, Reply, Tool, joined

PATH = r"/messages(\?|$)"
NAME = "anthropic"


def read(body: dict[str, Any], path: str) -> Question:
    blocks = [block for message in body.get("messages", []) for block in _blocks(message)]
    results = tuple(joined(block.get("content")) for block in blocks if block.get("type") == "tool_result")
    # A deferred tool can be called once a search has found it.
    found = set("\n".join(results).splitlines())
    tools = tuple(
        Tool(each["name"], is_deferred=bool(each.get("defer_loading")) and each["name"] not in found)
        for each in body.get("tools") or []
        if "name" in each
    )
    shape = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return Question(NAME, body, tools, results, shape.get("schema"), bool(body.get("stream")))


def whole(reply: Reply) -> dict[str, Any]:
    return {**_message(reply), "content": [_block(reply)], "stop_reason": _reason(reply)}


def events(reply: Reply) -> Iterator[tuple[str, dict[str, Any]]]:
    block = _block(reply)
    yield "message_start", {"message": {**_message(reply), "content": [], "stop_reason": None}}
    if reply.tool:
        yield "content_block_start", {"index": 0, "content_block": {**block, "input": {}}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
        yield "content_block_delta", {"index": 0, "delta": delta}
    else:
        yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
        for word in reply.text.splitlines(keepends=True):
            yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": word}}
    yield "content_block_stop", {"index": 0}
    ending = {"stop_reason": _reason(reply), "stop_sequence": None}
    yield "message_delta", {"delta": ending, "usage": {"output_tokens": 20}}
    yield "message_stop", {}


def line(event: tuple[str, dict[str, Any]]) -> str:
    name, data = event
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _message(reply: Reply) -> dict[str, Any]:
    usage = {"input_tokens": reply.tokens, "output_tokens": 1}
    return {"id": f"msg_{reply.number}", "type": "message", "role": "assistant", "model": "stand-in", "usage": usage}


def _block(reply: Reply) -> dict[str, Any]:
    if reply.tool:
        named = {"id": f"toolu_{reply.number}", "name": reply.tool.name}
        return {"type": "tool_use", **named, "input": reply.arguments}
    return {"type": "text", "text": reply.text}


def _reason(reply: Reply) -> str:
    return "tool_use" if reply.tool else "end_turn"
