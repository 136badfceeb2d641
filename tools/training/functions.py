"""Pairs from the Python functions of wheels: the first sentence of a docstring, with the code. Nothing is executed."""

from __future__ import annotations

import ast
import random
import re
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.training.pairs import Pair

SOURCE = "functions"
_PERMISSIVE = re.compile(r"MIT|BSD|Apache|PSF|Python Software Foundation|ISC|CC0|Unlicense", re.IGNORECASE)
_REFUSED = re.compile(r"GPL|GNU|MPL|Mozilla|EPL|Eclipse|CC BY-SA|Proprietary|Other/", re.IGNORECASE)
_LARGEST_FILE = 400_000
_MOST_OF_A_WHEEL = 3_000
_SHORTEST_BODY = 30
# The shares of functions with the split name added to the code, the split name as a query, and the name as a query.
_SPLIT_NAME, _WORDS_ASKED, _NAME_ASKED = 0.20, 0.08, 0.05
_KEPT_DOCSTRING = 0.4

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Function(NamedTuple):
    """A function or class: name, first sentence of its docstring, the rest of that, head and body."""

    name: str
    sentence: str
    rest: str
    head: str
    body: str


def licence_of(wheel: Path) -> str:
    """The licence in the wheel's metadata: the expression, else the classifiers, else the first line of the text."""
    with zipfile.ZipFile(wheel) as files:
        name = next((each for each in files.namelist() if each.endswith(".dist-info/METADATA")), None)
        head = files.read(name).decode("utf-8", "replace").partition("\n\n")[0] if name else ""
    if expression := re.search(r"^License-Expression: (.+)$", head, re.MULTILINE):
        return expression[1].strip()
    if classifiers := re.findall(r"^Classifier: License :: (.+)$", head, re.MULTILINE):
        return "; ".join(each.split(" :: ")[-1].strip() for each in classifiers)
    text = re.search(r"^License: (.+)$", head, re.MULTILINE)
    return text[1][:60].strip() if text else "?"


def is_permissive(licence: str) -> bool:
    return bool(_PERMISSIVE.search(licence)) and not _REFUSED.search(licence)


def function_pairs(wheel: Path, chance: random.Random, seen: set[str]) -> Iterator[Pair]:
    """The pairs of one wheel. Sentences in `seen`, which other functions had, are skipped."""
    count = 0
    for function in functions(wheel):
        is_new = (key := function.sentence.lower()) not in seen
        seen.add(key)
        if is_new and count < _MOST_OF_A_WHEEL:
            count += 1
            yield from _pairs(function, chance)


def functions(wheel: Path) -> Iterator[Function]:
    """The documented functions and classes of a wheel, without its tests."""
    with zipfile.ZipFile(wheel) as files:
        for file in files.infolist():
            if not file.filename.endswith(".py") or "/test" in file.filename or file.file_size > _LARGEST_FILE:
                continue
            try:
                source = files.read(file).decode("utf-8")
                tree = ast.parse(source)
            except (SyntaxError, ValueError, RecursionError):  # templates, and Python of other versions
                continue
            lines = source.split("\n")
            for node in ast.walk(tree):
                if isinstance(node, Definition) and (function := _function(node, lines)):
                    yield function


def words_of(name: str) -> str:
    """A name's words: `getUserById` and `get_user_by_id` are "get user by id"."""
    return " ".join(re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("_", " ").lower().split())


def _function(node: Definition, lines: list[str]) -> Function | None:
    text = ast.get_docstring(node)
    if not text or node.name.startswith("__"):
        return None
    paragraph = " ".join(re.split(r"\n\s*\n", text.strip())[0].split())
    sentence = re.split(r"(?<=\.)\s", re.sub(r":\w+:`~?([^`]*)`", r"\1", paragraph))[0]
    if not 3 <= len(sentence.split()) <= 40 or not sentence.isascii():
        return None
    docstring = node.body[0]
    body = "\n".join(lines[docstring.end_lineno : node.end_lineno])
    if len(body) < _SHORTEST_BODY and not isinstance(node, ast.ClassDef):
        return None
    head = "\n".join(lines[node.lineno - 1 : docstring.lineno - 1])
    return Function(node.name, sentence.rstrip("."), text.strip()[len(sentence) :].strip(), head, body)


def _pairs(function: Function, chance: random.Random) -> Iterator[Pair]:
    rest = f"    {function.rest[:300]}\n" if function.rest and chance.random() < _KEPT_DOCSTRING else ""
    code = re.sub(r"[ \t]+", " ", textwrap.dedent(f"{function.head}\n{rest}{function.body[:900]}"))
    words, drawn = words_of(function.name), chance.random()
    if " " in words:
        if drawn < _SPLIT_NAME:
            code = code.replace(function.name, f"{function.name} {words}", 1)
        elif drawn < _SPLIT_NAME + _WORDS_ASKED:
            yield Pair("names of functions", words, code)
        elif drawn < _SPLIT_NAME + _WORDS_ASKED + _NAME_ASKED:
            yield Pair("names of functions", function.name, code)
    yield Pair(SOURCE, function.sentence, code)
