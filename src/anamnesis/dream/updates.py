"""Updates and contradictions: two notes that exclude each other both stay, and are linked and tagged. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from anamnesis.capture.prose import sentences
from anamnesis.dream.alike import NotePair
from anamnesis.dream.proposal import Proposal
from anamnesis.dream.slots import Contrast, Word, content_words, contrast, has_verb, places_in, words_of
from anamnesis.notes import Memory
from anamnesis.notes.marks import (
    CONTRADICTED,
    CONTRADICTS,
    COVERED_BY,
    OUTDATED,
    REFLECTED,
    UPDATED_BY,
    UPDATES,
    linked,
    with_link,
    with_tag,
    without_link,
    without_tag,
)
from anamnesis.notes.project_names import is_among
from anamnesis.plural import counted

UPDATE, CONTRADICTION, RESOLVED = "update", "contradiction", "resolved"
# The links of notes, and the tag that accompanies each.
_TAGS = {UPDATES: "", UPDATED_BY: OUTDATED, CONTRADICTS: CONTRADICTED, COVERED_BY: REFLECTED}
# Contrasts with less confidence are not proposed at all.
_LEAST = 0.6
# Notes that the model finds less close than this may be about different things, so a person decides.
_FAR, _IF_DOUBTED = 0.6, 0.7
_RESOLVED = 0.9
# A note with more sentences is a document, in which a statement may be about a part of the subject.
_MOST_SENTENCES = 40
_MOST_CACHED = 4_096
# Of notes written within this time, neither is newer.
_TOGETHER = timedelta(minutes=1)
# A body of at most this many words is the value of its title.
_SHORT_VALUE = 4
# Words of titles that say that something has changed, but not what.
_CHANGED = content_words(words_of("new change update move switch migrate decision moved switched migrated"))


class _Sentence(NamedTuple):
    words: tuple[Word, ...]
    keys: tuple[str, ...]
    held: frozenset[str]


class _NoteSentences(NamedTuple):
    title: tuple[Word, ...]
    sentences: tuple[_Sentence, ...]
    words: tuple[Word, ...]


def excluding(one: Memory, other: Memory) -> Contrast | None:
    """How two notes exclude each other; None if they merely differ."""
    if "episodic" in (one.type, other.type) or one.scope != other.scope or not is_among(one.project, [other.project]):
        return None
    first, second = _sentences_of(one.title, one.body), _sentences_of(other.title, other.body)
    if max(len(first.sentences), len(second.sentences)) > _MOST_SENTENCES:
        return None
    if places_in(first.words) != places_in(second.words):
        return None
    found = _contrasts(first, second)
    if not found or len({(each.one, each.other) for each in found if not each.is_negation}) > 1:
        return None
    best = max(found, key=lambda each: each.sure)
    sure = round(best.sure - _doubt(first, second, best), 3)
    return best._replace(sure=sure) if sure >= _LEAST else None


def updates(pair: NotePair, found: Contrast) -> Iterator[Proposal]:
    """Propose to link two notes that exclude each other, unless they are linked."""
    one, other = pair.one, pair.other
    older, newer = sorted((one, other), key=lambda note: (note.updated_at, note.id))
    says = (found.one, found.other) if older is one else (found.other, found.one)
    sure = min(found.sure, _IF_DOUBTED) if _is_doubted(pair, found) else found.sure
    if _is_linked(one, other):
        if not _is_later(older, newer) or newer.id not in linked(older, UPDATES):
            return
        older, newer, sure = (
            without(older, newer.id),
            without(newer, older.id),
            _IF_DOUBTED,
        )  # the outdated note was changed since
    if _is_later(older, newer) and newer.created_at >= older.created_at:
        kind, reason = UPDATE, f"{_quoted(newer.title)}: {_quoted(says[1])} is newer than {_quoted(says[0])}."
        after = with_link(newer, UPDATES, older.id), _outdated(older, newer.id)
    else:
        kind, reason = CONTRADICTION, f"{_quoted(says[0])} and {_quoted(says[1])}: it is unclear which holds."
        after = _contradicted(newer, older.id), _contradicted(older, newer.id)
    yield Proposal(kind, (newer.id, older.id), reason, round(sure, 3), after, {"older": says[0], "newer": says[1]})


def _outdated(older: Memory, newer: str) -> Memory:
    return with_tag(with_link(older, UPDATED_BY, newer), OUTDATED)


def _contradicted(note: Memory, other: str) -> Memory:
    return with_tag(with_link(note, CONTRADICTS, other), CONTRADICTED)


def partners(note: Memory) -> set[str]:
    """The notes that a note is linked to because they exclude each other, or because one covers the other."""
    return {id for name in _TAGS for id in linked(note, name)}


def resolved(note: Memory, notes: Mapping[str, Memory], gone: Collection[str]) -> Iterator[Proposal]:
    """Propose to remove links of a note that are no longer valid: the other note is gone, or no longer differs.

    `notes` are the notes that exist. A link by a person is left alone: only dreams tag and link both notes.
    """
    others = partners(note)
    if ids := sorted(others.intersection(gone)) if others else []:
        reason = f"{counted(len(ids), 'note')} that {note.id} is linked to {'is' if len(ids) == 1 else 'are'} gone."
        yield Proposal(RESOLVED, (note.id,), reason, _RESOLVED, (without(note, *ids),), {"links": ids})
        return
    for id in sorted(others & notes.keys()):
        other = notes[id]
        if note.id < id and _is_linked_by_a_dream(note, other) and excluding(note, other) is None:
            reason = "Two linked notes no longer exclude each other."
            yield Proposal(RESOLVED, (note.id, id), reason, _RESOLVED, (without(note, id), without(other, note.id)))


def without(note: Memory, *ids: str) -> Memory:
    """A note without its links to these ids, and without the tags that then have no link."""
    for name, tag in _TAGS.items():
        if {*ids} & {*linked(note, name)}:
            note = without_link(note, name, *ids)
            note = note if linked(note, name) or not tag else without_tag(note, tag)
    return note


def _is_doubted(pair: NotePair, found: Contrast) -> bool:
    """Whether two notes may be about different things, because they differ in more, or their values may be synonyms."""
    compared = pair.comparison
    differences = *compared.differences, *compared.doubts
    is_same = not differences and not (compared.lacks_one and compared.lacks_other)
    values = content_words(words_of(f"{found.one} {found.other}"))
    pairs = [(each.one, each.other) for each in differences if each.one and each.other]
    differ = content_words(words_of(" ".join(text for pair in pairs for text in pair)))
    is_far = pair.closeness is not None and pair.closeness < _FAR
    return is_same or is_far or not differ <= values | content_words(words_of(found.aside))


def _is_linked(one: Memory, other: Memory) -> bool:
    return other.id in partners(one) or one.id in partners(other)


def _is_linked_by_a_dream(one: Memory, other: Memory) -> bool:
    """Whether two notes are linked as `updates` links them."""
    for older, newer in ((one, other), (other, one)):
        if newer.id in linked(older, UPDATED_BY) and older.id in linked(newer, UPDATES) and OUTDATED in older.tags:
            return True
    is_mutual = other.id in linked(one, CONTRADICTS) and one.id in linked(other, CONTRADICTS)
    return is_mutual and CONTRADICTED in one.tags and CONTRADICTED in other.tags


def _is_later(older: Memory, newer: Memory) -> bool:
    """Whether a note was changed after another one, and not together with it."""
    try:
        moments = [datetime.fromisoformat(note.updated_at) for note in (older, newer)]
        return moments[1] - moments[0] >= _TOGETHER
    except (ValueError, TypeError):
        return False


def _contrasts(one: _NoteSentences, other: _NoteSentences) -> list[Contrast]:
    """The contrasts between the sentences of two notes, without the sentences that both have."""
    both = {each.keys for each in one.sentences} & {each.keys for each in other.sentences}
    left = [[each for each in said.sentences if each.keys not in both] for said in (one, other)]
    alike = [(a, b) for a in left[0] for b in left[1] if 2 * len(a.held & b.held) >= min(len(a.held), len(b.held))]
    return [found for a, b in alike if (found := contrast(a.words, b.words))]


def _doubt(one: _NoteSentences, other: _NoteSentences, found: Contrast) -> float:
    """The amount to subtract from the confidence because the notes may be about different things."""
    values = content_words(words_of(f"{found.one} {found.other}"))
    titles = [content_words(said.title) - values - _CHANGED for said in (one, other)]
    texts = [content_words(said.words) for said in (one, other)]
    own = [titles[0] - titles[1] - texts[1], titles[1] - titles[0] - texts[0]]
    if all(own) or (not found.names_subject and titles[0] != titles[1]):
        return 1.0
    shared = len({each.keys for each in one.sentences} & {each.keys for each in other.sentences})
    shorter = min(len(one.sentences), len(other.sentences))
    return 0.05 * any(own) + (0.0 if 2 * (shared + 1) >= shorter else 0.1)


@lru_cache(maxsize=_MOST_CACHED)
def _sentences_of(title: str, body: str) -> _NoteSentences:
    head = tuple(words_of(title))
    texts = [text for line in body.splitlines() for text in sentences(line.strip(" -*#>"))]
    found = [_sentence(words_of(text)) for text in texts if not text.endswith("?")]
    found = [each for each in found if each.words]
    is_value = len(found) == 1 and len(found[0].words) <= _SHORT_VALUE and not has_verb(found[0].words)
    if is_value and not content_words(head) & content_words(found[0].words):
        found = [_sentence([*head, Word(":", ":"), *found[0].words])]
    elif head and (named := _sentence(head)).keys not in {each.keys for each in found}:
        found.append(named)
    return _NoteSentences(
        head, tuple(found), tuple(word for words in (head, *(each.words for each in found)) for word in words)
    )


def _sentence(words: Sequence[Word]) -> _Sentence:
    keys = tuple(word.key for word in words)
    return _Sentence(tuple(words), keys, frozenset(keys))


def _quoted(text: str) -> str:
    short = text if len(text) <= 60 else f"{text[:59]}…"
    return f'"{short}"'
