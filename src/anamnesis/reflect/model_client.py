"""The client of the configured model, at any OpenAI-compatible endpoint. Callers redact secrets first."""

from __future__ import annotations

import http.client
import json
import threading
import urllib.error
import urllib.request
from typing import Any

from anamnesis.config import Reflection
from anamnesis.light import lazy_pattern

# The errors of a request: the model is not reached, or its answer is malformed.
UNREACHED = (OSError, http.client.HTTPException)
MALFORMED = (ValueError, LookupError, TypeError, RecursionError)
FAILURES = (*UNREACHED, *MALFORMED)
_MOST_BYTES = 1_000_000
# The beginning of a JSON object; a brace without a key or a closing brace after it belongs to a sentence.
_OBJECT = lazy_pattern(r'\{(?=\s*+["}])')


def ask(settings: Reflection, task: str, content: str) -> str:
    """The model's answer. Raises an error of FAILURES if it cannot be reached, or if the answer is malformed."""
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
    answer: Any = json.loads(_sent(request, settings.timeout))
    said = answer["choices"][0]["message"]["content"]
    if not isinstance(said, str):
        raise TypeError("The answer is no text.")
    return said


def _sent(request: urllib.request.Request, timeout: float) -> bytes:
    """The body of the answer. Raises TimeoutError if it is not complete in time.

    urllib's timeout starts again with each byte, so the request runs in a thread that is abandoned at the timeout.
    """
    text: list[bytes] = []
    failure: list[BaseException] = []

    def send() -> None:
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:  # noqa: S310
                found = response.read(_MOST_BYTES)
                if response.length:  # `read` with a limit returns a truncated answer without an error
                    raise http.client.IncompleteRead(found, response.length)
            text.append(found)
        except FAILURES as error:
            failure.append(error)

    thread = threading.Thread(target=send, name="model", daemon=True)
    thread.start()
    thread.join(timeout)
    if failure:
        raise failure.pop()  # which holds the response: a reference from here would keep that open
    if not text:
        raise TimeoutError
    return text[0]


def json_object(answer: str) -> dict[str, Any]:
    """The first JSON object in an answer, which may be wrapped in a fence or in sentences."""
    begin = _OBJECT.search(answer)
    if begin is None:
        raise ValueError("The answer holds no JSON object.")
    found: dict[str, Any] = json.JSONDecoder().raw_decode(answer, begin.start())[0]
    return found
