"""The references of a note to its project's code: the files, symbols, commands and versions that it names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from anamnesis.light import lazy_pattern
from anamnesis.notes import Memory

PATH, SYMBOL, VERSION = "path", "symbol", "version"
# Commands, by the file that defines them.
MAKE, NPM, JUST, PYTHON = "make", "npm", "just", "python"

_MOST = 60
_LONGEST_CODE = 200
_SHORTEST_SYMBOL = 4
_SHORTEST_PART = 3
_EXTENSIONS = """
bash c cc cfg cjs conf cpp cs css csv dart env erl ex exs go gradle h hpp hs html ini ipynb java jl js json jsx kt kts
less lock lua md mdx mjs mk mod php pl plist proto ps1 py pyi r rb rs rst sass scala scss sh sql svelte svg swift tf
toml ts tsx txt vue xml yaml yml zig zsh
"""
_FILES = frozenset(_EXTENSIONS.split())
_NAMED_FILES = ("Dockerfile", "Gemfile", "Jenkinsfile", "Makefile", "Procfile", "Rakefile", "Vagrantfile", "justfile")

_SENTENCE = lazy_pattern(r"(?<=[.!?;])[ \t]+|\n")
# A sentence with such a word is about a removal, or about what not to use, so the removal does not make it stale.
_TELLS_OF_REMOVAL = lazy_pattern(
    r"(?i)\b(?:remov|delet|renam|replac|obsolet|deprecat|migrat|former|dropped|drops|moved|gone\b|legacy|superseded"
    r"|no longer|not any ?more|used to\b|instead of|rather than|never use|not use|don.t use|avoid|without)"
)
_CODE = lazy_pattern(r"`([^`\n]{1,200})`")
_FENCE = lazy_pattern(r"(?m)^ {0,3}(?:```|~~~).*$")
# A relative path with a folder and an extension; no URL, absolute path or pattern.
_PLAIN_PATH = lazy_pattern(r"(?<![\w:/.~@*$%{}>+-])(?:\./)?+((?:[\w@+-][\w.@+-]*+/)++[\w@+-][\w.@+-]*+)(?![\w/*{])")
_BARE_FILE = lazy_pattern(r"(?:\./)?((?:[\w.@+-]+/)*+[\w.@+-]+)(?::\d+)?")
_SYMBOL = lazy_pattern(r"((?:[A-Za-z_$][\w$]*+(?:\.|::|->|#))*+)([A-Za-z_$][\w$]*+)(\([^)]*+\))?;?", re.ASCII)
_HUMP = lazy_pattern("[a-z0-9][A-Z]")
_COMMANDS = {
    MAKE: lazy_pattern(r"\bmake((?:[ \t]{1,4}+-[^\s=]{1,40}+){0,4}+(?:[ \t]{1,4}+[A-Za-z][\w.-]{0,60}+(?!=)){1,6}+)"),
    NPM: lazy_pattern(r"\b(?:npm run(?:-script)?|pnpm(?: run)?|yarn(?: run)?|bun run|npm)[ \t]++([A-Za-z][\w:.-]*+)"),
    JUST: lazy_pattern(r"(?:^|[;&|$][ \t]*+)just[ \t]++([A-Za-z][\w-]*+)"),
    PYTHON: lazy_pattern(r"\b(?:uv|poetry|pdm|hatch|rye)[ \t]++run[ \t]++([A-Za-z][\w.-]*+)"),
}
_VERSION = lazy_pattern(r"(?<![\w./@-])(@?[A-Za-z][\w./-]*?)(?:@|[=~^><]=|[ \t]v?)[\^~]?(\d++(?:\.\d++)*+)(?![\w-])")


class Reference(NamedTuple):
    """A part of the code that a note names: its kind, the name to find it by, and the version of a dependency."""

    kind: str
    name: str
    version: str = ""
    in_title: bool = False

    @property
    def text(self) -> str:
        if self.kind in _RUN_BY:
            return f"{_RUN_BY[self.kind]} {self.name}"
        return f"{self.name} {self.version}".rstrip()

    @property
    def same(self) -> tuple[str, str, str]:
        return self.kind, self.name, self.version

    @property
    def word(self) -> str:
        """The word by which it is found in a file or in a note."""
        return self.name.rpartition("/")[2] if self.kind == PATH else self.name


_RUN_BY = {MAKE: "make", NPM: "npm run", JUST: "just", PYTHON: "run"}


def references(note: Memory) -> list[Reference]:
    """The references of a note, each once, those in the title first; without those whose removal the note mentions."""
    found: dict[tuple[str, str, str], Reference] = {}
    told: set[tuple[str, str, str]] = set()
    for text, in_title in ((note.title, True), (note.body, False)):
        for sentence, is_code in _sentences(text):
            tells = bool(_TELLS_OF_REMOVAL.search(sentence))
            for reference in _in_sentence(sentence, is_code):
                found.setdefault(reference.same, reference._replace(in_title=in_title))
                if tells:
                    told.add(reference.same)
            if len(found) >= _MOST:
                break
    return [each for same, each in found.items() if same not in told]


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences and the lines of a text, and whether each is in a block of code."""
    for number, part in enumerate(_FENCE.split(text)):
        for sentence in _SENTENCE.split(part):
            yield sentence, number % 2 == 1


def _in_sentence(sentence: str, is_code: bool) -> Iterator[Reference]:
    spans = [sentence.strip()[:_LONGEST_CODE]] if is_code else [each.strip() for each in _CODE.findall(sentence)]
    for path in _PLAIN_PATH.findall(sentence):
        if "." in path.rpartition("/")[2].strip("."):
            yield Reference(PATH, path.rstrip("."))
    for span in spans:
        yield from _commands(span)
        if not is_code:
            yield from _in_code(span)
    for name, version in _VERSION.findall(sentence):
        yield Reference(VERSION, package(name), version)


def _commands(code: str) -> Iterator[Reference]:
    for kind, pattern in _COMMANDS.items():
        for names in pattern.findall(code):
            yield from (Reference(kind, name) for name in names.split() if not name.startswith("-"))


def _in_code(code: str) -> Iterator[Reference]:
    """The file or the symbol that a piece of code is."""
    file = _BARE_FILE.fullmatch(code)
    if file and is_file_name(file[1]):
        yield Reference(PATH, file[1])
    elif symbol := _SYMBOL.fullmatch(code):
        qualifier, name, call = symbol.groups()
        is_telling = qualifier or call or "_" in name.strip("_") or _HUMP.search(name)
        if is_telling and len(qualifier + name) >= _SHORTEST_SYMBOL and len(name) >= _SHORTEST_PART:
            yield Reference(SYMBOL, name)


def is_file_name(path: str) -> bool:
    """Whether a text is the name of a file rather than of a symbol."""
    name = path.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return name in _NAMED_FILES or bool(dot and stem.strip(".") and extension.lower() in _FILES)


def package(name: str) -> str:
    """The name of a package in one spelling."""
    return name.lower().replace("_", "-")
