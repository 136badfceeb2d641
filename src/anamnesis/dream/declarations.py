"""The declarations in lines of code, build files, manifests and lock files. Pure.

These are guesses by the form of a single line, so they work for the removed lines of a diff as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from re import Match
from typing import NamedTuple

from anamnesis.dream.references import JUST, MAKE, NPM, PYTHON, SYMBOL, VERSION, Reference, package
from anamnesis.light import lazy_pattern

# Files that declare commands or versions, as git's pathspecs.
BUILD_FILES = (
    *("Makefile", "makefile", "GNUmakefile", "*.mk", "justfile", "Justfile", ".justfile", "*.just"),
    *("package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "pyproject.toml", "setup.cfg", "setup.py"),
    *("requirements*.txt", "constraints*.txt", "Pipfile", "uv.lock", "poetry.lock", "go.mod", "Cargo.toml"),
    *("Cargo.lock", "Gemfile", "Gemfile.lock", "composer.json", "build.gradle", "build.gradle.kts"),
)
# Files that only mention code: a symbol that remains in a changelog is gone all the same.
PROSE = ("*.md", "*.mdx", "*.rst", "*.adoc")

_LONGEST = 400
_BY_KEYWORD = lazy_pattern(
    r"\b(?:def|class|func|function|fn|fun|sub|proc|type|interface|struct|enum|trait|union|module|namespace|const|let"
    r"|var|val|static|object|protocol|record|define|macro)[ \t]{1,8}+(?:\([^)]{0,80}+\)[ \t]{0,4}+)?"
    r"\*?([A-Za-z_$][\w$]*+)"
)
_BY_VALUE = lazy_pattern(r"\s*+(?:export[ \t]++|self\.|this\.)?[\"']?([A-Za-z_$][\w$]*+)[\"']?[ \t]*+[:=](?![:=])")
_BY_TYPE = lazy_pattern(
    r"\s*+(?!(?:return|await|else|if|for|while|switch|case|new|yield|raise|throw|assert|in|not|and|or|print)\b)"
    r"(?:[\w<>\[\],.*&:?]++[ \t]++)++[*&~]?(?:[A-Za-z_]\w*+::)?([A-Za-z_$][\w$]*+)\("
)
_BY_BODY = lazy_pattern(r"\s*+(?!(?:if|for|while|switch|catch|with)\b)([A-Za-z_$][\w$]*+)\([^;{]*+\{\s*+$")
_TARGETS = lazy_pattern(r"([A-Za-z0-9_][\w./ -]*+):(?!=)")
_RECIPE = lazy_pattern(r"@?([A-Za-z_][\w-]*+)(?:[ \t][^:\n]*+)?:(?!=)")
_SCRIPT = lazy_pattern(r"\s*+\"([^\"]++)\"[ \t]*+:[ \t]*+\"")
_SETTING = lazy_pattern(r"\s*+\"?([A-Za-z][\w.-]*+)\"?[ \t]*+=")
# A name and a version in one line, with any of the separators of the many formats between them.
_WITH_VERSION = lazy_pattern(
    r"(?<![\w.@-])(@?[A-Za-z][\w./-]{0,120}+)(?:\[[^\]\n]{0,60}+\])?+[])\"',: \t@=<>~^!({]{1,10}+"
    r"(?:version[= \"]{1,4}+)?v?(\d++(?:\.\w++)*+)"
)
# A version alone: lock files have the name in the line before.
_VERSION_LINE = lazy_pattern(r"\s*+\"?version\"?[ \t]*+[=:]?[ \t]*+\"(\d++(?:\.\w++)*+)")


class Line(NamedTuple):
    """A line of a file, and the line before it."""

    file: str
    before: str
    text: str


def lines_of(file: str, text: str) -> Iterator[Line]:
    before = ""
    for line in text.splitlines():
        yield Line(file, before, line)
        before = line


def declared(line: Line) -> Iterator[Reference]:
    """The declarations that a line may have."""
    name, text = line.file.rpartition("/")[2], line.text[:_LONGEST]
    if name.lower() in ("makefile", "gnumakefile") or name.endswith(".mk"):
        yield from _named(MAKE, _TARGETS.match(text))
    elif name.lower() in ("justfile", ".justfile") or name.endswith(".just"):
        yield from _named(JUST, _RECIPE.match(text))
    elif is_build_file(name):
        if name.endswith(".json"):
            yield from _named(NPM, _SCRIPT.match(text))
        elif name == "pyproject.toml":
            yield from _named(PYTHON, _SETTING.match(text))
        yield from _versions(line.before, text)
    elif not is_prose(name):
        yield from (Reference(SYMBOL, each) for each in _BY_KEYWORD.findall(text))
        for found in (_BY_VALUE.match(text), _BY_TYPE.match(text), _BY_BODY.match(text)):
            yield from _named(SYMBOL, found)


def matches(reference: Reference, declaration: Reference) -> bool:
    """Whether a declaration matches a reference; versions must agree in the parts that both have."""
    if (reference.kind, reference.name) != (declaration.kind, declaration.name):
        return False
    pairs = zip(reference.version.split("."), declaration.version.split("."), strict=False)
    return all(one == two for one, two in pairs)


def is_build_file(name: str) -> bool:
    """Whether a file declares commands or versions."""
    if name.startswith(("requirements", "constraints")):
        return name.endswith(".txt")
    return name in BUILD_FILES or name.endswith((".mk", ".just"))


def is_prose(name: str) -> bool:
    return f"*.{name.rpartition('.')[2].lower()}" in (*PROSE, "*.txt")


def _named(kind: str, found: Match[str] | None) -> Iterator[Reference]:
    """The names in a match; a rule of make can have several before its colon."""
    for name in found[1].split() if found else ():
        yield Reference(kind, name)


def _versions(before: str, text: str) -> Iterator[Reference]:
    for name, version in _WITH_VERSION.findall(text):
        yield from _dependency(name, version)
    if alone := _VERSION_LINE.match(text):
        name = before[:_LONGEST].strip().removeprefix("name = ").strip('"{}:, ').rpartition("node_modules/")[2]
        yield from _dependency(name[:1] + name[1:].partition("@")[0], alone[1])


def _dependency(name: str, version: str) -> Iterator[Reference]:
    """A dependency by its name, and by the last part of a path such as example.org/x/name."""
    for each in dict.fromkeys((name, name.rpartition("/")[2])):
        yield Reference(VERSION, package(each), version)
