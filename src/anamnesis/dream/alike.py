"""Groups of notes that say the same, and the one note that remains of each. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from anamnesis.dream.comparison import Comparison, compare
from anamnesis.dream.note_statements import content_of
from anamnesis.dream.proposal import Proposal, is_persons
from anamnesis.dream.tokens import DATE
from anamnesis.dream.triage import THRESHOLD
from anamnesis.notes import Memory
from anamnesis.notes.foreign import derived
from anamnesis.notes.marks import LINKS, linked, with_link
from anamnesis.notes.project_names import is_among
from anamnesis.plain import one_line

KIND = "duplicate"
# A note with a smaller share of another one, or with fewer words, is a part of it and not a truncated version.
_LEAST_SHARE, _LEAST_WORDS = 0.25, 4
# The confidence for a note that holds nearly nothing of the other one, and for one that holds everything.
_CUT, _WHOLE = 0.82, 0.97
# Notes that the model finds less close than this may share words by chance, so a person decides.
_FAR, _IF_DOUBTED = 0.6, 0.7
# Every note of a group is compared with every other one.
_MOST = 20
_LONGEST_TITLE = 60
_EPISODIC, _SESSION = "episodic", "session-end"


class NotePair(NamedTuple):
    """Two notes, their comparison, and their closeness in meaning, if known."""

    one: Memory
    other: Memory
    comparison: Comparison
    closeness: float | None


def sureness(pair: NotePair) -> float:
    """The confidence that two notes say the same; 0 if something rules it out.

    One note must hold everything that the other says. If each lacks something of the other, that may be a difference.
    """
    compared = pair.comparison
    shares = sorted((compared.share_of_one, compared.share_of_other))
    if compared.differences or (compared.lacks_one and compared.lacks_other) or shares[0] < _LEAST_SHARE:
        return 0.0
    is_cut = compared.lacks_one or compared.lacks_other
    if is_cut and (compared.doubts or min(_fullness(note)[0] for note in pair[:2]) < _LEAST_WORDS):
        return 0.0
    is_same = words_of(pair.one) == words_of(pair.other)
    if _are_apart(pair.one, pair.other, is_same=is_same):
        return 0.0
    if is_same:
        return 1.0
    if compared.doubts or (pair.closeness is not None and pair.closeness < _FAR):
        return _IF_DOUBTED
    return _CUT + (_WHOLE - _CUT) * shares[0]


def words_of(note: Memory) -> tuple[str, ...]:
    """The words of a note in their order."""
    return tuple(f"{note.title}\n{note.body}".casefold().split())


def duplicates(pairs: Iterable[NotePair], most: Callable[[str], int] = lambda _project: _MOST) -> Iterator[Proposal]:
    """Propose one note for each group of notes that say the same: first the confident groups, then the doubtful ones.

    `most` gives the number of notes of a project that one proposal may change. A larger group is merged over several
    cycles, because the notes that remain of its parts say the same.
    """
    sure: dict[str, dict[str, tuple[float, NotePair]]] = {}
    notes: dict[str, Memory] = {}
    for pair in pairs:
        if confidence := sureness(pair):
            notes |= {pair.one.id: pair.one, pair.other.id: pair.other}
            sure.setdefault(pair.one.id, {})[pair.other.id] = confidence, pair
            sure.setdefault(pair.other.id, {})[pair.one.id] = confidence, pair
    taken: set[str] = set()
    ordered = sorted(notes.values(), key=_fullness, reverse=True)
    for stays, least in [(note, THRESHOLD) for note in ordered] + [(note, 0.0) for note in ordered]:
        found = {id: each for id, each in sure[stays.id].items() if id not in taken and each[0] >= least}
        if stays.id not in taken and (group := _group(stays, [notes[id] for id in found], found, most)):
            taken |= {stays.id, *(note.id for note in group)}
            compared = {note.id: found[note.id] for note in group}
            yield _proposal(*_established(stays, group, compared), [*compared.values()])


def merged(stays: Memory, others: Sequence[Memory]) -> Memory:
    """The note that replaces the others: with the newest time and the tags and links of all.

    If its title says nothing, it gets the title of another one.
    """
    group = stays, *others
    titled = next((note for note in group if content_of(note).title), stays)
    tags = dict.fromkeys(tag for note in group for tag in note.tags)
    hidden = [note.id for note in others]
    supersedes = dict.fromkeys([*stays.superseded, *hidden])
    newest = max(note.updated_at for note in group)
    for name in LINKS:
        if ids := [id for note in others for id in linked(note, name) if id not in (stays.id, *hidden)]:
            stays = with_link(stays, name, *ids)
    changed = replace(stays, title=titled.title, tags=[*tags], supersedes=[*supersedes], updated_at=newest)
    return derived(changed, [titled])


def _fullness(note: Memory) -> tuple[int, str, str]:
    """A sort key by the number of words in a note; it gives the same order on every machine."""
    return sum(len(each.tokens) for each in content_of(note).body), note.updated_at, note.id


def _established(
    fullest: Memory, others: Sequence[Memory], found: Mapping[str, tuple[float, NotePair]]
) -> tuple[Memory, list[Memory]]:
    """The note of a group that remains, and the others.

    Of the notes that say all that the fullest says, a person's own remains, else the oldest, because other notes and
    people refer to it and it has been used.
    """
    whole = [note for note in others if _lacks_nothing(note, found[note.id][1]) and _dates(note) >= _dates(fullest)]
    stays = min([fullest, *whole], key=lambda note: (not is_persons(note), note.created_at, note.id))
    return stays, sorted((note for note in (fullest, *others) if note is not stays), key=lambda note: note.id)


def _dates(note: Memory) -> set[str]:
    """The dates in a note, its title included."""
    held = content_of(note)
    return {
        token.key
        for token in (*held.dates, *(token for each in held.body for token in each.tokens))
        if token.kind == DATE
    }


def _group(
    stays: Memory, others: Sequence[Memory], sure: Mapping[str, tuple[float, NotePair]], most: Callable[[str], int]
) -> list[Memory]:
    """The other notes that `stays` holds completely and that do not differ from each other."""
    group: list[Memory] = []
    for note in sorted(others, key=lambda note: (-sure[note.id][0], note.id)):
        if _lacks_nothing(stays, sure[note.id][1]) and not any(_differ(note, one) for one in group):
            group.append(note)
        if group and len(group) >= min(_MOST, most(stays.project)) - 1:
            break
    return sorted(group, key=lambda note: note.id)


def _differ(one: Memory, other: Memory) -> bool:
    compared = compare(one, other)
    return bool(compared.differences or compared.doubts)


def _lacks_nothing(stays: Memory, pair: NotePair) -> bool:
    return not (pair.comparison.lacks_one if stays.id == pair.one.id else pair.comparison.lacks_other)


def _are_apart(one: Memory, other: Memory, *, is_same: bool) -> bool:
    """Whether two notes are never merged, however alike they are.

    Machine-local notes stay on their machine. Records of different sessions are about different events. Agents update
    different topics separately. Notes that are linked as contradicting must be unlinked first.
    """
    if one.scope != other.scope or not is_among(one.project, [other.project]):
        return True
    if (one.type == _EPISODIC) != (other.type == _EPISODIC):
        return True
    if all(any(a.id in linked(b, name) for name in LINKS) for a, b in ((one, other), (other, one))):
        return True
    topics = one.engram.get("topic_key"), other.engram.get("topic_key")
    if all(topics) and topics[0] != topics[1]:
        return True
    is_record = _SESSION in (one.prov_source, other.prov_source)
    return is_record and not is_same and not (one.prov_session and one.prov_session == other.prov_session)


def _proposal(stays: Memory, others: Sequence[Memory], found: Sequence[tuple[float, NotePair]]) -> Proposal:
    notes = stays.id, *(note.id for note in others)
    confidence = min(confidence for confidence, _ in found)
    return Proposal(KIND, notes, _reason(stays, others), confidence, (merged(stays, others),), _evidence(found))


def _reason(stays: Memory, others: Sequence[Memory]) -> str:
    titles = [f'"{one_line(note.title, _LONGEST_TITLE)}"' for note in (stays, *others)]
    if len({*titles}) == 1:
        return f"{'Two' if len(titles) == 2 else len(titles)} notes with the title {titles[0]} say the same."
    if len(titles) == 2:
        return f"{titles[0]} says all that {titles[1]} says."
    return f"{titles[0]} says all that {len(others)} other notes say, such as {titles[1]}."


def _evidence(found: Sequence[tuple[float, NotePair]]) -> dict[str, Any]:
    pairs = [pair for _, pair in found]
    shares = [sorted((pair.comparison.share_of_one, pair.comparison.share_of_other)) for pair in pairs]
    closeness = [round(pair.closeness, 3) for pair in pairs if pair.closeness is not None]
    return {"shares": [[round(share, 3) for share in each] for each in shares], "closeness": closeness}
