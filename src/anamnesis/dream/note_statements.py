"""A note as statements: its title, its sentences, the lines of its lists, tables and code. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from anamnesis.capture.prose import sentences
from anamnesis.dream.grammar import CONDITIONS
from anamnesis.dream.tokens import (
    DATE,
    NEGATION,
    NUMBER,
    WEEKDAY,
    Token,
    is_of_frame,
    is_of_stamp,
    key_stem,
    stands_for,
    texts,
    tokens_of,
)
from anamnesis.light import lazy_pattern
from anamnesis.notes import Memory

_FENCES = ("```", "~~~")
# The markers of headings, quotations, list items and table rows at the beginning of a line.
_MARKER = lazy_pattern(r"\s*+(?:#{1,6}\s++|>\s?|[-*+•]\s++(?:\[[ xX]\]\s++)?|[0-9]{1,3}[.)]\s++|\|)?+")
_RULE = lazy_pattern(r"[\s|:=*_-]++")
# The label at the beginning of a line: who said it, or what it is about.
_LABEL = lazy_pattern(r"([^\s:.!?;`][^:.!?;`]{0,40}):\s++(?=\S)")
_MOST_LABELS, _LABEL_WORDS = 4, 4
# The separators between parts of a sentence that are separate statements.
_PART = lazy_pattern(r";\s++|(?<=\])\s++(?=[A-Z])")
# The longest stamp, which says when something was noted.
_STAMP_WORDS = 6
# Statements of fewer words than this are compared by their labels too.
_SHORT = 3
# Titles that number notes say nothing about them.
_LABELS = frozenset(
    ("note", "memory", "item", "entry", "fact", "record", "observation", "untitled", "pair", "case", "document")
)
# A title of at least this many words is a sentence.
_SENTENCE = 6
# The last word of a title with more words than this may be truncated.
_LEAST_CUT = 3
_MOST_CACHED = 4_096
# The number of statements of a long note that are compared.
_MOST_STATEMENTS = 600


@dataclass(frozen=True, slots=True)
class NoteStatement:
    """A sentence or a line, its words, and their keys, by which its counterpart is found.

    `label` are the words before a colon at the beginning of its line, such as the speaker.
    """

    text: str
    tokens: tuple[Token, ...]
    keys: frozenset[str]
    is_code: bool = False
    label: tuple[Token, ...] = ()

    @property
    def clauses(self) -> list[range]:
        """The positions of the words of each clause."""
        starts = [at for at, token in enumerate(self.tokens) if token.starts or at == 0]
        return [range(start, end) for start, end in zip(starts, [*starts[1:], len(self.tokens)], strict=True)]

    def only(self, places: Sequence[int]) -> NoteStatement:
        """The statement with only these words."""
        tokens = tuple(self.tokens[at] for at in places)
        return replace(self, text=texts(tokens), tokens=tokens, keys=_keys(tokens))

    def changes_sense(self, places: range | list[int]) -> bool:
        """Whether the statement would have another meaning without these words."""
        return any(self.tokens[at].kind == NEGATION or self.tokens[at].key in CONDITIONS for at in places)

    def is_stamp(self, places: range) -> bool:
        """Whether these words are a stamp: when something was noted ("as of 2026-03-04"), or that it was noted."""
        tokens = [self.tokens[at] for at in places]
        if len(tokens) > _STAMP_WORDS:
            return False
        is_dated = any(token.kind == DATE for token in tokens)
        return all(map(is_of_stamp if is_dated else is_of_frame, tokens))

    @property
    def identity(self) -> tuple[object, ...]:
        """A key that is equal for statements with the same words."""
        return self.is_code, self.keys, tuple(token.key for token in self.label)

    @property
    def is_all_stamp(self) -> bool:
        return self.is_stamp(range(len(self.tokens)))

    @property
    def whole(self) -> NoteStatement:
        """The statement with its label as its first words."""
        return _made(self.text, (*self.label, *self.tokens), is_code=self.is_code)


@dataclass(frozen=True, slots=True)
class NoteContent:
    """The statements of a note. The title is None if it adds nothing to the body, or only numbers the note.

    A title of a sentence's length is the first statement of the body.
    """

    title: NoteStatement | None
    body: tuple[NoteStatement, ...]
    # The base forms of its words: in the title and the body, and in the title alone.
    words: frozenset[str]
    head: frozenset[str]
    keys: frozenset[str]
    # The dates of its title.
    dates: tuple[Token, ...]
    # The words of its body that a note with the same meaning must have: the keys of those without synonyms, and the
    # others.
    values: frozenset[str]
    open: tuple[Token, ...]


def content_of(note: Memory) -> NoteContent:
    return _said(note.title, note.body)


@lru_cache(maxsize=_MOST_CACHED)
def _said(title: str, text: str) -> NoteContent:
    statements = [*islice(_statements(text), _MOST_STATEMENTS)]
    titles = [*_statements(title.rstrip(" .…"))]
    head = _made(title, [token for each in titles if not each.is_all_stamp for token in (*each.label, *each.tokens)])
    spoken = [token for each in statements for token in (*each.label, *each.tokens)]
    named = frozenset(word for token in head.tokens for word in stands_for(token))
    words = named.union(*map(stands_for, spoken))
    dates = tuple(token for each in titles for token in each.tokens if token.kind == DATE)
    is_silent = bool(statements) and _adds_nothing(head, spoken)
    is_sentence = not is_silent and (not statements or len(head.tokens) >= _SENTENCE)
    body = (*titles, *statements) if is_sentence else tuple(statements)
    named_by = None if is_silent or is_sentence else head
    strong = [token for each in body if not each.is_all_stamp for token in each.tokens if _is_needed(token)]
    values = frozenset(token.key for token in strong if not token.is_open)
    open = tuple({token.key: token for token in strong if token.is_open}.values())
    return NoteContent(named_by, body, words, named, head.keys | _keys(spoken), dates, values, open)


def _is_needed(token: Token) -> bool:
    return not token.is_weak and token.kind not in (DATE, WEEKDAY) and not is_of_frame(token)


def _made(text: str, tokens: Sequence[Token], label: tuple[Token, ...] = (), *, is_code: bool = False) -> NoteStatement:
    keys = _keys(tokens)
    return NoteStatement(text, tuple(tokens), keys | _keys(label) if len(keys) < _SHORT else keys, is_code, label)


def _keys(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(key_stem(token) for token in tokens if not token.is_weak)


def _adds_nothing(title: NoteStatement, body: Sequence[Token]) -> bool:
    """Whether a title adds nothing to the body. Its last word may be truncated."""
    held = _keys(body)
    if title.keys <= held:
        return True
    words = [token for token in title.tokens if token.kind != NUMBER and token.key not in _LABELS]
    if not words or len(title.tokens) <= _LEAST_CUT:
        return not words
    is_cut = any(token.text.startswith(words[-1].text) for token in body)
    return is_cut and _keys(title.tokens[:-1]) <= held


def _statements(text: str) -> Iterator[NoteStatement]:
    for line, is_code in _lines(text):
        for made in [_made(line, tokens_of(line, is_code=True), is_code=True)] if is_code else _said_in(line):
            if made.tokens:
                yield made


def _said_in(line: str) -> Iterator[NoteStatement]:
    """The sentences of a line with its label. A stamp does not count as a label."""
    label: tuple[Token, ...] = ()
    for _ in range(_MOST_LABELS):
        if not (found := _LABEL.match(line)):
            break
        made = _made(found[1], tokens_of(found[1]))
        if made.is_all_stamp:
            yield from [made] if any(token.kind == DATE for token in made.tokens) else []
        elif label or len(made.tokens) > _LABEL_WORDS:
            break
        else:
            label = made.tokens
        line = line[found.end() :]
    for sentence in sentences(line):
        yield from (_made(part, tokens_of(part), label) for part in _PART.split(sentence))


def _lines(body: str) -> Iterator[tuple[str, bool]]:
    """The lines of a text, and whether each is code. Wrapped lines are joined."""
    in_code = False
    wrapped = ""
    for line in [*body.splitlines(), ""]:
        bare = line.strip()
        is_fence = bare.startswith(_FENCES)
        if in_code and not is_fence:
            if bare:
                yield bare, True
            continue
        rest = line[_MARKER.match(line).end() :].strip()  # type: ignore[union-attr]
        is_wrapped = bool(wrapped) and rest == bare and rest[:1].islower()
        if is_wrapped and not is_fence:
            wrapped = f"{wrapped} {rest}"
            continue
        yield wrapped, False
        wrapped = "" if is_fence or _RULE.fullmatch(rest) else rest
        in_code = in_code != is_fence
