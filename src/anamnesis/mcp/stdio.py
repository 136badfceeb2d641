"""MCP over standard input and output: one message per line; tool calls run concurrently."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import BinaryIO

from anamnesis.mcp.dispatcher import PARSE_ERROR, McpServer, Message, Report, answer_safely, error_answer

# The most concurrent tool calls; further ones wait.
_MOST_CALLS = 16
_LAST_CALLS_SECONDS = 10.0
# The methods whose uses and writes are recorded under the session; others do not need its name.
_SESSIONED = ("tools/call", "resources/read")


def serve(server: McpServer, report: Report, *, at_once: int = _MOST_CALLS) -> None:
    """Answer the messages on stdin until it ends, with up to `at_once` concurrent calls; with 1, in order.

    `report` gets the tracebacks of unexpected errors."""
    # Only the protocol writes to the real stdout: a stray print goes to stderr and cannot break a message.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0) as output:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        session = _Session(server, output, report, at_once)
        for line in sys.stdin.buffer:
            if line.strip() and not session.take(line):
                break
        session.finish()


class _Session:
    """The running calls of one client."""

    def __init__(self, server: McpServer, output: BinaryIO, report: Report, at_once: int) -> None:
        self._server = server
        self._output = output
        self._report = report
        self._writing = threading.Lock()
        self._free = threading.BoundedSemaphore(at_once)
        self._cancelled: set[object] = set()
        self._running: dict[threading.Thread, str] = {}
        self._open = True
        self._start: Message = {}

    def take(self, line: bytes) -> bool:
        """Process one line; returns whether the client still reads answers."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._send(error_answer(None, PARSE_ERROR, "The line is not JSON."))
            return self._open
        if isinstance(message, dict) and message.get("method") == "notifications/cancelled":
            params = message.get("params")
            identity = str(params.get("requestId")) if isinstance(params, dict) else None
            if identity in self._running.values():
                self._cancelled.add(identity)
        elif isinstance(message, dict) and message.get("method") == "tools/call":
            self._free.acquire()
            thread = threading.Thread(target=self._work, args=(message,), daemon=True)
            self._running[thread] = str(message.get("id"))
            thread.start()
        else:
            if isinstance(message, dict) and message.get("method") == "initialize":
                self._start = message
            self._send(self._answer(message))
        return self._open

    def finish(self) -> None:
        """Wait for the calls that were accepted."""
        for thread in list(self._running):
            thread.join(_LAST_CALLS_SECONDS)

    def _work(self, message: Message) -> None:
        try:
            answer = self._answer(message)
            identity = str(message.get("id"))
            if identity in self._cancelled:
                self._cancelled.discard(identity)
            else:
                self._send(answer)
        finally:
            del self._running[threading.current_thread()]
            self._free.release()

    def _answer(self, message: object) -> Message | list[Message] | None:
        if isinstance(message, dict) and message.get("method") not in _SESSIONED:
            return answer_safely(self._server, message, self._report)
        from anamnesis.mcp.session import client_of, in_process, speaking

        with speaking(in_process(client_of(message) or client_of(self._start))):
            return answer_safely(self._server, message, self._report)

    def _send(self, answer: Message | list[Message] | None) -> None:
        if answer is None:
            return
        # ASCII only: invalid characters are escaped, so that encoding cannot fail.
        line = json.dumps(answer, separators=(",", ":")).encode("ascii") + b"\n"
        with self._writing:
            try:
                view = memoryview(line)
                while view:
                    view = view[self._output.write(view) :]
            except (BrokenPipeError, ValueError):
                self._open = False
