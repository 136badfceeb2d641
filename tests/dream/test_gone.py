"""Notes with references that are gone from the code, and no others, are marked, with the commit that removed them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.dream.repositories import PROJECT, Repository, found, moment, note, run

from anamnesis.notes.marks import GONE, STALE, marks_of
from anamnesis.store import MemoryStore

LONG = "\n".join(f"line {number} of a file that is long enough to be recognised" for number in range(20))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "work" / "shop")
    made.commit(0, {"README.md": "The shop.\n", "src/cart.py": f"def add_item(x):\n    return x\n{LONG}\n"})
    return made


def mark(store: MemoryStore, id: str) -> str:
    return marks_of(store.get(id)).get(STALE, "")


def test_a_note_about_a_removed_file_is_marked_with_the_commit(store: MemoryStore, repository: Repository) -> None:
    written = note(store, "The cart is in src/cart.py.", 1)
    assert found(run(store, repository.folder)) == []
    commit = repository.commit(2, {"src/cart.py": None})
    (proposal,) = found(run(store, repository.folder))
    assert proposal.notes == (written.id,)
    assert proposal.evidence["gone"] == [
        {"reference": "src/cart.py", "kind": "path", "commit": commit, "date": "2026-01-03"}
    ]
    after = store.get(written.id)
    assert mark(store, written.id) == f"src/cart.py was removed in {commit[:10]} (2026-01-03)"
    assert GONE in after.tags
    assert (after.body, after.updated_at) == (written.body, written.updated_at)
    assert found(run(store, repository.folder)) == []


def test_a_note_that_was_written_after_the_removal_is_not_marked(store: MemoryStore, repository: Repository) -> None:
    repository.commit(2, {"src/cart.py": None})
    note(store, "The cart was in src/cart.py.", 3)
    assert found(run(store, repository.folder)) == []


def test_a_note_about_a_file_that_came_later_and_went_is_not_marked(store: MemoryStore, repository: Repository) -> None:
    """It was not there when the note was written: the note may mean another one."""
    note(store, "See docs/plan.md of the other team.", 1)
    repository.commit(2, {"docs/plan.md": LONG})
    repository.commit(3, {"docs/plan.md": None})
    assert found(run(store, repository.folder)) == []


def test_what_the_repository_never_had_is_never_gone(store: MemoryStore, repository: Repository) -> None:
    body = "On the server: etc/nginx/site.conf, `reload_all()`, `make deploy`, nginx 1.18, `systemctl.restart`."
    note(store, body, 1)
    run(store, repository.folder)
    repository.commit(2, {"src/cart.py": None})
    assert found(run(store, repository.folder)) == []


def test_a_note_that_tells_of_the_removal_is_not_marked(store: MemoryStore, repository: Repository) -> None:
    """It is written before the commit, in the session that removes the file."""
    note(store, "We deleted src/cart.py. It was too slow.", 1)
    note(store, "Never use `add_item`; use `put_item` instead of it.", 1)
    repository.commit(2, {"src/cart.py": None})
    assert found(run(store, repository.folder)) == []


def test_a_record_of_a_session_is_not_marked(store: MemoryStore, repository: Repository) -> None:
    note(store, "Changed src/cart.py.", 1, type="episodic")
    repository.commit(2, {"src/cart.py": None})
    assert found(run(store, repository.folder)) == []


@pytest.mark.parametrize("is_known", [True, False], ids=["looked at before", "looked at for the first time"])
@pytest.mark.parametrize(
    ("body", "before", "after", "text"),
    [
        ("Use `add_item()`.", {}, {"src/cart.py": LONG}, "add_item"),
        ("Use `Cart.add_item`.", {}, {"src/cart.py": LONG}, "add_item"),
        ("Use `getUserById`.", {"a.java": "public User getUserById(int id) {\n"}, {"a.java": "\n"}, "getUserById"),
        ("Run `make lint`.", {"Makefile": "all lint: x\n\truff\n"}, {"Makefile": "all: x\n"}, "make lint"),
        (
            "Run `npm run build`.",
            {"package.json": '{"scripts": {\n  "build": "tsc",\n  "test": "jest"\n}}\n'},
            {"package.json": '{"scripts": {\n  "test": "jest"\n}}\n'},
            "npm run build",
        ),
        ("Run `just fmt`.", {"justfile": "fmt:\n  ruff\n"}, {"justfile": "lint:\n  ruff\n"}, "just fmt"),
        (
            "Run `uv run serve`.",
            {"pyproject.toml": '[project.scripts]\nserve = "shop:main"\n'},
            {"pyproject.toml": "[project.scripts]\n"},
            "run serve",
        ),
        (
            "We are on pydantic 1.10.",
            {"requirements.txt": "pydantic==1.10.2\n"},
            {"requirements.txt": "pydantic==2.7.0\n"},
            "pydantic 1.10",
        ),
        (
            "The pages use `react@17`.",
            {"package.json": '{"dependencies": {\n  "react": "^17.0.2"\n}}\n'},
            {"package.json": '{"dependencies": {\n  "react": "^18.2.0"\n}}\n'},
            "react 17",
        ),
        (
            "Locked: pydantic 1.10.2.",
            {"uv.lock": '[[package]]\nname = "pydantic"\nversion = "1.10.2"\n'},
            {"uv.lock": '[[package]]\nname = "pydantic"\nversion = "2.7.0"\n'},
            "pydantic 1.10.2",
        ),
        (
            "Locked: react 17.0.2.",
            {"package-lock.json": '{\n"node_modules/react": {\n"version": "17.0.2",\n"x": 1}}\n'},
            {"package-lock.json": '{\n"node_modules/react": {\n"version": "18.2.0",\n"x": 1}}\n'},
            "react 17.0.2",
        ),
    ],
)
def test_symbols_commands_and_versions_that_are_gone(
    store: MemoryStore,
    repository: Repository,
    body: str,
    before: dict[str, str | None],
    after: dict[str, str | None],
    text: str,
    is_known: bool,
) -> None:
    repository.commit(1, before)
    written = note(store, body, 2)
    if is_known:
        assert found(run(store, repository.folder)) == []
    commit = repository.commit(3, after)
    (proposal,) = found(run(store, repository.folder))
    assert mark(store, written.id) == f"{text} was removed in {commit[:10]} (2026-01-04)"
    assert proposal.confidence >= 0.8


@pytest.mark.parametrize(
    "after",
    [
        {"src/cart.py": None, "lib/basket.py": f"def add_item(x):\n    return x\n{LONG}\n"},
        {"src/cart.py": LONG, "src/other.py": "def add_item(x): ...\n"},
    ],
    ids=["renamed", "moved"],
)
def test_what_is_elsewhere_now_is_not_gone(
    store: MemoryStore, repository: Repository, after: dict[str, str | None]
) -> None:
    note(store, "Use `add_item()`.", 1)
    repository.commit(2, after)
    assert found(run(store, repository.folder)) == []


def test_a_symbol_that_is_only_left_in_a_changelog_is_gone(store: MemoryStore, repository: Repository) -> None:
    note(store, "Use `add_item()`.", 1)
    repository.commit(2, {"src/cart.py": LONG, "CHANGELOG.md": "Without `add_item`.\n"})
    assert len(found(run(store, repository.folder))) == 1


@pytest.mark.parametrize("is_known", [True, False], ids=["looked at before", "looked at for the first time"])
def test_a_renamed_file_is_followed(store: MemoryStore, repository: Repository, is_known: bool) -> None:
    """Through several renames; once it is removed under its last name, it is gone."""
    written = note(store, "See src/cart.py.", 1)
    if is_known:
        run(store, repository.folder)
    text = (repository.folder / "src/cart.py").read_text()
    repository.commit(2, {"src/cart.py": None, "src/basket.py": text})
    repository.commit(3, {"src/basket.py": None, "lib/basket.py": f"{text}more\n"})
    if is_known:
        assert found(run(store, repository.folder)) == []
    commit = repository.commit(4, {"lib/basket.py": None})
    assert len(found(run(store, repository.folder))) == 1
    assert commit[:10] in mark(store, written.id)


def test_the_evidence_says_where_a_renamed_file_is(store: MemoryStore, repository: Repository) -> None:
    repository.commit(0, {"src/pay.py": "def pay(): ...\n"})
    text = (repository.folder / "src/cart.py").read_text()
    note(store, "See src/cart.py and src/pay.py.", 1)
    repository.commit(2, {"src/cart.py": None, "lib/basket.py": text, "src/pay.py": None})
    (proposal,) = found(run(store, repository.folder))
    assert [each["reference"] for each in proposal.evidence["gone"]] == ["src/pay.py"]
    assert proposal.evidence["renamed"] == {"src/cart.py": "lib/basket.py"}


def test_a_note_with_a_removed_thing_among_others_goes_to_a_person(store: MemoryStore, repository: Repository) -> None:
    written = note(store, "See `README.md`, src/cart.py and `pool_size`.", 1)
    titled = note(store, "See `README.md`.", 1, title="How src/cart.py works")
    repository.commit(2, {"src/cart.py": None})
    outcome = run(store, repository.folder)
    assert [each.notes for each in outcome.decided.review] == [(written.id,)]
    assert [each.notes for each in outcome.decided.applied] == [(titled.id,)]


def test_the_mark_is_removed_when_the_file_is_restored(store: MemoryStore, repository: Repository) -> None:
    written = note(store, "The cart is in src/cart.py.", 1)
    before = store.get(written.id)
    repository.commit(2, {"src/cart.py": None})
    run(store, repository.folder)
    assert mark(store, written.id)
    repository.commit(3, {"src/cart.py": LONG})
    (proposal,) = found(run(store, repository.folder))
    assert proposal.reason == "There again: src/cart.py."
    assert store.get(written.id) == before


@pytest.mark.parametrize("body", ["The cart is in src/cart.py still.", "The cart is elsewhere."])
def test_the_mark_is_removed_when_the_note_is_edited(store: MemoryStore, repository: Repository, body: str) -> None:
    written = note(store, "The cart is in src/cart.py.", 1)
    repository.commit(2, {"src/cart.py": None})
    run(store, repository.folder)
    assert mark(store, written.id)
    store.update(written.id, body=body)
    run(store, repository.folder)
    assert mark(store, written.id) == ""
    assert GONE not in store.get(written.id).tags
    assert found(run(store, repository.folder)) == []


def test_a_head_that_jumps_back_leaves_the_mark_to_a_person(store: MemoryStore, repository: Repository) -> None:
    """Two machines with different HEADs would otherwise mark and unmark a note in turns."""
    written = note(store, "The cart is in src/cart.py.", 1)
    commit = repository.commit(2, {"src/cart.py": None})
    run(store, repository.folder)
    repository.git("reset", "--hard", "--quiet", "HEAD~1")
    outcome = run(store, repository.folder)
    assert [each.notes for each in outcome.decided.review] == [(written.id,)]
    assert mark(store, written.id)
    repository.git("reset", "--hard", "--quiet", commit)
    assert found(run(store, repository.folder)) == []  # and the proposal does not wait any more


def test_a_proposal_that_waits_for_a_person_is_withdrawn_when_the_file_is_back(
    store: MemoryStore, repository: Repository
) -> None:
    note(store, "The cart is in src/cart.py.", 1, prov_model="")  # a person's
    repository.commit(2, {"src/cart.py": None})
    assert len(run(store, repository.folder).decided.review) == 1
    assert len(run(store, repository.folder).decided.review) == 1
    repository.commit(3, {"src/cart.py": LONG})
    assert run(store, repository.folder).decided.review == []


def test_a_mark_of_a_commit_that_has_not_arrived_here_stays(
    store: MemoryStore, repository: Repository, tmp_path: Path
) -> None:
    written = note(store, "The cart is in src/cart.py.", 1)
    repository.git("clone", "--quiet", ".", str(tmp_path / "behind"))
    repository.commit(2, {"src/cart.py": None})
    run(store, repository.folder)
    before = mark(store, written.id)
    with MemoryStore(store.root) as elsewhere:
        (store.root / "dreams.db").unlink()
        assert found(run(elsewhere, tmp_path / "behind")) == []
    assert mark(store, written.id) == before != ""


def test_a_merge_removes_a_file_on_the_day_of_the_merge(store: MemoryStore, repository: Repository) -> None:
    """A note that was written on main in the meantime was right then."""
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.commit(1, {"src/cart.py": None})
    repository.git("checkout", "--quiet", "main")
    repository.commit(2, {"src/pay.py": "def pay(): ...\n"})
    written = note(store, "The cart is in src/cart.py.", 3)
    repository.git("merge", "--quiet", "--no-ff", "topic", day=4)
    run(store, repository.folder)
    assert repository.git("rev-parse", "HEAD")[:10] in mark(store, written.id)


def test_a_file_that_is_ignored_now_but_still_there_is_not_gone(store: MemoryStore, repository: Repository) -> None:
    note(store, "The cart is in src/cart.py.", 1)
    repository.git("rm", "--quiet", "--cached", "src/cart.py")
    repository.write({".gitignore": "src/\n"})
    repository.commit(2, {})
    assert found(run(store, repository.folder)) == []


def test_a_file_that_is_in_a_submodule_now_is_not_gone(
    store: MemoryStore, repository: Repository, tmp_path: Path
) -> None:
    module = Repository(tmp_path / "module")
    module.commit(0, {"cart.py": LONG})
    note(store, "The cart is in src/cart.py.", 1)
    run(store, repository.folder)
    repository.commit(2, {"src/cart.py": None})
    (repository.folder / "src").rmdir()
    repository.git("submodule", "--quiet", "add", str(module.folder), "src", day=2)
    repository.git("commit", "--quiet", "--amend", "--no-edit", day=2)
    repository.git("submodule", "--quiet", "deinit", "--all", "--force")
    assert not (repository.folder / "src/cart.py").exists()
    assert found(run(store, repository.folder)) == []


def test_a_note_under_the_short_name_of_the_project_is_looked_at(store: MemoryStore, repository: Repository) -> None:
    note(store, "A note.", 1)
    written = note(store, "The cart is in src/cart.py.", 1, project="shop")
    repository.commit(2, {"src/cart.py": None})
    assert [each.notes for each in found(run(store, repository.folder))] == [(written.id,)]


def test_a_note_that_arrives_later_is_looked_at(store: MemoryStore, repository: Repository) -> None:
    note(store, "A note.", 1)
    repository.commit(2, {"src/cart.py": None})
    run(store, repository.folder)
    written = note(store, "The cart is in cart.py, that is `cart.py`.", 1)
    run(store, repository.folder)
    assert mark(store, written.id)


def test_a_shallow_clone_knows_what_it_knows(store: MemoryStore, repository: Repository, tmp_path: Path) -> None:
    repository.commit(2, {"src/pay.py": "def pay(): ...\n"})
    repository.commit(3, {"src/cart.py": None})
    address = repository.folder.as_uri()
    repository.git("clone", "--quiet", "--depth=2", address, str(tmp_path / "two"))
    repository.git("clone", "--quiet", "--depth=1", address, str(tmp_path / "one"))
    note(store, "The cart is in src/cart.py.", 1)
    assert found(run(store, tmp_path / "one")) == []
    (store.root / "dreams.db").unlink()
    assert len(found(run(store, tmp_path / "two"))) == 1


def broken(repository: Repository, how: str) -> Path:
    folder = repository.folder
    if how == "missing":
        return folder / "missing"
    if how == "bare":
        repository.git("clone", "--quiet", "--bare", ".", str(folder.parent / "bare.git"))
        return folder.parent / "bare.git"
    if how == "empty":
        return Repository(folder.parent / "empty").folder
    if how == "not a repository":
        return folder.parent
    for path in (folder / ".git/objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"broken")
    return folder


@pytest.mark.parametrize("how", ["missing", "bare", "empty", "not a repository", "corrupt"])
def test_a_repository_that_cannot_be_read_is_one_line_in_the_log(
    store: MemoryStore, repository: Repository, how: str
) -> None:
    note(store, "The cart is in src/cart.py.", 1)
    assert found(run(store, broken(repository, how))) == []
    lines = (store.root / "anamnesis.log").read_text().splitlines()
    assert len([line for line in lines if "working copy not read" in line]) == 1


def test_a_repository_runs_no_program_of_its_own(store: MemoryStore, repository: Repository) -> None:
    ran = repository.folder.parent / "ran"
    program = f"touch {ran};"
    settings = {
        "core.fsmonitor": program,
        "diff.external": program,
        "diff.x.textconv": program,
        "diff.x.command": program,
        "gpg.program": program,
        "core.pager": program,
        "log.showSignature": "true",
    }
    for name, value in settings.items():
        repository.git("config", name, value)
    repository.write({".gitattributes": "* diff=x\n"})
    note(store, "See src/cart.py, `add_item`, `make all` and pydantic 1.10.", 1)
    run(store, repository.folder)
    repository.git("-c", "diff.external=", "rm", "--quiet", "src/cart.py")
    repository.git("-c", "core.fsmonitor=false", "commit", "--quiet", "--message", "remove", day=2)
    ran.unlink(missing_ok=True)
    assert len(found(run(store, repository.folder))) == 1
    assert not ran.exists()


def test_an_unchanged_head_costs_one_call_of_git(store: MemoryStore, repository: Repository, tmp_path: Path) -> None:
    for number in range(30):
        note(store, f"The cart is in src/cart.py, part {number}.", 1)
    run(store, repository.folder)
    assert len(calls(store, repository.folder, tmp_path)) == 1


def calls(store: MemoryStore, folder: Path, tmp_path: Path) -> list[str]:
    """The calls of git during a cycle, as git itself records them."""
    import os

    trace = tmp_path / "trace"
    trace.unlink(missing_ok=True)
    real = os.environ["PATH"]
    program = tmp_path / "bin" / "git"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\necho "$@" >> {trace}\nPATH={real} exec git "$@"\n')
    program.chmod(0o755)
    os.environ["PATH"] = f"{program.parent}:{real}"
    try:
        run(store, folder)
    finally:
        os.environ["PATH"] = real
    return trace.read_text().splitlines() if trace.exists() else []


def test_a_change_of_other_files_does_not_look_at_notes(
    store: MemoryStore, repository: Repository, tmp_path: Path
) -> None:
    note(store, "The cart is in src/cart.py.", 1)
    run(store, repository.folder)
    repository.commit(2, {"src/pay.py": "def pay(): ...\n"})
    commands = calls(store, repository.folder, tmp_path)
    assert not any(" log " in each or " grep " in each for each in commands)
    assert len(commands) <= 3


def test_the_times_of_notes_do_not_change(store: MemoryStore, repository: Repository) -> None:
    written = note(store, "The cart is in src/cart.py.", 1)
    repository.commit(2, {"src/cart.py": None})
    run(store, repository.folder)
    assert store.get(written.id).updated_at == moment(1)
    assert store.get(written.id).project == PROJECT


def test_a_symbol_that_moved_before_it_was_removed_is_gone(store: MemoryStore, repository: Repository) -> None:
    """Where it was when the note was written is not where it was removed, also if a dream has looked in between."""
    written = note(store, "Use `add_item()`.", 1)
    repository.commit(2, {"src/cart.py": LONG, "src/other.py": "def add_item(x): ...\n"})
    run(store, repository.folder)
    repository.commit(3, {"src/other.py": "\n"})
    run(store, repository.folder)
    assert "(2026-01-04)" in mark(store, written.id)


def test_changes_that_are_not_committed_do_not_count(store: MemoryStore, repository: Repository) -> None:
    note(store, "Use `add_item()` of src/cart.py.", 1)
    repository.commit(2, {"src/cart.py": LONG, "src/other.py": "def add_item(x): ...\n"})
    repository.write({"src/other.py": None, "src/cart.py": None})
    assert found(run(store, repository.folder)) == []
