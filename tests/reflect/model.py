"""A stand-in for a model: a real HTTP server that answers as it is told and records its requests."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from anamnesis.config import Reflection


class Model:
    """An endpoint with a configured answer and delay that records its requests."""

    def __init__(self) -> None:
        self.status = 200
        self.promised = 0  # more bytes than are sent: the connection is lost half-way
        self.drips = False  # it sends a blank every tenth of a second instead of an answer
        self.answer: bytes = self.saying(json.dumps({"title": "Login fixed", "body": "The cookie had expired."}))
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.asked: list[tuple[str, str, Any]] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.asked.append((self.path, self.headers["Authorization"], body))
                model.may_answer.wait()
                with contextlib.suppress(ConnectionError):  # who asked has given up
                    self.send_response(model.status)
                    if model.promised:
                        self.send_header("Content-Length", str(model.promised))
                    self.end_headers()
                    while model.drips:
                        self.wfile.write(b" ")
                        time.sleep(0.1)
                    self.wfile.write(model.answer)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def saying(text: str) -> bytes:
        return json.dumps({"choices": [{"message": {"content": text}}]}).encode()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def settings(self, **changes: Any) -> Reflection:
        base: dict[str, Any] = {"base_url": self.url, "api_key": "key", "timeout": 60, "max_tokens": 77}
        return Reflection(**{"provider": "openai", "model": "small", **base, **changes})
