"""A model on loopback: speaks every vendor's protocol, makes the tool calls of a scene and records each request.

It is also the clients' proxy: requests to other hosts are refused and recorded.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

from tests.clients.dialects import anthropic, chat, gemini, responses
from tests.clients.exchange import Call, Question, Reply, instance

DIALECTS: tuple[ModuleType, ...] = (anthropic, chat, responses, gemini)
# Some clients with many tools offer a tool search instead.
_SEARCHES = ("ToolSearch", "tool_search", "search_tools")
# One of them calls a found tool through another tool.
_USE = "use_tool"
_MODELS = {"object": "list", "data": [{"id": "stand-in", "object": "model", "created": 1, "owned_by": "stand-in"}]}
_USUAL_TOKENS = 100
_COUNT = {"input_tokens": 100, "totalTokens": 100}


@dataclass(slots=True)
class Part:
    """The model's part in a session: its calls in order, then its text.

    `asides` are answers (a text or a call) to first requests that contain a key, such as a subagent's. With `hangs`,
    the text never ends.
    `tokens` is the size reported for each request until one without tools, so that a client compacts once.
    """

    text: str = "Done."
    calls: list[Call] = field(default_factory=list)
    asides: dict[str, str | Call] = field(default_factory=dict)
    hangs: bool = False
    tokens: int = _USUAL_TOKENS


class StandIn:
    """The server; `questions` are the requests so far, `strangers` the refused ones."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.strangers: list[str] = []
        self.hanging = threading.Event()
        self._part = Part()
        self._searched = ""
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), type("_Bound", (_Handler,), {"model": self}))
        self._closing = threading.Event()
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def play(self, part: Part) -> None:
        """Start a new part; recorded requests stay."""
        with self._lock:
            self._part, self._searched = part, ""
            self.hanging.clear()

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reply(self, question: Question) -> Reply:
        """Record the request and choose the answer."""
        with self._lock:
            self.questions.append(question)
            number, part, tokens = len(self.questions), self._part, self._part.tokens
            if question.schema is not None:
                text = json.dumps(instance(question.schema) if question.schema else {})
                return Reply(text, tokens=tokens, number=number)
            if not question.tools:
                part.tokens = _USUAL_TOKENS  # a request for a summary, after which the context is small again
            asides = part.asides.items() if not question.results else ()
            aside = next((answer for word, answer in asides if word in question.text), None)
            call = aside if isinstance(aside, Call) else self._next_call(question) if aside is None else None
            if call:
                last = question.results[-1] if question.results else ""
                arguments = call.arguments(last) if callable(call.arguments) else call.arguments
                return Reply("", question.tool(call.tool), arguments, tokens, number)
            return Reply(aside if isinstance(aside, str) else part.text, tokens=tokens, number=number)

    def hang(self, question: Question) -> bool:
        """Whether the answer to this request never ends."""
        return self._part.hangs and bool(question.tools) and not self._part.calls

    def wait_for_closing(self) -> None:
        self.hanging.set()
        self._closing.wait(600)

    def _next_call(self, question: Question) -> Call | None:
        wanted = self._part.calls[0] if self._part.calls else None
        if wanted is None:
            return None
        if question.tool(wanted.tool):
            return self._part.calls.pop(0)
        if question.tool(_USE):
            self._part.calls.pop(0)
            return Call(_USE, {"tool_name": f"anamnesis__{wanted.tool}", "tool_input": wanted.arguments})
        search = next((name for name in _SEARCHES if question.tool(name)), None)
        if search is None or self._searched == wanted.tool:
            return None
        self._searched = wanted.tool
        named = re.search(rf"\w*anamnesis_+{wanted.tool}\b", question.text)
        return Call(search, {"query": f"select:{named[0] if named else f'mcp__anamnesis__{wanted.tool}'}"})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the reset connection of a killed client; report anything else."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    model: StandIn
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self._body()
        dialect = next((each for each in DIALECTS if re.search(each.PATH, self.path)), None)
        if "count" in self.path.lower() and "oken" in self.path:
            self._send_json(_COUNT)
        elif dialect is None or not isinstance(body, dict):
            self._refuse()
        else:
            question = dialect.read(body, self.path)
            reply = self.model.reply(question)
            if question.streamed:
                self._stream(dialect, question, reply)
            else:
                self._send_json(dialect.whole(reply))

    def do_GET(self) -> None:
        if re.search(r"/models(\?|$)", self.path):
            self._send_json(_MODELS)
        else:
            self._refuse()

    def do_HEAD(self) -> None:
        self._send(200, "text/plain", b"")

    def do_CONNECT(self) -> None:
        self._refuse()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _stream(self, dialect: ModuleType, question: Question, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        lines = [dialect.line(event) for event in dialect.events(reply)]
        hangs = not reply.tool and self.model.hang(question)
        try:
            for line in lines[: len(lines) // 2] if hangs else lines:
                self.wfile.write(line.encode())
                self.wfile.flush()
        except OSError:  # the client was killed
            return
        if hangs:
            self.model.wait_for_closing()

    def _body(self) -> Any:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        try:
            return json.loads(data)
        except ValueError:
            return None

    def _refuse(self) -> None:
        self.model.strangers.append(f"{self.command} {self.path}".partition("?")[0])
        self._send(404, "application/json", b'{"error": {"message": "not here", "type": "not_found"}}')

    def _send_json(self, value: Any) -> None:
        self._send(200, "application/json", json.dumps(value).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
