"""The title of a session: its first real ask as one sentence or phrase; an ellipsis marks a cut clause."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from anamnesis.capture.prose import ENDS, Line, prose, sentences

LONGEST_TITLE = 80
_SHORTEST_CLAUSE = 24
_MOST_SENTENCES = 12
_FEWEST_LETTERS = 3
_LONGEST_START = 120

_MARKERS = re.compile(r"\[(?:pasted|Image #\d{1,4})\]")
_GREETING = re.compile(
    r"(?:hi|hello|hey|hallo|hola|bonjour|ciao|olá|moin|good (?:morning|afternoon|evening)|guten (?:morgen|tag)|yo)\b"
    r"(?: (?:there|all|claude|codex|gemini|again|everyone|team))?[\s,.!:;–—-]*+",
)
_FILLER = re.compile(
    r"(?:(?:ok|okay|so|well|now|alright|thanks|thank you|great|right|sorry|quick question)\b[\s,.!:;–—-]++)+",
)
_POLITE = re.compile(
    r"(?:please|pls|can you|could you|would you|will you|i want you to|i'd like you to|i would like you to"
    r"|i need you to|i want to|i need to|i'd like to|help me to|help me|kannst du|könntest du|bitte"
    r"|puedes|por favor|peux-tu|pouvez-vous|s'il te plaît|请帮我|请你|请|帮我)(?: please)?(?:[\s,:]++|(?<=[请我你]))",
)
# First words of requests and questions.
_REQUESTS = frozenset(
    (
        *("add", "adapt", "analyse", "analyze", "audit", "build", "bump", "change", "check", "clean", "compare"),
        *("configure", "convert", "create", "debug", "delete", "deploy", "describe", "design", "document", "drop"),
        *("ensure", "explain", "export", "extend", "extract", "figure", "find", "fix", "format", "generate"),
        *("get", "implement", "import", "improve", "inline", "inspect", "install", "integrate", "investigate"),
        *("let's", "list", "look", "make", "measure", "merge", "migrate", "move", "optimise", "optimize"),
        *("package", "port", "prepare", "profile", "publish", "read", "rebase", "recommend", "reduce", "refactor"),
        *("release", "remove", "rename", "replace", "reproduce", "resolve", "restore", "revert", "review"),
        *("rewrite", "run", "set", "show", "simplify", "speed", "split", "stop", "summarise", "summarize"),
        *("support", "switch", "tell", "test", "tidy", "trace", "translate", "try", "turn", "understand", "undo"),
        *("update", "upgrade", "use", "validate", "verify", "wire", "write", "how", "why", "what", "where"),
        *("which", "when", "should", "is", "are", "does", "do"),
    )
)
# A request with these words means nothing without the sentence before it.
_POINTERS = frozenset(("it", "this", "that", "them", "these", "those", "so", "why", "one"))
_FEW_WORDS = 5
_HEADLINE_WORDS = 3
_VAGUE = re.compile(
    r"(?:i have|i've got|got|there is|there's|we have) (?:a|an|another|one|some) (?:\w+ )?"
    r"(?:question|problem|issue|task|bug|job)(?: for you)?[.!:]?"
    r"|(?:new )?(?:task|context|background|goal|problem|issue|bug|todo|hi|hello)[.!:]?",
)
# Where a long sentence can end as a phrase: before a subordinate clause, at a comma or a dash.
_CLAUSE_END = re.compile(
    r"[,;:](?=\s)|\s[–—(-](?=\s|\w)|[，；：](?=.)"
    r"|\s(?=(?:because|so that|since|which|where|while|whereas|although|but|if|when|weil|damit|porque|parce que)\s)"
)
_COORDINATE = re.compile(r"\s(?=(?:and|or|und|oder|y|et|e)\s)")
_WEAK_ENDS = frozenset(
    (
        *("a", "an", "the", "of", "to", "and", "or", "with", "for", "in", "on", "that", "which", "is", "are"),
        *("was", "by"),
        *("from", "at", "as", "but", "if", "so", "into", "than", "then", "when", "where", "while", "because", "not"),
        *("be", "been", "we", "i", "you", "it", "its", "their", "our", "my", "your", "this", "these", "those", "can"),
        *("should", "would", "will", "could", "must", "has", "have", "does", "do", "also", "via", "per", "over"),
        *("under",),
        *("und", "oder", "der", "die", "das", "mit", "für", "y", "o", "de", "la", "el", "et", "ou", "le", "les", "des"),
    )
)
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("“", "”"))
_LOOSE_ENDS = " \t,;:–—-(/&+"


def title_of(asks: Sequence[str]) -> str:
    """The title for the asks of a session; "" if there is none."""
    for ask in asks:
        lines = prose(_MARKERS.sub(" ", ask))
        if chosen := _headline(lines) or _chosen(_sentences(lines)):
            return _phrase(chosen)
    raw = [" ".join(line.split()) for ask in asks for line in ask.splitlines()]
    return _phrase(next((line for line in raw if _says_something(line)), next(filter(None, raw), "")))


def _headline(lines: Sequence[Line]) -> str:
    """The first line, if it stands alone as a heading of the rest; else ""."""
    if len(lines) < 2 or lines[0].block == lines[1].block or lines[0].text.endswith(ENDS):
        return ""
    line = lines[0].text
    plain = _without(_POLITE, _without(_FILLER, _without(_GREETING, line)))
    is_title = plain == line and len(line.split()) >= _HEADLINE_WORDS and not _VAGUE.fullmatch(line.lower())
    return line if is_title and not _points(line) else ""


def _sentences(lines: Sequence[Line]) -> Iterator[str]:
    """The first meaningful sentences of an ask, without greetings."""
    spoken = (each for line in lines for each in sentences(line.text))
    for sentence in islice(spoken, _MOST_SENTENCES):
        bare = _without(_FILLER, _without(_GREETING, sentence))
        if _says_something(bare) and not _VAGUE.fullmatch(bare.lower()):
            yield bare


def _chosen(spoken: Iterable[str]) -> str:
    """The first sentence that is a complete request; else the first one."""
    first = ""
    for sentence in spoken:
        plain = _without(_POLITE, _without(_POLITE, sentence))
        is_polite = plain != sentence and _says_something(plain)
        ask = plain.rstrip("?？") if is_polite else sentence
        first = first or ask
        is_request = is_polite or sentence.endswith(("?", "？")) or _first_word(sentence) in _REQUESTS
        if is_request and not _points(ask):
            return ask
    return first


def _points(ask: str) -> bool:
    words = [word.strip(",.!?").casefold() for word in ask.split()]
    return words[-1] in _POINTERS or (len(words) <= _FEW_WORDS and not _POINTERS.isdisjoint(words))


def _first_word(text: str) -> str:
    return text.partition(" ")[0].casefold().rstrip(",:")


def _without(start: re.Pattern[str], text: str) -> str:
    """A text without a leading match. The match is in lower case: patterns that ignore case compile slowly."""
    found = start.match(text[:_LONGEST_START].lower())
    return text[found.end() :] if found else text


def _says_something(text: str) -> bool:
    return sum(map(str.isalnum, _MARKERS.sub("", text))) >= _FEWEST_LETTERS


def _phrase(sentence: str) -> str:
    """A sentence as a title: whole if it is short, else up to the last clause or word that fits."""
    line = " ".join(sentence.split()).rstrip(".。:：,;")
    if len(line) <= LONGEST_TITLE:
        return line
    for pattern in (_CLAUSE_END, _COORDINATE):
        ends = [found.start() for found in pattern.finditer(line, _SHORTEST_CLAUSE, LONGEST_TITLE + 8)]
        for end in reversed([end for end in ends if end <= LONGEST_TITLE]):
            clause = _without_loose_end(line[:end])
            if len(clause) >= _SHORTEST_CLAUSE:
                return clause
    room = LONGEST_TITLE - 1
    words = line[: room + 1].rpartition(" ")[0] or line[:room]
    return f"{_without_loose_end(words) or words}…"


def _without_loose_end(text: str) -> str:
    """A phrase without an unclosed bracket, quotation or code span, and without a dangling last word."""
    for opening, closing in _PAIRS:
        if text.count(opening) > text.count(closing):
            text = text[: text.rindex(opening)]
    for quote in '`"':
        if text.count(quote) % 2:
            text = text[: text.rindex(quote)]
    words = text.rstrip(_LOOSE_ENDS).split(" ")
    while len(words) > 1 and words[-1].casefold().strip(",;:") in _WEAK_ENDS:
        words.pop()
    return " ".join(words).rstrip(_LOOSE_ENDS)
