"""The configured model, at any OpenAI-compatible endpoint: one question, one answer. Callers redact secrets first."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any

from anamnesis.config import Reflection

# What can go wrong when a model is asked: it is not reached, or its answer is malformed.
UNREACHED = (OSError, http.client.HTTPException)
MALFORMED = (ValueError, LookupError, TypeError)
FAILURES = (*UNREACHED, *MALFORMED)
_MOST_BYTES = 1_000_000


def ask(settings: Reflection, task: str, content: str) -> str:
    """What the model answers. Raises what FAILURES names if it cannot be reached, or if the answer is malformed."""
    request_body = {
        "model": settings.model,
        "max_tokens": settings.max_tokens,
        "messages": [{"role": "system", "content": task}, {"role": "user", "content": content}],
    }
    if not settings.base_url.startswith(("https://", "http://")):
        raise ValueError(settings.base_url)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {settings.api_key}"}
    request = urllib.request.Request(  # noqa: S310
        f"{settings.base_url.rstrip('/')}/chat/completions", json.dumps(request_body).encode("ascii"), headers
    )
    with urllib.request.urlopen(request, timeout=settings.timeout) as response:  # noqa: S310
        text = response.read(_MOST_BYTES)
        if response.length:  # `read` with a limit returns what has arrived
            raise http.client.IncompleteRead(text, response.length)
    answer: Any = json.loads(text)
    said = answer["choices"][0]["message"]["content"]
    if not isinstance(said, str):
        raise TypeError("The answer is no text.")
    return said


def json_object(answer: str) -> dict[str, Any]:
    """The JSON object in an answer, which may be wrapped in a fence."""
    start, end = answer.find("{"), answer.rfind("}")
    found = json.loads(answer[start : end + 1]) if start >= 0 else None
    if not isinstance(found, dict):
        raise ValueError("The answer holds no JSON object.")
    return found
