"""Properties that every engine has, for any file."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from anamnesis.onboard.formats import Engine, KeyPath, Unparsable

# Drawing documents is slow on a busy machine; that alone fails no test.
PATIENTLY = settings(suppress_health_check=[HealthCheck.too_slow])
WORDS = st.sampled_from(["a", "b", "mcpServers", "amp.mcpServers", "é", "x y", "日本", "true", "1"])
TEXTS = st.text(st.sampled_from("ab:#'\"\\,{}[]/*é \t-"), max_size=6)
SCALARS = st.one_of(TEXTS, st.integers(-99, 99), st.booleans(), st.floats(-9, 9).map(lambda number: round(number, 2)))
ENTRY = {"command": "C:\\bin\\anamnesis.exe", "args": ["mcp", "serve"], "env": {"HOME": "/é"}, "on": True}
OURS = st.sampled_from([ENTRY, "text", 7, ["x", "y"], [{"name": "n", "list": []}]])


def look_up(document: Any, path: KeyPath) -> Any:
    """The value at `path`; None if there is none."""
    for step in path:
        if isinstance(document, list) and isinstance(step, int):
            document = document[step]
        else:
            document = document.get(step) if isinstance(document, dict) else None
    return document


def containers(document: Any, kind: type, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all objects or all lists in a document."""
    if isinstance(document, kind):
        yield path
    if isinstance(document, (dict, list)):
        for step, value in document.items() if isinstance(document, dict) else enumerate(document):
            if isinstance(document, list) or isinstance(step, str):
                yield from containers(value, kind, (*path, step))


def draw_new_path(data: st.DataObject, document: Any, filled: bool = False) -> KeyPath:
    """An unused path: in an object of the document, which has entries if `filled`, or in new objects below it."""
    parents = [path for path in containers(document, dict) if not filled or look_up(document, path)]
    parent = data.draw(st.sampled_from(parents))
    return (*parent, *data.draw(st.sampled_from([(), ("new",), ("new.er", "é")])), "anamnesis")


def draw_list(data: st.DataObject, document: Any) -> tuple[KeyPath, list[Any]]:
    """The path of a list with elements, or of one that does not exist yet, and its elements."""
    filled = [path for path in containers(document, list) if look_up(document, path)]
    path = data.draw(st.sampled_from([*filled, ("new",), ("new", "list")]))
    return path, look_up(document, path) or []


def with_value(document: Any, path: KeyPath, value: Any) -> Any:
    """A copy of `document` with `value` at `path`."""
    document = copy.deepcopy(document)
    inner = document
    for step in path[:-1]:
        if isinstance(inner, dict) and inner.get(step) is None:
            inner[step] = {}
        inner = inner[step]
    inner[path[-1]] = value
    return document


def check_put(engine: Engine, text: str, path: KeyPath, value: Any) -> str:
    """`put` sets the value and nothing else; a second `put`, or one of an existing value, changes nothing."""
    document = engine.read(text)
    edited = engine.put(text, path, value)
    assert engine.read(edited) == with_value(document, path, value)
    assert engine.put(edited, path, value) == edited
    for key in filter(lambda key: isinstance(key, str), document):
        assert engine.put(text, [key], document[key]) == text
    return edited


def check_drop(engine: Engine, text: str, path: KeyPath) -> str:
    """`drop` removes the value and nothing else; a second `drop` changes nothing."""
    document = engine.read(text)
    edited = engine.drop(text, path)
    assert look_up(engine.read(edited), path) is None
    assert engine.drop(edited, path) == edited
    again = engine.put(edited, path, look_up(document, path))
    assert engine.read(again) == document
    return edited


def check_append(engine: Engine, text: str, data: st.DataObject, value: Any) -> None:
    """`append` adds an element and keeps every character; `drop_item` restores the text."""
    document = engine.read(text)
    path, found = draw_list(data, document)
    edited = engine.append(text, path, value)
    assert engine.read(edited) == with_value(document, path, [*found, value])
    check_only_added(text, edited)
    assert engine.drop_item(edited, path, len(found), prune=True) == text


def is_valid(engine: Engine, text: str) -> bool:
    try:
        engine.read(text)
    except Unparsable:
        return False
    return True


def check_only_added(text: str, edited: str) -> None:
    """Every character of `text` is still there, in order."""
    rest = iter(edited)
    assert all(character in rest for character in text)


def check_refusal(engine: Engine, text: str, data: st.DataObject) -> None:
    """A damaged file is edited correctly or refused with a reason; nothing else is raised."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 9, len(text))))
    text = (
        text[:start] + data.draw(st.text(st.sampled_from("{}[]\"'=:#-?&*!|>%,. \n\r\t/\\a1"), max_size=3)) + text[end:]
    )
    path = data.draw(st.lists(WORDS | st.integers(-1, 2), min_size=1, max_size=3))
    try:
        edited = engine.put(text, path, ENTRY)
        assert engine.put(edited, path, ENTRY) == edited
        engine.drop(edited, path, prune=True)
        engine.append(text, path[:1], ENTRY)
        engine.drop_item(text, path[:1], 0, prune=True)
    except Unparsable as error:
        assert error.message
