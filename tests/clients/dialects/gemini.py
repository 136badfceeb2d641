"""Gemini's generateContent and streamGenerateContent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.clients.exchange import Question, Reply, Tool, joined

PATH = r":(streamGenerateContent|generateContent)(\?|$)"
NAME = "gemini"


def read(body: dict[str, Any], path: str) -> Question:
    declared = [each for group in body.get("tools") or [] for each in group.get("functionDeclarations") or []]
    parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
    results = (part["functionResponse"].get("response") for part in parts if "functionResponse" in part)
    config = body.get("generationConfig") or {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    schema = schema or ({} if config.get("responseMimeType") == "application/json" else None)
    tools = tuple(Tool(each["name"]) for each in declared)
    return Question(NAME, body, tools, tuple(map(joined, results)), schema, ":stream" in path)


def whole(reply: Reply) -> dict[str, Any]:
    part: dict[str, Any] = {"text": reply.text}
    if reply.tool:
        part = {"functionCall": {"id": f"call_{reply.number}", "name": reply.tool.name, "args": reply.arguments}}
    return _piece(reply, part, "STOP")


def events(reply: Reply) -> Iterator[dict[str, Any]]:
    if not reply.tool:
        for word in reply.text.splitlines(keepends=True):
            yield _piece(reply, {"text": word})
        yield _piece(reply, {"text": ""}, "STOP")
    else:
        yield whole(reply)


def line(event: dict[str, Any]) -> str:
    return f"data: {json.dumps(event)}\n\n"


def _piece(reply: Reply, part: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    finish = {"finishReason": reason} if reason else {}
    usage = {"promptTokenCount": reply.tokens, "candidatesTokenCount": 20, "totalTokenCount": reply.tokens + 20}
    candidate = {"content": {"role": "model", "parts": [part]}, "index": 0, **finish}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stand-in"}
