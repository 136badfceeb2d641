"""The gate refuses known notes and nothing else, and every refused note can be read back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from anamnesis import review
from anamnesis.dream.admitting import Admission, accept, admit, drafted, forget
from anamnesis.dream.derivable import derivable
from anamnesis.dream.gate import MOST_A_MINUTE, MOST_DIRECTIVES, is_directive, judge
from anamnesis.errors import InvalidArgument, InvalidNote
from anamnesis.inject import select_inject
from anamnesis.notes import Memory
from anamnesis.notes.marks import marks_of
from anamnesis.store import MemoryStore
from anamnesis.vault import Vault

RETRY = "The client retries 3 times.\nIt waits 5 s between two tries."
DIFF = "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2"
LOG = "1a2b3c4 Fix the parser\n2b3c4d5 Add a cache\n3c4d5e6 Remove the queue"
LISTING = "src/a.py\nsrc/b.py\nsrc/c/d.py\nREADME.md\nsetup.py"
TREE = "src/\n├── a.py\n├── b.py\n└── c\n    └── d.py\n\n1 directory, 3 files"
LS = "total 8\n-rw-r--r-- 1 me me 12 Jan  1 10:00 a.py\ndrwxr-xr-x 2 me me 96 Jan  1 10:00 b"
TRACE = (
    'Traceback (most recent call last):\n  File "a.py", line 3, in load\n    return table[key]\n'
    "           ~~~~~^^^^^\nKeyError: 'x'"
)
JAVA = (
    "java.lang.IllegalStateException: closed\n  at a.B.c(B.java:3)\n  at a.B.d(B.java:9)\n  at a.Main.main(Main.java:1)"
)
PLACE = "The file `src/config.py` defines the function `load_config(path)`."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path) as opened:
        yield opened


def write(store: MemoryStore, title: str, body: str, session: str = "", **more: Any) -> Admission:
    fields = {"type": "semantic", "title": title, "body": body, "project": "p", "prov_session": "agent", **more}
    return admit(store, fields, session)


def draft(title: str, body: str, **more: Any) -> Memory:
    return drafted(
        **{"type": "semantic", "project": "p", "prov_session": "agent", "title": title, "body": body, **more}
    )


def test_of_the_same_texts_at_the_same_time_one_is_written(store: MemoryStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        written = [*pool.map(lambda _: write(store, "Retries", RETRY), range(8))]
    assert sorted(each.verdict.decision for each in written) == ["allow", *["reject"] * 7]


def test_the_same_text_is_refused_with_the_note_that_has_it(store: MemoryStore) -> None:
    first = write(store, "Retries", RETRY)
    assert first.note
    again = write(store, "Retries", f"  {RETRY}\n")
    assert (again.verdict.decision, again.note) == ("reject", None)
    assert again.verdict.note == first.note
    assert first.note.id in again.verdict.reason
    assert store.count() == 1


@pytest.mark.parametrize(
    "body",
    [
        RETRY.replace("3", "4"),
        RETRY.replace("retries", "never retries"),
        RETRY.replace("client", "server"),
        RETRY.replace("3 times.\nIt waits 5", "5 times.\nIt waits 3"),
        RETRY.replace("5 s", "5 ms"),
        RETRY + "\nBut not for POST.",
        RETRY.replace("client", "CLIENT"),
    ],
)
def test_another_number_name_negation_unit_or_order_is_never_refused(store: MemoryStore, body: str) -> None:
    write(store, "Retries", RETRY)
    assert write(store, "Retries", body).note
    assert any(note.body == body for note in store.list())


def test_a_text_that_says_more_takes_the_place_of_an_agents_note(store: MemoryStore) -> None:
    old = write(store, "Retries", RETRY, tags=["http"]).note
    assert old
    longer = f"{RETRY}\nThen it gives up with status 503."
    done = write(store, "Retries", longer, tags=["net"])
    assert done.verdict.decision == "upsert"
    assert done.note
    assert (done.note.id, done.note.body, done.note.tags) == (old.id, longer, ["http", "net"])
    assert [each.note.body for each in store.kept.versions(old.id)] == [RETRY]
    assert store.count() == 1


@pytest.mark.parametrize("more", [{"prov_session": ""}, {"tags": ["pinned"]}, {"type": "procedural"}, {"project": "q"}])
def test_a_persons_note_and_one_of_another_place_are_never_changed(store: MemoryStore, more: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"type": "semantic", "project": "p", "prov_session": "agent", **more}
    old = store.write(title="Retries", body=RETRY, **fields)
    done = write(store, "Retries", f"{RETRY}\nThen it gives up with status 503.")
    assert done.verdict.decision == "allow"
    assert store.get(old.id) == old
    assert store.count() == 2


def test_a_note_that_does_not_hold_any_more_refuses_nothing(store: MemoryStore) -> None:
    for tag in ("outdated", "stale", "contradicted", "reflected"):
        store.write(type="semantic", title=f"About {tag}", body=RETRY, project="p", tags=[tag])
        assert write(store, f"About {tag}", RETRY).note
    store.write(type="semantic", title="Held", body=RETRY, project="p", extra={"tags": "held: for you\n"})
    assert write(store, "Held", RETRY).note
    episode = store.write(type="episodic", title="What was done", body=RETRY, project="p")
    assert write(store, "What was done", RETRY).note
    store.write(type="semantic", title="Here", body=RETRY, project="p", scope="machine-local")
    assert write(store, "Here", RETRY).note
    store.delete(episode.id)
    assert write(store, "What was done", RETRY).verdict.rule == "same"


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("git diff", DIFF),
        ("Changes of x.py", f"```diff\n{DIFF}\n```"),
        ("Recent commits", LOG),
        ("Files of the project", LISTING),
        ("Project structure", TREE),
        ("ls", LS),
        ("KeyError in load", TRACE),
        ("Stack trace", JAVA),
        ("load_config", PLACE),
    ],
)
def test_what_code_or_git_can_tell_is_refused_unless_it_is_explained(title: str, body: str) -> None:
    assert derivable(title, body)
    assert not derivable(title, f"{body}\n\nThe cause was a stale cache.")
    assert not derivable("Why we keep the old parser", body)
    assert judge(draft(title, body), []).decision == "reject"
    assert judge(draft(title, f"This broke the release.\n{body}"), []).decision == "allow"


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Files", "- src/a.py\n- src/b.py: the entry point\n- src/c.py\n- src/d.py\n- src/e.py"),
        ("Commits", "1a2b3c4 broke the build, 2b3c4d5 fixed it"),
        ("Structure", "src/\n├── a.py  # entry point\n└── b.py"),
        ("Port", "8080"),
        ("Changes", "- use WAL\n- set busy_timeout\n+ keep one writer"),
        ("load_config", "The file src/config.py defines load_config, which must run before logging."),
        ("Diff", ""),
    ],
)
def test_what_looks_like_it_but_says_more_is_written(title: str, body: str) -> None:
    assert not derivable(title, body)


def test_orders_beyond_the_budget_wait_for_a_person(store: MemoryStore) -> None:
    for number in range(MOST_DIRECTIVES):
        assert write(store, f"Rule {number}", f"Always run step {number}.").verdict.decision == "allow"
    more = write(store, "Rule x", "Never push on Fridays.")
    assert more.verdict.decision == "redirect"
    assert more.note
    assert marks_of(more.note)["held"].startswith("It gives orders")
    assert store.search("push Fridays", project="p", mode="words") == [more.note]
    assert more.note not in select_inject(store, project="p", k=100)
    assert review.waiting(store) == [more.note]
    review.accept(store, more.note.id)
    assert more.note.id in [each.id for each in select_inject(store, project="p", k=100)]
    assert write(store, "Fact", "The build takes 3 minutes.").verdict.decision == "allow"
    assert write(store, "Rule", "Never push on Mondays.", project="q").verdict.decision == "allow"


@pytest.mark.parametrize(
    ("body", "is_one"),
    [
        ("Always use tabs.", True),
        ("- Never commit to main\n- Do not rebase", True),
        ("We decided to never cache. The reason is memory. It was slow before.", False),
        ("The server never retries.", False),
        ("", False),
    ],
)
def test_a_directive_is_a_note_that_mostly_gives_orders(body: str, is_one: bool) -> None:
    assert is_directive(draft("t", body)) == is_one


def test_a_server_in_a_loop_is_slowed_down_and_loses_nothing(store: MemoryStore) -> None:
    for number in range(MOST_A_MINUTE):
        assert write(store, f"n{number}", "zebra", session="one").note
    refused = write(store, "late", "zebra", session="one")
    assert (refused.verdict.rule, refused.note) == ("pace", None)
    assert write(store, "late", "zebra", session="two").note
    assert accept(store, refused.number).title == "late"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.tuples(st.text(min_size=1, max_size=30), st.text(max_size=80)), min_size=1, max_size=6))
def test_whatever_is_refused_is_in_the_log_and_can_be_written_after_all(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]
) -> None:
    with MemoryStore(tmp_path_factory.mktemp("home")) as store:
        for title, body in [*texts, *texts, ("git log", LOG)]:
            try:
                done = write(store, title, body)
            except InvalidNote:
                continue
            if done.note is None:
                entry = store.decisions.find(done.number)
                assert entry
                assert entry.draft
                assert (entry.draft.title, entry.draft.body) == stored(title, body)
                taken = accept(store, done.number)
                assert (taken.title, taken.body) == (entry.draft.title, entry.draft.body)


def stored(title: str, body: str) -> tuple[str, str]:
    made = draft(title, body)
    return made.title, made.body


WORDS = st.sampled_from(
    [
        *("cache", "queue", "parser", "retries", "writes", "file", "the", "a", "of", "not"),
        *("3", "5", "7", "v1.2", "v1.3", "/tmp/a", "/tmp/b", "Ann", "Ben"),
    ]
)
SENTENCE = st.lists(WORDS, min_size=2, max_size=6).map(lambda words: " ".join(words) + ".")
SENTENCES = st.lists(SENTENCE, min_size=1, max_size=4)


@settings(max_examples=300, deadline=None)
@given(old=SENTENCES, new=SENTENCES, word=st.sampled_from(["9", "v2.0", "/etc/x", "Zoe", "never", "no", "-3"]))
def test_a_text_with_a_word_that_the_note_lacks_is_never_refused(old: list[str], new: list[str], word: str) -> None:
    known = draft("Topic", " ".join(old))
    fresh = draft("Topic", " ".join([*new, f"{word} {old[0]}"]))
    assume(word not in known.body.split())
    assert judge(fresh, [known]).decision != "reject"


@settings(max_examples=300, deadline=None)
@given(old=SENTENCES, new=SENTENCES)
def test_a_note_is_changed_only_if_each_of_its_words_stays(old: list[str], new: list[str]) -> None:
    known, fresh = draft("Topic", " ".join(old)), draft("Topic", " ".join(new))
    verdict = judge(fresh, [known])
    if verdict.decision == "upsert":
        assert {word.rstrip(".") for word in known.body.split()} <= {word.rstrip(".") for word in fresh.body.split()}


def test_secrets_are_redacted_in_the_log(store: MemoryStore) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for _ in range(2):
        done = write(store, "Token", f"The token is {token}.")
    assert done.note is None
    assert not any(token.encode() in path.read_bytes() for path in store.root.glob("gate.db*"))


def test_a_purge_and_a_person_can_make_the_log_forget(tmp_path: Path) -> None:
    with Vault(tmp_path) as vault:
        first = write(vault.notes, "Zebra", "jxwalrus lives here.").note
        assert first
        assert write(vault.notes, "Zebra", "jxwalrus lives here.").note is None
        other = write(vault.notes, "git log", LOG)
        forget(vault.notes, other.number)
        vault.purge(first.id)
        assert vault.erase()
        assert vault.notes.decisions.listed() == []
        with pytest.raises(InvalidArgument):
            accept(vault.notes, other.number)
    assert not any(b"xwalrus" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_where_nothing_can_be_recorded_everything_is_written(store: MemoryStore) -> None:
    (store.root / "gate.db").mkdir()
    assert write(store, "Retries", RETRY).note
    assert write(store, "Retries", RETRY).note
    assert write(store, "git log", LOG).note
    assert store.count() == 3
