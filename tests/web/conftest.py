"""Daemons of their own for the tests of HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.daemon import Daemon


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon for all tests of a module that do not mind each other."""
    started = Daemon(tmp_path_factory.mktemp("home"))
    yield started
    assert started.stop() == (0, "")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon with an empty memory, that ends without having said anything."""
    started = Daemon(tmp_path)
    yield started
    assert started.stop() == (0, "")


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon that behaves as Engram was recorded to."""
    started = Daemon(tmp_path, ANAMNESIS_ENGRAM_STRICT="1")
    yield started
    assert started.stop() == (0, "")


@pytest.fixture
def begun(daemon: Daemon) -> Daemon:
    """A daemon that knows the session `s`."""
    assert daemon.ask("POST", "/sessions", '{"id":"s","project":"p","directory":"/w"}').status == 201
    return daemon
