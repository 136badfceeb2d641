"""The vault has every observation once, as a valid note that is removed with it; nothing outside is touched."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.engram import obsidian
from anamnesis.engram.obsidian import ExportCounts, ExportFilter
from anamnesis.engram.record import Export, Observation
from anamnesis.working_tree import RefusedPath

ALL = ExportFilter()
NOTE = Observation(
    id=7,
    sync_id="obs-7",
    session_id="s1",
    type="decision",
    title="Deploy by tag",
    content="How we deploy.",
    tool_name=None,
    project="shop",
    scope="project",
    topic_key="ops/deploy/tags",
    revision_count=2,
    duplicate_count=1,
    last_seen_at=None,
    created_at="2025-03-01 01:00:00",
    updated_at="2025-03-02 02:00:00",
    deleted_at=None,
)


def write(vault: Path, *observations: Observation, choice: ExportFilter = ALL, graph: str = "skip") -> ExportCounts:
    content = Export("0.1.0", "2025-04-01 00:00:00", (), observations, ())
    return obsidian.export(content, vault, choice, force=False, graph=graph)


def notes(vault: Path) -> set[str]:
    root = vault / "engram"
    return {str(path.relative_to(root)) for path in root.rglob("*.md") if not path.parent.name.startswith("_")}


def test_a_note_is_what_engram_writes() -> None:
    assert obsidian.note(NOTE) == (
        "---\nid: 7\ntype: decision\nproject: shop\nscope: project\ntopic_key: ops/deploy/tags\nsession_id: s1\n"
        'created_at: "2025-03-01 01:00:00"\nupdated_at: "2025-03-02 02:00:00"\nrevision_count: 2\n'
        'tags:\n  - shop\n  - decision\naliases:\n  - "Deploy by tag"\n---\n\n# Deploy by tag\n\nHow we deploy.\n\n'
        "---\n*Session*: [[session-s1]]\n*Topic*: [[topic-ops--deploy]]\n"
    )


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Fixed FTS5: syntax error!", "fixed-fts5-syntax-error-7"),
        ("", "observation-7"),
        ("日本", "observation-7"),
        ("x" * 59 + " yz", "x" * 59 + "-7"),
        ("Lösung", "l-sung-7"),
    ],
)
def test_a_note_is_named_after_its_title_and_id(title: str, name: str) -> None:
    assert obsidian.slug(replace(NOTE, title=title)) == name


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    other = replace(NOTE, id=8, title="Other")
    assert write(tmp_path, NOTE, other) == ExportCounts(created=2, hubs=2)
    assert write(tmp_path, NOTE, other) == ExportCounts(skipped=2, hubs=2)
    assert write(tmp_path, replace(NOTE, content="New."), other) == ExportCounts(updated=1, skipped=1, hubs=2)
    assert notes(tmp_path) == {"shop/decision/deploy-by-tag-7.md", "shop/decision/other-8.md"}


def test_a_note_moves_with_its_memory_and_goes_with_it(tmp_path: Path) -> None:
    other, third = replace(NOTE, id=8), replace(NOTE, id=9)
    write(tmp_path, NOTE, other, third)
    moved = replace(NOTE, title="Deploy by branch", project="store")
    result = write(tmp_path, moved, replace(other, deleted_at="2025-04-01 00:00:00"))
    assert (result.updated, result.deleted) == (1, 2)
    assert notes(tmp_path) == {"store/decision/deploy-by-branch-7.md"}


def test_hubs_link_what_belongs_together(tmp_path: Path) -> None:
    write(tmp_path, NOTE, replace(NOTE, id=8, type="bugfix"), replace(NOTE, id=9, session_id="s2", topic_key="alone"))
    root = tmp_path / "engram"
    session = (root / "_sessions" / "s1.md").read_text()
    assert session.endswith("# Session: s1\n\n## Observations\n- [[deploy-by-tag-7]]\n- [[deploy-by-tag-8]]\n")
    assert session.startswith("---\ntype: session-hub\nsession_id: s1\ntags:\n  - session\n---\n")
    topic = (root / "_topics" / "ops--deploy.md").read_text()
    assert topic.endswith("## Related Observations\n- [[deploy-by-tag-7]] (decision)\n- [[deploy-by-tag-8]] (bugfix)\n")
    assert {path.name for path in (root / "_topics").iterdir()} == {"ops--deploy.md"}
    state = json.loads((root / ".engram-sync-state.json").read_text())
    assert list(state) == ["last_export_at", "files", "session_hubs", "topic_hubs", "version"]
    assert state["session_hubs"] == {"s1": "_sessions/s1.md", "s2": "_sessions/s2.md"}


def test_what_is_chosen_is_written(tmp_path: Path) -> None:
    rows = [replace(NOTE, id=id, updated_at=f"2025-03-0{id} 00:00:00", project=f"p{id % 2}") for id in range(1, 6)]
    for choice, ids in (
        (ExportFilter(project="p1"), {1, 3, 5}),
        (ExportFilter(since="2025-03-04 00:00:00"), {4, 5}),
        (ExportFilter(limit=2), {4, 5}),
        (ExportFilter(project="p0", limit=1), {4}),
    ):
        vault = tmp_path / str(ids)
        write(vault, *rows, choice=choice)
        assert {int(name.removesuffix(".md").rpartition("-")[2]) for name in notes(vault)} == ids


@pytest.mark.parametrize("name", ["../../out", "/etc", "a/b", "..", ".hidden", "", "a\\b", "nul\0", "x" * 300])
def test_no_name_leads_out_of_the_vault(tmp_path: Path, name: str) -> None:
    vault = tmp_path / "deep" / "vault"
    result = write(vault, replace(NOTE, project=name, type=name, session_id=name, topic_key=name))
    assert result.errors == []
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} <= {
        path for path in (vault / "engram").rglob("*") if path.is_dir()
    } | {vault / "engram"}
    assert result.created == 1


def test_a_list_of_notes_that_names_other_files_removes_none(tmp_path: Path) -> None:
    victim = tmp_path / "precious.md"
    victim.write_text("mine")
    write(tmp_path / "vault", NOTE)
    state = tmp_path / "vault" / "engram" / ".engram-sync-state.json"
    state.write_text(json.dumps({"files": {"7": "../../precious.md", "99": str(victim), "98": "../../precious.md"}}))
    result = write(tmp_path / "vault", NOTE)
    assert len(result.errors) == 2
    assert victim.read_text() == "mine"


def test_a_broken_state_is_as_none(tmp_path: Path) -> None:
    write(tmp_path, NOTE)
    for text in ("{broken", "[]", '{"files": 5}', '{"files": null}'):
        (tmp_path / "engram" / ".engram-sync-state.json").write_text(text)
        assert write(tmp_path, NOTE) == ExportCounts(skipped=1, hubs=1)


def test_colours_of_the_graph_are_the_users_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / ".obsidian" / "graph.json"
    write(tmp_path, NOTE, graph="skip")
    assert not path.exists()
    write(tmp_path, NOTE, graph="preserve")
    ours = path.read_text()
    assert json.loads(ours)["colorGroups"]
    path.write_text("{}")
    write(tmp_path, NOTE, graph="preserve")
    assert path.read_text() == "{}"
    write(tmp_path, NOTE, graph="force")
    assert path.read_text() == ours


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(TEXT, TEXT, TEXT, TEXT)
def test_the_front_matter_says_what_the_memory_says(title: str, kind: str, project: str, session: str) -> None:
    written = obsidian.note(replace(NOTE, title=title, type=kind, project=project, session_id=session))
    front = yaml.safe_load(written.split("\n---\n")[0])
    assert (front["type"], front["project"], front["session_id"]) == (kind, project, session)
    assert front["aliases"] == [title]
    assert (front["tags"] or []) == [tag for tag in (project, kind) if tag]


@pytest.mark.parametrize("name", ["engram", "engram/shop", "engram/_sessions"])
def test_nothing_is_written_through_a_link_in_the_vault(tmp_path: Path, name: str) -> None:
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    outside.mkdir()
    (vault / name).parent.mkdir(parents=True)
    (vault / name).symlink_to(outside)
    try:
        assert "symbolic link" in "".join(write(vault, NOTE).errors)
    except RefusedPath as error:
        assert "symbolic link" in error.message
    assert list(outside.iterdir()) == []


def test_pipes_and_endless_files_in_the_vault_are_replaced_and_not_read(tmp_path: Path) -> None:
    write(tmp_path, NOTE)
    (note,) = (tmp_path / "engram/shop").rglob("*.md")
    state, hub = tmp_path / "engram/.engram-sync-state.json", tmp_path / "engram/_sessions/s1.md"
    for path in (note, hub):
        path.unlink()
        os.mkfifo(path)
    state.unlink()
    state.symlink_to("/dev/zero")
    assert write(tmp_path, NOTE).errors == []
    assert all(path.is_file() and not path.is_symlink() for path in (note, state, hub))
