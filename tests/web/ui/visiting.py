"""A visitor of the dashboard without a browser: reads the data of pages, sends their forms, and undoes."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.web.daemon import Daemon

HTML = "text/html,application/xhtml+xml"


class Visitor:
    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def data(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._daemon.ask("GET", path, Accept="application/json").text)
        return found

    def send(self, path: str, **fields: str) -> dict[str, str]:
        """Send a form; what the next page says was done, and what undoes it."""
        page = self._daemon.ask("GET", "/ui/notes/new", Accept=HTML).text
        token = re.search(r'name="form_token" value="([^"]+)"', page)
        assert token
        body = urlencode({"form_token": token[1], **fields})
        sent = self._daemon.ask("POST", path, body, Content_Type="application/x-www-form-urlencoded")
        assert sent.status == 303, sent.text
        said = parse_qs(urlsplit(sent.headers["location"]).query)
        return {name: values[0] for name, values in said.items()}

    def undo(self, done: dict[str, str]) -> dict[str, str]:
        return self.send("/ui/undo", undo=done["undo"])
