"""No write through the store puts a secret on disk; secrets that a person wrote into a file stay."""

from __future__ import annotations

from dataclasses import replace

from anamnesis.notes import Memory
from anamnesis.store import MemoryStore

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HIDDEN = "[REDACTED:github-token]"


def on_disk(store: MemoryStore) -> str:
    return "".join(path.read_text("utf-8") for path in store.memory_dir.rglob("*.md"))


def test_every_way_to_write_a_note_takes_secrets_out(store: MemoryStore) -> None:
    written = store.write(type="semantic", title=f"t {TOKEN}", body=f"b {TOKEN} <private>mine</private>", tags=[TOKEN])
    assert written.title == f"t {HIDDEN}"
    assert written.body == f"b {HIDDEN} [REDACTED]"
    store.put(Memory("x", "semantic", "t", f"put {TOKEN}"))
    store.put_all([Memory("y", "semantic", "t", f"put_all {TOKEN}")])
    store.update("x", body=f"update {TOKEN}")
    assert TOKEN not in on_disk(store)
    assert "mine" not in on_disk(store)
    assert store.get("x").body == f"update {HIDDEN}"


def test_a_secret_in_the_project_or_the_session_reaches_no_file(store: MemoryStore) -> None:
    project, session = f"example.org/{TOKEN}", f"session {TOKEN}"
    written = store.write(type="semantic", title="t", body="b", project=project, prov_session=session)
    assert (written.project, written.prov_session) == (f"example.org/{HIDDEN}", f"session {HIDDEN}")
    store.put(Memory("x", "semantic", "t", "put", project=project, prov_session=session))
    store.put(Memory("y", "semantic", "t", "update"))
    store.update("y", project=project, prov_session=session, tags=[TOKEN])
    assert TOKEN not in on_disk(store)
    assert TOKEN.encode() not in store.db_path.read_bytes()


def test_a_project_that_a_person_wrote_stays(store: MemoryStore) -> None:
    store.put(Memory("x", "semantic", "t", "body", project="mine"))
    path = store.memory_dir / "semantic" / "x.md"
    path.write_text(path.read_text("utf-8").replace("project: mine", f"project: {TOKEN}"), "utf-8")
    assert store.update("x", title="new").project == TOKEN


def test_a_change_elsewhere_leaves_what_a_person_wrote(store: MemoryStore) -> None:
    store.put(Memory("x", "semantic", "t", "body"))
    path = store.memory_dir / "semantic" / "x.md"
    path.write_text(path.read_text("utf-8").replace("body", f"my {TOKEN}"), "utf-8")
    store.update("x", title="new")
    assert TOKEN in path.read_text("utf-8")
    note = store.get("x")
    store.update("x", title="newer", body=note.body, tags=note.tags)
    assert store.get("x") == replace(note, title="newer", updated_at=store.get("x").updated_at)
