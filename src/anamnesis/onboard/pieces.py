"""Our entries in a shared settings file: how each is added, updated and removed.

An entry is recognised by the server's name or by its command, never by a marker: some hosts reject unknown keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anamnesis.config import HOME_VARIABLE
from anamnesis.onboard.formats import Engine
from anamnesis.onboard.program import (
    LAUNCH_KEYS,
    as_before,
    as_engram,
    call_in,
    engram_options,
    engram_program,
    renewed,
)

Keys = tuple[str | int, ...]
# Whether an entry stays: it is of another memory of this user.
Stays = Callable[[Mapping[str, Any]], bool]
_ENVIRONMENTS = ("env", "environment", "envs")
# A server with an address was configured by the user.
_ADDRESSES = ("url", "serverUrl", "httpUrl")


def nothing_stays(_: Mapping[str, Any]) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Server:
    """The MCP server, under its name."""

    path: Keys
    value: Mapping[str, Any]

    def install(self, engine: Engine, text: str) -> str:
        theirs = at(engine.read(text), self.path)
        if not isinstance(theirs, Mapping):
            return engine.put(text, self.path, dict(self.value))
        if any(key in theirs for key in _ADDRESSES):
            return text
        return _renew(engine, text, self.path, theirs, self.value)

    def remove(self, engine: Engine, text: str, stays: Stays = nothing_stays) -> str:
        return text if any(map(stays, entries(self, engine.read(text)))) else engine.drop(text, self.path, prune=True)


@dataclass(frozen=True, slots=True)
class Item:
    """An element of a list, recognised by the command in it and, where elements name their event, by that."""

    path: Keys
    verb: str
    value: Mapping[str, Any]

    def install(self, engine: Engine, text: str) -> str:
        found = self._calls(engine, text)
        if not found:
            return engine.append(text, self.path, dict(self.value))
        _, ours = next(_calls(self.value, (), self.verb))
        for place, theirs in found:
            text = _renew(engine, text, place, theirs, ours)
        return text

    def remove(self, engine: Engine, text: str, stays: Stays = nothing_stays) -> str:
        while found := [place for place, entry in self._calls(engine, text) if not stays(entry)]:
            text = _drop_element(engine, text, found[0], len(self.path))
        return text

    def _calls(self, engine: Engine, text: str) -> list[tuple[Keys, Mapping[str, Any]]]:
        return list(self.found(engine.read(text)))

    def found(self, document: Any) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
        """The entries in a file that match this item, with their paths."""
        event = self.value.get("event")
        for place, entry in _calls(at(document, self.path), self.path, self.verb):
            if event is None or entry.get("event") == event:
                yield place, entry


@dataclass(frozen=True, slots=True)
class RetiredItem:
    """An element of a list that an earlier version added, and that `init` removes."""

    path: Keys
    verb: str

    def install(self, engine: Engine, text: str) -> str:
        return self.remove(engine, text)

    def remove(self, engine: Engine, text: str, stays: Stays = nothing_stays) -> str:
        return Item(self.path, self.verb, {}).remove(engine, text, stays)


@dataclass(frozen=True, slots=True)
class AllowListEntry:
    """Our name in an allow list, if the user has one."""

    path: Keys
    value: str

    def install(self, engine: Engine, text: str) -> str:
        listed = at(engine.read(text), self.path)
        missing = isinstance(listed, list) and self.value not in listed
        return engine.append(text, self.path, self.value) if missing else text

    def remove(self, engine: Engine, text: str) -> str:
        listed = at(engine.read(text), self.path)
        there = isinstance(listed, list) and self.value in listed
        return engine.drop_item(text, self.path, listed.index(self.value)) if there else text


@dataclass(frozen=True, slots=True)
class RequiredValue:
    """A value that makes the file valid. It is not removed: others may rely on it by then."""

    path: Keys
    value: Any

    def install(self, engine: Engine, text: str) -> str:
        return text if at(engine.read(text), self.path) is not None else engine.put(text, self.path, self.value)

    def remove(self, engine: Engine, text: str) -> str:
        return text


@dataclass(frozen=True, slots=True)
class OwnValue:
    """A value of ours in a table that may also have the user's."""

    path: Keys
    value: Any

    def install(self, engine: Engine, text: str) -> str:
        table = at(engine.read(text), self.path[:-1])
        if not isinstance(table, Mapping):
            return engine.put(text, self.path[:-1], {self.path[-1]: self.value})
        return text if table.get(self.path[-1]) == self.value else engine.put(text, self.path, self.value)

    def remove(self, engine: Engine, text: str) -> str:
        return engine.drop(text, self.path, prune=True)


@dataclass(frozen=True, slots=True)
class RedirectedServer:
    """An entry of the user's for Engram's server, changed to start us. `before` is the program it started."""

    path: Keys
    value: Mapping[str, Any]  # our own server in this host's form
    before: str = ""

    def install(self, engine: Engine, text: str) -> str:
        theirs, options = self._found(engine, text)
        if options is None:
            return text
        text = _launch(engine, text, self.path, theirs, as_engram(self.value, options))
        return _place_store(engine, text, self.path, theirs, self.value)

    def remove(self, engine: Engine, text: str, stays: Stays = nothing_stays) -> str:
        theirs, options = self._found(engine, text)
        if options is None or not self.before or engram_program(theirs) or stays(theirs):
            return text
        text = _launch(engine, text, self.path, theirs, as_before(theirs, self.before, options))
        return _place_store(engine, text, self.path, theirs, {})

    def _found(self, engine: Engine, text: str) -> tuple[Mapping[str, Any], tuple[str, ...] | None]:
        theirs = at(engine.read(text), self.path)
        return (theirs, engram_options(theirs)) if isinstance(theirs, Mapping) else ({}, None)


Piece = Server | Item | RetiredItem | AllowListEntry | RequiredValue | OwnValue | RedirectedServer


def entries(piece: Piece, document: Any) -> list[Mapping[str, Any]]:
    """The entries in a file that the piece installs or updates."""
    if isinstance(piece, RetiredItem):
        piece = Item(piece.path, piece.verb, {})
    if isinstance(piece, Item):
        return [entry for _, entry in piece.found(document)]
    found = at(document, piece.path) if isinstance(piece, Server | RedirectedServer) else None
    return [found] if isinstance(found, Mapping) else []


def home_named(entry: Mapping[str, Any]) -> str:
    """The folder of the memory that an entry names; "" for the default one."""
    for key in _ENVIRONMENTS:
        if isinstance(named := at(entry, (key, HOME_VARIABLE)), str):
            return named
    call = call_in(entry)
    named = [option.partition("=")[2] for option in call.options if option.startswith("--home=")] if call else []
    return named[0] if named else ""


def at(document: Any, path: Keys) -> Any:
    """The value at a path; None if there is none."""
    for step in path:
        document = document.get(step) if isinstance(document, Mapping) else None
    return document


def _calls(value: Any, path: Keys, verb: str) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """Every entry at or below a value that runs the command, with its path. A server's name is enough as well."""
    if isinstance(value, Mapping):
        call = call_in(value)
        if (call and call.verb == verb) or (verb == "serve" and value.get("name") == "anamnesis"):
            yield path, value
            return
    steps = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from _calls(inner, (*path, step), verb)


def _renew(engine: Engine, text: str, path: Keys, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Update the command of an entry of ours; the user may have changed the rest."""
    text = _launch(engine, text, path, theirs, renewed(theirs, ours))
    return _place_store(engine, text, path, theirs, ours)


def _launch(engine: Engine, text: str, path: Keys, theirs: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Set the command of an entry; nothing changes if `wanted` is empty."""
    for key in LAUNCH_KEYS if wanted else ():
        if key in wanted:
            text = engine.put(text, (*path, key), wanted[key])
        elif key in theirs:
            text = engine.drop(text, (*path, key))
    return text


def _place_store(engine: Engine, text: str, path: Keys, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Set or remove the store's folder in an entry's environment."""
    for key in _ENVIRONMENTS:
        now, then = at(ours, (key, HOME_VARIABLE)), at(theirs, (key, HOME_VARIABLE))
        if now is not None:
            text = engine.put(text, (*path, key, HOME_VARIABLE), now)
        elif then is not None:
            text = engine.drop(text, (*path, key, HOME_VARIABLE), prune=key not in ours)
    return text


def _drop_element(engine: Engine, text: str, place: Keys, depth: int) -> str:
    """Remove the innermost element with only this command, and groups that become empty."""
    document = engine.read(text)
    index = max(position for position, step in enumerate(place) if isinstance(step, int))
    while index > depth and len(_get(document, place[:index])) == 1:
        index = max(position for position, step in enumerate(place[:index]) if isinstance(step, int))
    return engine.drop_item(text, place[:index], int(place[index]), prune=True)


def _get(document: Any, path: Keys) -> Any:
    for step in path:
        document = document[step]
    return document
