"""An in-memory hub with the real HTTP API, whose connections can break before or after a request is handled."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from anamnesis.notes import parse, render
from anamnesis.store.placing import without_secrets

Json = dict[str, Any]


@dataclass
class Space:
    """The versions of notes, and the roles of the members."""

    members: dict[str, str]
    projects: list[str] = field(default_factory=list)
    seq: int = 0
    versions: dict[str, list[tuple[int, str | None]]] = field(default_factory=dict)
    id: int = field(default_factory=itertools.count(1).__next__)

    authors: dict[int, str] = field(default_factory=dict)

    def current(self, note: str) -> tuple[int, str | None]:
        return self.versions.get(note, [(0, None)])[-1]

    def live(self) -> dict[str, str]:
        return {note: each[-1][1] for note, each in self.versions.items() if each[-1][1] is not None}


class SmallHub:
    """A user's token is the name. `cut(path, "before" or "after")` decides whether a request's connection breaks."""

    def __init__(self) -> None:
        self.id = "hub-one"
        self.spaces: dict[str, Space] = {}
        self.requests: list[str] = []
        self.cut: Callable[[str, str], bool] = lambda _path, _when: False
        self.page = 500
        self.fails_at: list[str] = []  # texts of changes that it cannot process
        self.failure = 503
        self.lists_authors = True  # as earlier releases did not
        self.lock = threading.RLock()
        self.changed = threading.Condition()
        self.is_closed = False
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path == "/v1/live":
                    self.announce()
                else:
                    self.answer(None)

            def announce(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.close_connection = True
                with hub.changed:
                    while not hub.is_closed:
                        hub.changed.wait(0.5)
                        self.wfile.write(b'data: {"space": "any", "seq": 1}\n\n')

            def do_POST(self) -> None:
                self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def answer(self, body: Any) -> None:
                user = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
                with hub.lock:
                    hub.requests.append(self.path)
                    if hub.cut(self.path, "before"):
                        self.close_connection = True
                        return
                    status, answer = hub.handle(user, self.path, body)
                    if hub.cut(self.path, "after"):
                        self.close_connection = True
                        return
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()

    def add_user(self, name: str) -> None:
        self.spaces[f"~{name}"] = Space({name: "owner"})

    def put(self, space: str, note: str, text: str | None, author: str = "mate") -> int:
        """Change a note as another client would."""
        with self.lock:
            held = self.spaces[space]
            held.seq += 1
            held.versions.setdefault(note, []).append((held.seq, text))
            held.authors[held.seq] = author
        with self.changed:
            self.changed.notify_all()
        return held.seq

    def text(self, space: str, note: str) -> str | None:
        return self.spaces[space].current(note)[1]

    def handle(self, user: str, path: str, body: Any) -> tuple[int, Any]:
        if f"~{user}" not in self.spaces:
            return 401, {"error": "no", "hint": ""}
        seen = {name: each for name, each in self.spaces.items() if user in each.members}
        if path == "/v1/me":
            shown = [
                {"id": s.id, "name": n, "role": s.members[user], "seq": s.seq, "projects": s.projects}
                for n, s in seen.items()
            ]
            return 200, {"user": user, "hub": self.id, "personal": f"~{user}", "spaces": shown}
        if path == "/v1/sync":
            return 200, {"hub": self.id, "spaces": self._since(user, seen, body["cursors"])}
        if path == "/v1/changes" and any(each in json.dumps(body) for each in self.fails_at):
            return self.failure, {"error": "The database took too long.", "hint": ""}
        if path == "/v1/changes":
            return 200, {"results": [self._accept(user, seen, each) for each in body["changes"]]}
        parts = path.split("/")[3:]
        space = seen.get(parts[0].replace("%7E", "~"))
        if path.endswith("/authors"):
            if not space or not self.lists_authors:
                return 404, {"error": "There is nothing here."}
            return 200, {"authors": {each: self._authors(space, each) for each in body["ids"]}}
        note = parts[2]
        found = None
        if space:
            versions = dict(space.versions.get(note, []))
            if path.endswith("/versions"):
                listed = [
                    {"version": each, "author": space.authors.get(each, ""), "deleted": versions[each] is None}
                    for each in sorted(versions)
                ]
                return 200, {"versions": listed[::-1]}
            wanted = int(parts[4]) if len(parts) > 4 else max(versions, default=0)
            described = {"id": note, "version": wanted, "author": space.authors.get(wanted, "")}
            found = {**described, "text": versions[wanted]} if wanted in versions else None
            taken = [each for each in versions if each > wanted and versions[each] is None]
            if any(user not in (space.authors.get(each), space.authors.get(wanted)) for each in taken):
                return 403, {"error": "The note was taken out of the space."}
        return (200, found) if found else (404, {"error": "There is no such note."})

    def _authors(self, space: Space, note: str) -> list[str]:
        return [space.authors.get(version, "") for version, _ in reversed(space.versions.get(note, []))]

    def _since(self, user: str, seen: dict[str, Space], cursors: Json) -> Json:
        answer: Json = {name: {"gone": True} for name in cursors if name not in seen}
        room = self.page
        for name, space in seen.items():
            cursor = cursors.get(name, 0)
            cursor = 0 if cursor > space.seq else cursor
            changed = sorted((v[-1][0], n, v[-1][1]) for n, v in space.versions.items() if v[-1][0] > cursor)
            shown = [
                {"id": n, "version": v, "text": t, "author": space.authors.get(v, "")} for v, n, t in changed[:room]
            ]
            more = len(changed) > room
            room -= len(shown)
            answer[name] = {"id": space.id, "role": space.members[user], "projects": space.projects, "seq": space.seq}
            answer[name] |= {"changes": shown, "more": more}
        return answer

    def _accept(self, user: str, seen: dict[str, Space], change: Json) -> Json:
        name, note, text = change["space"], change["id"], change["text"]
        result: Json = {"space": name, "id": note}
        if name not in seen or seen[name].members[user] == "reader":
            return {**result, "refused": f"You may not write {name}."}
        if change.get("space_id", seen[name].id) != seen[name].id:
            return {**result, "refused": f"The space {name} is another one.", "space_id": seen[name].id}
        if text is not None and "REFUSE" in text:
            return {**result, "refused": "Not this one."}
        is_redacted = False
        if text is not None and (clean := without_secrets(parse(text))) is not parse(text) and clean != parse(text):
            text, is_redacted = render(clean), True
        version, current = seen[name].current(note)
        if text != current:
            if change["base"] != version:
                author = seen[name].authors.get(version, "")
                return {**result, "conflict": {"version": version, "text": current, "author": author}}
            taker = seen[name].authors.get(version, "")
            if version and current is None and not name.startswith("~") and taker != user and not change.get("anew"):
                return {**result, "refused": f"{taker} took it out.", "taken_by": taker}
            version = self.put(name, note, text, user)
        return {**result, "version": version, **({"text": text} if is_redacted else {})}
