"""One loaded model per machine: the daemon ranks notes for other processes, which never wait long for it or fail."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from tests.store.test_linked import NEWER, OLDER, QUERY, newer, older
from tests.waiting import wait_until
from tests.web.daemon import Daemon, environment, running

from anamnesis import __version__
from anamnesis.config import Settings, read_settings
from anamnesis.daemon_client import DaemonClient
from anamnesis.notes.marks import UPDATED_BY, with_link
from anamnesis.pid_file import PidFile
from anamnesis.store import MemoryStore
from anamnesis.store.queries import Filter
from anamnesis.store.question import MODES, Question, Ranked, Why
from anamnesis.store.related import resembling

# Tests run on loaded machines: how long the daemon takes is not what they are about.
PATIENCE = 60.0
HERE = [Ranked("here", "memory/here.md", 1.0, (0, 0))]


def settings(home: Path, **variables: str) -> Settings:
    return read_settings(environment(home, **variables), home)


def client(home: Path, seconds: float = PATIENCE, **variables: str) -> DaemonClient:
    return DaemonClient(settings(home, **variables), lambda _: HERE, seconds)


@pytest.fixture
def ids(tmp_path: Path) -> dict[str, str]:
    with MemoryStore(tmp_path) as store:
        notes = {"Pods": "kubectl rollout restart", "Pancakes": "Two eggs and flour.", "Beach": "Empty in October."}
        return {
            title: store.write(type="semantic", title=title, body=body, project="shop", tags=["t"]).id
            for title, body in notes.items()
        }


@contextlib.contextmanager
def answering_recall(home: Path, *arguments: str, **variables: str) -> Iterator[Daemon]:
    """A daemon that has opened the notes."""
    given = {"Authorization": f"Bearer {variables['ANAMNESIS_TOKEN']}"} if "ANAMNESIS_TOKEN" in variables else {}
    with running(home, *arguments, **variables) as daemon:
        wait_until(lambda: daemon.ask("POST", "/recall", '{"query": "x"}', **given).status == 200)
        yield daemon


@pytest.fixture
def daemon(ids: dict[str, str], tmp_path: Path) -> Iterator[Daemon]:
    with answering_recall(tmp_path) as started:
        yield started


def recall(daemon: Daemon, **asked: Any) -> tuple[int, Any]:
    reply = daemon.ask("POST", "/recall", json.dumps(asked))
    return reply.status, json.loads(reply.body)


def test_the_newer_of_two_linked_notes_comes_first_and_the_older_names_it(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        store.put_all([with_link(older(), UPDATED_BY, NEWER), newer()])
    with answering_recall(tmp_path) as daemon:
        for mode in MODES:
            _, answer = recall(daemon, query=QUERY, mode=mode)
            assert [(hit["id"], hit.get("outdated_by")) for hit in answer["hits"]] == [(NEWER, None), (OLDER, NEWER)]
        ranked = client(tmp_path)(Question(QUERY, Filter(), 1))
        assert ranked is not None
        assert [hit.id for hit in ranked] == [NEWER]


def test_the_route_ranks_notes_with_their_titles_and_types(daemon: Daemon, ids: dict[str, str]) -> None:
    status, answer = recall(daemon, query="pancakes", k=1)
    (hit,) = answer["hits"]
    assert status == 200
    assert (hit["id"], hit["title"], hit["type"], hit["project"]) == (ids["Pancakes"], "Pancakes", "semantic", "shop")
    assert (daemon.home / hit["path"]).stat().st_size == hit["seen"][0]
    assert hit["score"] > 0


def test_the_route_has_the_filters_of_a_search(daemon: Daemon, ids: dict[str, str]) -> None:
    found = {"query": "pancakes", "project": "shop", "type": "semantic", "scope": "portable", "tags": ["t"]}
    found |= {"source": "human", "since": "2001-01-01", "until": "9999-01-01", "mode": "words"}
    assert [hit["id"] for hit in recall(daemon, **found)[1]["hits"]] == [ids["Pancakes"]]
    others = {"project": "other", "type": "episodic", "scope": "machine-local", "tags": ["u"], "source": "import"}
    for name, value in {**others, "since": "9999-01-01", "until": "2001-01-01", "k": 0}.items():
        assert recall(daemon, **{**found, name: value}) == (200, {"hits": []}), name


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "not an object"),
        ("{}", "needs the argument 'query'"),
        ('{"query": 5}', "query is 5, but must be a text"),
        ('{"query": "x", "colour": "red"}', "no argument 'colour'"),
        ('{"query": "x", "type": "red"}', 'type "red" is not one of'),
        ('{"query": "x", "mode": "red"}', 'mode "red" is not one of fused, words, meaning'),
        ('{"query": "x", "k": -1}', "cannot be less than 0"),
        ('{"query": "x", "tags": 5}', "tags is 5, but must be a list of texts"),
    ],
)
def test_a_bad_question_is_refused_in_a_sentence(shared: Daemon, body: str, sentence: str) -> None:
    reply = shared.ask("POST", "/recall", body)
    assert reply.status == 400
    assert sentence in json.loads(reply.body)["error"]


def test_odd_questions_are_answered(shared: Daemon) -> None:
    for query in ("", " ", "\ud800", '"', "\0", "the of and", "x " * 20_000):
        assert recall(shared, query=query)[0] == 200
    assert recall(shared, query="x", k=10**30)[0] == 200


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("home")
    with MemoryStore(home) as store:
        store.write(type="semantic", title="Pods", body="kubectl rollout restart")
    with answering_recall(home) as started:
        yield started


def test_a_page_of_another_site_learns_nothing(shared: Daemon) -> None:
    asked = json.dumps({"query": "pods"})
    assert shared.ask("POST", "/recall", asked, Origin="https://example.org").status == 403
    assert shared.ask("POST", "/recall", asked, Host="example.org").status == 403


def test_the_client_returns_the_daemons_ranking(daemon: Daemon, ids: dict[str, str]) -> None:
    ranked = client(daemon.home)(Question("pancakes", Filter("shop", tags=("t",)), 1))
    assert ranked
    assert [each.id for each in ranked] == [ids["Pancakes"]]
    assert isinstance(ranked[0].seen, tuple)
    with MemoryStore(daemon.home) as store:
        store.ranking.ranker = client(daemon.home)
        assert [hit.memory.title for hit in store.hits("pancakes", k=1, explain=True)] == ["Pancakes"]


def test_every_part_of_a_question_and_of_an_answer_arrives(tmp_path: Path) -> None:
    """Whatever is added to them."""
    wanted = Filter(
        "p", "semantic", "portable", ("p", "x/p"), ("t",), "human", "2020", "2030", "laptop", ("id",), ("o",)
    )
    question = Question("q", wanted, 3, "meaning", explain=True, at_hand="p", like="id", warm=True)
    assert all(getattr(wanted, each.name) != each.default for each in fields(Filter))
    assert all(value != Question._field_defaults.get(name) for name, value in question._asdict().items())
    hit = Ranked(
        "id",
        "path",
        0.5,
        (1, 2**62),
        0.25,
        Why({"word": 1.5}, "passage", {"part": 2.5}, {"coverage": 1.0}, {"strength": 0.5}),
    )
    assert all(value != Ranked._field_defaults.get(name) for name, value in hit._asdict().items())
    from anamnesis.web.recall_route import _as_dict, _question

    asked: list[Question] = []

    def answer(request: bytes) -> bytes:
        asked.append(_question(request.partition(b"\r\n\r\n")[2]))
        return b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps({"hits": [_as_dict(hit)]}).encode()

    with answering(tmp_path, answer):
        assert client(tmp_path)(question) == [hit]
    assert asked == [question]


@contextlib.contextmanager
def answering(home: Path, answer: Any = None, version: str = __version__, of: Path | None = None) -> Iterator[None]:
    """A program in the place of the daemon; without an answer it accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening, contextlib.ExitStack() as opened:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    opened.enter_context(connection)
                    if answer:
                        connection.sendall(answer(connection.recv(1 << 20)))
                        connection.shutdown(socket.SHUT_RDWR)

        threading.Thread(target=serve, daemon=True).start()
        pid_file = PidFile(settings(home).engram_db())
        with pid_file.held("127.0.0.1", listening.getsockname()[1], of or home):
            file = pid_file.database.with_name("daemon.json")
            file.write_text(json.dumps({**json.loads(file.read_text()), "version": version}))
            yield
        listening.shutdown(socket.SHUT_RDWR)


QUESTION = Question("pancakes", Filter(), 1)


def test_without_a_daemon_this_process_ranks(tmp_path: Path) -> None:
    assert client(tmp_path)(QUESTION) == HERE
    with answering(tmp_path):
        pass
    assert client(tmp_path)(QUESTION) == HERE


def test_a_daemon_of_another_home_or_version_is_not_asked(tmp_path: Path) -> None:
    with answering(tmp_path, version="0.0.1"):
        assert client(tmp_path)(QUESTION) == HERE
    with answering(tmp_path, of=tmp_path / "other"):
        assert client(tmp_path)(QUESTION) == HERE


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\0",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 503 No\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n[]",
        b'HTTP/1.1 200 OK\r\n\r\n{"hits": [{}]}',
        b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000,
    ],
)
def test_a_daemon_that_fails_leaves_it_to_words(tmp_path: Path, answer: bytes) -> None:
    with answering(tmp_path, lambda _: answer):
        assert client(tmp_path)(QUESTION) is None


def test_a_daemon_that_does_not_answer_in_time_leaves_it_to_words_and_is_spared_for_a_while(tmp_path: Path) -> None:
    asked: list[bytes] = []

    def answer(request: bytes) -> bytes:
        asked.append(request)
        return b""

    with answering(tmp_path):
        assert client(tmp_path, 0.01)(QUESTION) is None
    with answering(tmp_path, answer):
        one = client(tmp_path)
        assert [one(QUESTION), one(QUESTION)] == [None, None]
    assert len(asked) == 1


def test_the_file_of_a_killed_daemon_is_not_believed(ids: dict[str, str], tmp_path: Path) -> None:
    """Another program may listen on its port by now, and would get the query and the token."""
    killed = Daemon(tmp_path)
    killed.stop(signal.SIGKILL)
    assert (tmp_path / "daemon.json").exists()
    assert client(tmp_path)(QUESTION) == HERE


def test_the_client_sends_the_token(ids: dict[str, str], tmp_path: Path) -> None:
    token = os.urandom(12).hex()
    with answering_recall(tmp_path, ANAMNESIS_TOKEN=token) as daemon:
        assert daemon.ask("POST", "/recall", '{"query": "x"}').status == 401
        assert client(tmp_path, ANAMNESIS_TOKEN=token)(QUESTION) not in (None, HERE)
        assert client(tmp_path)(QUESTION) is None


def test_a_home_behind_a_link_is_the_same_home(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> None:
    link = tmp_path_factory.mktemp("links") / "home"
    link.symlink_to(daemon.home)
    assert client(link)(QUESTION) not in (None, HERE)
    shutil.copytree(daemon.home / "memory", link.parent / "other" / "memory")
    assert client(link.parent / "other")(QUESTION) == HERE


@pytest.mark.parametrize("host", ["localhost", "0.0.0.0", "::1"])
def test_a_daemon_is_asked_on_whatever_address_it_has(ids: dict[str, str], tmp_path: Path, host: str) -> None:
    token = os.urandom(12).hex()
    with answering_recall(tmp_path, "--host", host, ANAMNESIS_TOKEN=token):
        assert client(tmp_path, ANAMNESIS_TOKEN=token)(QUESTION) not in (None, HERE)


def test_the_route_finds_the_notes_that_are_close_to_one(daemon: Daemon, ids: dict[str, str], tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        new = store.write(type="semantic", title="Pods of the web", body="kubectl rollout undo").id
        store.embed()
    status, answer = recall(daemon, query="", like=new, k=5)
    assert (status, [hit["id"] for hit in answer["hits"]]) == (200, [ids["Pods"]])
    assert recall(daemon, query="", like="01J00000000000000000000000") == (200, {"hits": []})


def test_a_new_note_is_compared_by_the_model_of_the_daemon(daemon: Daemon, ids: dict[str, str], tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        store.embed()
        store.ranking.ranker = client(tmp_path)
        assert store.hits("pods", mode="meaning")  # loads the model
        note = store.write(type="semantic", title="PODS", body="KUBECTL rollout restart.", project="shop")
        assert [each.id for each in resembling(store, note)] == [ids["Pods"]]
