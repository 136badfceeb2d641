"""Paraphrases of notes, made by rules, and near misses, which differ in one fact. Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from anamnesis.notes import Memory, ulid
from anamnesis.notes.ulid import derived_id

# Each phrase and its replacement.
_SYNONYMS = """
because=since, has to=must, have to=must, needs=requires, starts=begins, started=began,
delete=remove, deleted=removed, deletes=removes, fix=correct, fixed=corrected, shows=displays, show=display, large=big,
fast=quick, also=additionally, approximately=roughly, all of the=all the, kept=stored,
does not=doesn't, do not=don't, is not=isn't, are not=aren't, cannot=can't, must not=mustn't, will not=won't,
was not=wasn't, for example=e.g., lives in=is in, live in=are in, at most=no more than, at least=no less than,
wrong=incorrect, whole=entire, use=make use of, uses=makes use of, per minute=a minute, per hour=an hour,
per day=a day, created=made, creates=makes, create=make, sent=delivered, happens=occurs, happened=occurred,
failed=broke, fails=breaks, so that=in order that, instead of=rather than, only=just, currently=now, choose=pick,
folder=directory, error=failure, errors=failures, repository=repo, database=DB, within=in,
application=app, document=doc, documents=docs, people=folks, kids=children, mom=mother, dad=father, buy=purchase,
bought=purchased, photo=picture, pic=picture, awesome=excellent, amazing=incredible, happy=glad,
lots of=plenty of, a lot of=plenty of, finished=completed, trip=journey, tough=hard, nice=lovely,
totally=completely, I'm=I am, it's=it is, that's=that is, can't=cannot, don't=do not, didn't=did not, I've=I have,
we're=we are, they're=they are, won't=will not, wasn't=was not, you're=you are, gonna=going to, scared=afraid,
funny=amusing, beautiful=pretty, recently=lately, maybe=perhaps, hopefully=I hope, thanks=thank you, enjoy=like
"""
_WAYS = ("As noted before: {0}", "{0} (noted again)", "Reminder: {0}", "{0} This was confirmed once more.")
_DATES = ("[2026-10-03] {0}", "On 3 October 2026: {0}", "{0} (2026-09-21)", "Noted on Monday, 5 October: {0}")
_NAMES = """
Stripe Adyen Grafana Datadog Elasticsearch OpenSearch Redis Memcached Keycloak Auth0 PostgreSQL MySQL
Vault Consul Firebase OneSignal Sentry Bugsnag Zustand MobX Inter Roboto Kubernetes Nomad Terraform Pulumi
Prometheus InfluxDB Envoy HAProxy RabbitMQ Kafka BigQuery Snowflake Airflow Dagster MLflow Kubeflow Spark Flink
Cranelift QBE Linear Asana Notion Confluence Zendesk Freshdesk Packer Ansible Trivy Grype LaunchDarkly Unleash
Docker Podman Miriam Tobias Jonas Leonie Tomasz Agata Petra Viktor Farid Nadia Carla Simon Ines Marco
Frankfurt Dublin Norway Iceland Android Windows Brotli Gzip Lokalise Crowdin
"""
_NEGATIONS = """
 must not > must | do not > do | does not > does | is not > is | are not > are | cannot > can | never > always
|don't >do |didn't >did |can't >can |wasn't >was |isn't >is | must > must not | can > cannot | may > may not
| should > should not | is > is not | are > are not | was > was not | has > has no | will > will not
|I'm >I'm not | have > have not | need > do not need """
_VERSION = re.compile(r"\b\d++\.\d++(?:\.\d++)?+\b|\bv\d++\b")
_NUMBER = re.compile(r"(?<![\w./:-])\d++(?![\w/:-]|\.\d)")
_PATH = re.compile(r"\b[\w-]++(?:/[\w.-]++)++\b|\b[\w-]++\.(?:py|yml|yaml|md|json|toml|tf|rs|ts|csv|sql|sh)\b")
_SPEAKER = re.compile(r"[A-Z]\w++: ")
_SENTENCE = re.compile(r"(?<=[.!?])\s++(?=[A-Z\"'\[])")
_FEWEST_WORDS = 8
_START, _LATER = datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=5, seconds=30)
# A third of the paraphrases have their first words as their title.
_TITLE_WORDS = 6

Rule = Callable[[str, random.Random], str]


class PlantedNote(NamedTuple):
    """A note derived from another one by a rule."""

    note: Memory
    source: str
    rule: str


def _pairs() -> dict[str, str]:
    return dict(pair.strip().split("=", 1) for pair in _SYNONYMS.replace("\n", " ").split(",") if "=" in pair)


_TABLE = _pairs()
_TABLE_PATTERN = re.compile(
    r"(?<![\w'/.-])(" + "|".join(sorted(map(re.escape, _TABLE), key=len, reverse=True)) + r")(?![\w'/-])"
)
_NAME_OF = {
    name: other
    for one, two in zip(*[iter(_NAMES.split())] * 2, strict=True)
    for name, other in ((one, two), (two, one))
}
_NAME = re.compile(r"\b(" + "|".join(_NAME_OF) + r")\b")


def _parts(text: str) -> tuple[str, list[str], str]:
    """The speaker, if any; the lines, or the sentences of a single line; and their separator."""
    lines = text.split("\n")
    if len(lines) > 1:
        return "", lines, "\n"
    speaker = found[0] if (found := _SPEAKER.match(text)) else ""
    return speaker, _SENTENCE.split(text.removeprefix(speaker)), " "


def reordered(text: str, chance: random.Random) -> str:
    """The sentences in another order; of a single sentence, the part after the comma first."""
    speaker, parts, between = _parts(text)
    if len(parts) == 1:
        first, comma, last = parts[0].rstrip(".").partition(", ")
        is_long = comma and len(last.split()) > 2
        return f"{speaker}{last[:1].upper()}{last[1:]}, {first[:1].lower()}{first[1:]}." if is_long else ""
    shuffled = parts[:]
    while shuffled == parts:
        chance.shuffle(shuffled)
    return speaker + between.join(shuffled)


def reworded(text: str, _: random.Random) -> str:
    """At least two words replaced by synonyms."""
    changed, count = _TABLE_PATTERN.subn(lambda found: _TABLE[found[1]], text)
    return changed if count > 1 else ""


def cut(text: str, chance: random.Random) -> str:
    """The text without a third of its sentences, at least one."""
    speaker, parts, between = _parts(text)
    if len(parts) < 2:
        return ""
    dropped = {*chance.sample(range(len(parts)), max(1, len(parts) // 3))}
    left = speaker + between.join(part for number, part in enumerate(parts) if number not in dropped)
    return left if len(left.split()) >= _FEWEST_WORDS else ""


def dated(text: str, chance: random.Random) -> str:
    return chance.choice((*_DATES, *_WAYS)).format(text)


def reordered_and_reworded(text: str, chance: random.Random) -> str:
    return (changed := reordered(text, chance)) and reworded(changed, chance)


def another_number(text: str, chance: random.Random) -> str:
    plain = [found for found in _NUMBER.finditer(text) if not _inside(found, text, _VERSION, _PATH)]
    return _with_one(text, plain, chance, lambda number: str(int(number) + chance.choice([1, 5, 20, int(number) or 3])))


def another_version(text: str, chance: random.Random) -> str:
    def next_one(version: str) -> str:
        head, last = re.fullmatch(r"(.*?)(\d+)", version).groups()  # type: ignore[union-attr]
        return f"{head}{int(last) + chance.choice([1, 2])}"

    return _with_one(text, [*_VERSION.finditer(text)], chance, next_one)


def another_path(text: str, chance: random.Random) -> str:
    def renamed(path: str) -> str:
        folder, slash, name = path.rpartition("/")
        stem, dot, suffix = name.partition(".")
        return f"{folder}{slash}{chance.choice(['old', 'legacy', 'common', 'base'])}_{stem}{dot}{suffix}"

    return _with_one(text, [*_PATH.finditer(text)], chance, renamed)


def another_name(text: str, chance: random.Random) -> str:
    return _with_one(text, [*_NAME.finditer(text)], chance, _NAME_OF.__getitem__)


def negated(text: str, chance: random.Random) -> str:
    pairs = [pair.split(">") for pair in _NEGATIONS.replace("\n", "").split("|")]
    fitting = [(old, new) for old, new in pairs if old in text]
    if not fitting:
        return ""
    old, new = fitting[0] if " not " in text else chance.choice(fitting)
    return text.replace(old, new, 1)


PARAPHRASES: dict[str, Rule] = {
    "reordered": reordered,
    "reworded": reworded,
    "cut": cut,
    "dated": dated,
    "reordered and reworded": reordered_and_reworded,
}
NEAR_MISSES: dict[str, Rule] = {
    "another number": another_number,
    "another name": another_name,
    "negated": negated,
    "another version": another_version,
    "another path": another_path,
}


def swapped(text: str, one: str, two: str) -> str:
    """The text with the first of two names in it replaced by the other."""
    return re.sub(rf"\b(?:{one}|{two})\b", lambda found: two if found[0] == one else one, text, count=1)


def plant(
    notes: list[Memory], rules: Mapping[str, Rule], chance: random.Random, most: int, *, near: bool = False
) -> list[PlantedNote]:
    """Up to `most` notes derived from others, evenly by all rules that apply.

    Half of the near misses are reworded as well.
    """
    found: list[PlantedNote] = []
    sources = [note for note in notes if len(note.body.split()) >= _FEWEST_WORDS]
    chance.shuffle(sources)
    names = [*rules]
    for note in sources:
        if len(found) >= most:
            break
        counts = {name: sum(each.rule == name for each in found) for name in names}
        for name in sorted(names, key=lambda name: (counts[name], names.index(name))):
            text = rules[name](note.body, chance)
            if text and near and chance.random() < 0.5:
                text = reworded(text, chance) or text
            if text and text != note.body:
                own = " ".join(text.split()[:_TITLE_WORDS])
                title = own if not near and len(found) % 3 == 0 else note.title
                found.append(PlantedNote(_copy(note, text, title), note.id, name))
                break
    return found


def developer_notes() -> list[Memory]:
    """The notes of developer_notes.txt, as an agent's notes."""
    lines = Path(__file__).with_name("developer_notes.txt").read_text("utf-8").splitlines()
    return [_note(number, *line.split(" | ", 3)) for number, line in enumerate(lines)]


def _note(number: int, project: str, kind: str, title: str, body: str) -> Memory:
    return as_agents(Memory(ulid(1_780_000_000_000, number), kind, title, body, f"github.com/acme/{project}"), number)


def as_agents(note: Memory, number: int) -> Memory:
    """The note as an agent's note, the `number`-th in time."""
    stamp = (_START + timedelta(minutes=number)).isoformat()
    return replace(note, prov_session=f"s{number // 10}", created_at=stamp, updated_at=stamp, machine_id="bench")


def _copy(note: Memory, text: str, title: str) -> Memory:
    """A note with a new text, written a little later."""
    stamp = (datetime.fromisoformat(note.updated_at) + _LATER).isoformat()
    new_id = derived_id(stamp, f"{note.id} {text}")
    return replace(note, id=new_id, title=title, body=text, created_at=stamp, updated_at=stamp, prov_session="again")


def _with_one(text: str, places: list[re.Match[str]], chance: random.Random, change: Callable[[str], str]) -> str:
    """The text with one random match changed."""
    if not places:
        return ""
    found = chance.choice(places)
    return text[: found.start()] + change(found[0]) + text[found.end() :]


def _inside(found: re.Match[str], text: str, *patterns: re.Pattern[str]) -> bool:
    return any(
        other.start() <= found.start() and found.end() <= other.end()
        for pattern in patterns
        for other in pattern.finditer(text)
    )
