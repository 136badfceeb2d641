"""The daemon is killed while many clients write: every answered write is stored, and none was refused."""

from __future__ import annotations

import http.client
import json
import signal
import threading
from collections import Counter
from pathlib import Path

from tests.web.daemon import Daemon

WRITERS, READERS = 32, 4
ENOUGH = 1500


class Clients:
    """Writers and readers beside them, each on its own connection, until the daemon is gone."""

    def __init__(self, daemon: Daemon) -> None:
        self.saved: dict[int, str] = {}
        self.statuses: Counter[int] = Counter()
        self.enough = threading.Event()
        self._daemon = daemon
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)]
        self._threads += [threading.Thread(target=self._read) for _ in range(READERS)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)

    def _write(self, writer: int) -> None:
        connection = self._daemon.connect()
        number = 0
        try:
            while True:
                number += 1
                title = f"{writer}-{number}"
                body = json.dumps(
                    {"session_id": "s", "type": "decision", "title": title, "content": f"words of {title}"}
                )
                connection.request("POST", "/observations", body)
                response = connection.getresponse()
                answer = json.loads(response.read())
                self.statuses[response.status] += 1
                if response.status == 201:
                    self.saved[answer["id"]] = title
                if len(self.saved) >= ENOUGH:
                    self.enough.set()
        except (OSError, http.client.HTTPException, ValueError):
            connection.close()

    def _read(self) -> None:
        connection = self._daemon.connect()
        try:
            while True:
                for path in ("/search?q=words", "/context", "/stats", "/observations/1"):
                    connection.request("GET", path)
                    response = connection.getresponse()
                    response.read()
                    self.statuses[response.status] += 1
        except (OSError, http.client.HTTPException):
            connection.close()


def test_every_answered_write_survives_the_end_and_none_is_refused(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    assert daemon.ask("POST", "/sessions", '{"id":"s","project":"p"}').status == 201
    assert daemon.ask("POST", "/observations", '{"session_id":"s","title":"first","content":"words"}').status == 201
    clients = Clients(daemon)
    assert clients.enough.wait(120)
    daemon.stop(signal.SIGKILL)
    clients.join()
    assert set(clients.statuses) == {200, 201}
    again = Daemon(tmp_path)
    kept = {each["id"]: each["title"] for each in json.loads(again.ask("GET", "/export").body)["observations"]}
    assert clients.saved.items() <= kept.items()
    assert len(clients.saved) >= ENOUGH
    found = json.loads(again.ask("GET", "/search?q=words&limit=20").body)
    assert len(found) == 20
    assert again.stop() == (0, "")
