"""Derivable texts, which code or git can show at any time: diffs, commits, listings, traces, places of symbols. Pure.

A text is derivable only if every line is and its title adds no word: one sentence of explanation makes it worth
keeping.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from anamnesis.light import lazy_pattern

_LEAST_LINES = 3
_LEAST_PATHS = 5
_WORD = lazy_pattern(r"\w+")
# The title of a derivable text has only these words, and words of the text.
_WORDS = """
a an and at for from in of on the to with all by
git diff diffs patch change changes changed log commit commits history branch head staged unstaged status
file files folder folders directory directories listing list tree structure layout path paths ls
project repository repo code source sources current latest recent last output result results dump
stack trace stacktrace traceback backtrace error exception crash failure
function functions class classes method methods module modules symbol symbols definition definitions
"""
_GENERIC = frozenset(_WORDS.split())
_DIFF_HEAD = ("diff --git ", "@@ ")
_DIFF = (
    *("+", "-", " ", "\t", "@@ ", "diff --git ", "index ", "new file mode ", "deleted file mode ", "old mode "),
    *("new mode ", "similarity index ", "rename from ", "rename to ", "copy from ", "copy to ", "Binary files ", "\\"),
)
_COMMIT = lazy_pattern(r"(?:[*|/\\] ?)*+(?=[a-f]*+[0-9])[0-9a-f]{7,40} \S.*")
_LOG = lazy_pattern(r"commit [0-9a-f]{40}.*|(?:Author|Date|Merge|Commit|AuthorDate|CommitDate): .*| {4}.*")
_LS = lazy_pattern(r"total \d+|[-dlbcps][-rwxsStT]{9}[.+@]? .*")
_TREE = lazy_pattern(r"[│|\s]*+[├└]─++ ?[\w.@+-]++/?|[\w.@+/-]++|\d+ director(?:y|ies)(?:, \d+ files?)?")
_PATH = lazy_pattern(r"(?:[-*] )?`?(?=[\w@+-]*+[/.])[\w./@+-]++`?")
_PYTHON_TRACE = lazy_pattern(
    r"Traceback \(most recent call last\):|\s+.*|[\w.]+(?:Error|Exception|Warning|Interrupt|Exit)(?:: .*)?"
    r"|During handling of the above exception, another exception occurred:"
    r"|The above exception was the direct cause of the following exception:"
)
_CALLS = lazy_pattern(
    r"\s*at \S.*|\s*\.\.\. \d+ more|(?:Uncaught |Caused by: |Exception in thread \S+ )?"
    r"[\w.$]+(?:Error|Exception)(?:: .*)?"
)
_PLACE = lazy_pattern(
    r"(?:[-*] )?(?:the )?(?:file|module|package|class)? ?`?[\w./-]+`? (?:has|contains|defines|exports|declares) "
    r"(?:the |a |an )?(?:function|class|method|constant|variable|type|struct|enum|interface)s? "
    r"(?:called |named )?`?[\w.]+(?:\([\w, ]*\))?`?\.?",
    re.IGNORECASE,
)


def derivable(title: str, body: str) -> str:
    """The reason why a text need not be kept, as a sentence; "" if it is not derivable."""
    lines = [line.rstrip() for line in body.splitlines() if line.strip() and not line.strip().startswith("```")]
    if not lines or not _says_nothing(title, body):
        return ""
    return next((reason for reason, is_one in _KINDS.items() if is_one(lines)), "")


def _says_nothing(title: str, body: str) -> bool:
    """Whether each word of a title is generic or in the body."""
    return {*_WORD.findall(title.casefold())} <= _GENERIC | {*_WORD.findall(body.casefold())}


def _is_diff(lines: Sequence[str]) -> bool:
    return any(line.startswith(_DIFF_HEAD) for line in lines) and all(line.startswith(_DIFF) for line in lines)


def _is_commits(lines: Sequence[str]) -> bool:
    if lines[0].startswith("commit "):
        return all(_LOG.fullmatch(line) for line in lines)
    return len(lines) >= _LEAST_LINES and all(_COMMIT.fullmatch(line) for line in lines)


def _is_listing(lines: Sequence[str]) -> bool:
    if len(lines) >= _LEAST_PATHS and all(_PATH.fullmatch(line) for line in lines):
        return True
    is_tree = any("── " in line for line in lines) and all(_TREE.fullmatch(line) for line in lines)
    return len(lines) >= _LEAST_LINES and (is_tree or all(_LS.fullmatch(line) for line in lines))


def _is_trace(lines: Sequence[str]) -> bool:
    if any(line.startswith("Traceback (most recent call last):") for line in lines):
        return all(_PYTHON_TRACE.fullmatch(line) for line in lines)
    called = sum(line.lstrip().startswith("at ") for line in lines)
    return called >= _LEAST_LINES and all(_CALLS.fullmatch(line) for line in lines)


def _is_place(lines: Sequence[str]) -> bool:
    return all(_PLACE.fullmatch(line.strip()) for line in lines)


_KINDS: dict[str, Callable[[Sequence[str]], bool]] = {
    "It is a diff, which git shows at any time.": _is_diff,
    "It is a list of commits, which git shows at any time.": _is_commits,
    "It is a list of files, which the working copy shows at any time.": _is_listing,
    "It is a stack trace without a word of explanation.": _is_trace,
    "It says where a symbol is defined, which the code shows at any time.": _is_place,
}
