"""Each sentence of SECURITY.md that promises something is tested: `security.txt` names its tests."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "SECURITY.md").read_text("utf-8")
PROMISING = ("What is promised", "What is not promised", "How each boundary is guarded")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")


def sentences(page: str) -> list[str]:
    """The sentences that promise something, without the marks of markdown, the labels of lists and line ends."""
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    found = []
    for name in PROMISING:
        for piece in re.split(r"^- |\n\n", sections[name], flags=re.MULTILINE):
            rows = re.findall(r"^\|.*\| (.+?) \|$", piece, re.MULTILINE)[2:] if "| --- |" in piece else [piece]
            for row in rows:
                text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"\*\*[^*]+\.\*\*", "", row)).replace("**", "")
                of_piece = _SENTENCE_END.split(" ".join(text.split()))
                # What is not promised has promises in between: "... are never pushed."
                found += [each for each in of_piece if each and (name != PROMISING[1] or " never " in each)]
    return found


def named(page: str) -> dict[str, list[str]]:
    """The indented lines below each sentence: tests, or in parentheses why none is needed."""
    found: dict[str, list[str]] = {}
    sentence = ""
    for line in page.splitlines():
        if line.startswith("    "):
            found[sentence].append(line.strip())
        elif line and not line.startswith("#"):
            sentence = line
            found.setdefault(sentence, [])
    return found


NAMED = named((TESTS / "security.txt").read_text("utf-8"))


@functools.cache
def defined(file: str) -> frozenset[str]:
    """The names of a file's tests, as pytest gives them; those of several cases without their parameters."""
    tree = ast.parse((TESTS / file).read_text("utf-8")) if (TESTS / file).exists() else ast.Module([], [])
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = {each.name for each in tree.body if isinstance(each, functions)}
    for owner in tree.body:
        if isinstance(owner, ast.ClassDef):
            found |= {f"{owner.name}::{each.name}" for each in owner.body if isinstance(each, functions)}
    return frozenset(found)


@pytest.mark.parametrize("sentence", sentences(PAGE))
def test_a_sentence_has_its_tests(sentence: str) -> None:
    assert NAMED.get(sentence), f"add this line to tests/security.txt, and below it its tests:\n{sentence}"


@pytest.mark.parametrize("sentence", NAMED)
def test_the_tests_of_a_sentence_exist(sentence: str) -> None:
    assert sentence in sentences(PAGE), "SECURITY.md does not say this any more"
    for line in NAMED[sentence]:
        file, _, name = line.partition("::")
        is_reason = line.startswith("(") and line.endswith(")")
        assert is_reason or (name.startswith(("test_", "Test")) and name in defined(file)), line


def test_sentences_are_found_in_tables_and_lists() -> None:
    page = (
        "## What is promised\n\n| against | promise |\n| --- | --- |\n| web | None can read. It is [so](x). |\n"
        "## What is not promised\n\n- **The git\n  host** can `x`. It never\n  lies.\n"
        "## How each boundary is guarded\n- **A.** B.\n## Z\n"
    )
    assert sentences(page) == ["None can read.", "It is so.", "It never lies.", "B."]
