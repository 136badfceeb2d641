"""A sync works whatever it starts from: any state of the remote, and any settings of the user's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sync.machine import Machine, assert_same, bare, commit_tree, everything_in, git, settle, text_of

from anamnesis.errors import InvalidArgument
from anamnesis.notes import Memory
from anamnesis.sync import GitSyncBackend

Make = Callable[..., Machine]


class TestRemotes:
    def test_without_a_remote_the_notes_are_committed(self, make: Make) -> None:
        a = make("a", None)
        a.note("alone")
        result = a.sync()
        assert (result.pushed, result.pulled, result.reached) == (False, 0, True)
        assert result.detail == "committed locally; no remote configured"
        assert a.git("log", "--format=%an <%ae>: %s").startswith(
            "anamnesis <anamnesis@a>: anamnesis: sync from a at 20"
        )
        assert a.is_clean()

    def test_nothing_here_and_nothing_there(self, a: Machine, b: Machine, remote: Path) -> None:
        assert (a.sync().detail, a.sync().head) == ("synced", "")
        a.note("first")
        settle(a, b)
        assert b.bodies() == {"first"}
        assert_same(a, b)

    def test_an_empty_remote_gets_the_notes(self, a: Machine, b: Machine, remote: Path) -> None:
        a.note("one")
        a.note("two", type="procedural")
        assert a.sync().pushed
        assert git(remote, "ls-tree", "-r", "--name-only", "main").count(".md") == 2
        b.sync()
        assert_same(a, b)

    def test_a_remote_with_a_readme_keeps_it(self, a: Machine, remote: Path) -> None:
        commit_tree(remote, [("100644", "README.md", b"# My notes\n"), ("100644", "LICENSE", b"none\n")])
        a.note("mine")
        result = a.sync()
        assert (result.pulled, result.pushed, result.conflicted) == (1, True, False)
        assert a.files()["README.md"] == b"# My notes\n"
        assert a.bodies() == {"mine"}
        assert "README.md" in git(remote, "ls-tree", "--name-only", "main")

    def test_history_there_and_notes_here_are_united(self, make: Make, remote: Path) -> None:
        a, b, c = (make(name, remote) for name in "abc")
        first = a.note("of a")
        a.sync()
        a.store.update(first, title="changed")
        a.sync()
        b.note("of b, before it knew of a remote")
        c.note("of c")
        settle(a, b, c)
        assert a.bodies() == {"of a", "of b, before it knew of a remote", "of c"}
        assert_same(a, b, c)

    def test_the_same_note_in_both_without_a_common_past_is_one_note(self, a: Machine, b: Machine) -> None:
        """As after copying the folder of notes to the other machine by hand."""
        same = Memory("same", "semantic", "t", "same", tags=["x"])
        other = Memory("other", "semantic", "t", "of a", updated_at="2026-01-01T00:00:00+00:00")
        a.store.put_all([same, other])
        b.store.put_all([same, Memory("other", "semantic", "t", "of b", updated_at="2026-01-02T00:00:00+00:00")])
        settle(a, b)
        assert_same(a, b)
        assert sorted(memory.body for memory in a.store.list()) == ["of a", "of b", "same"]
        assert a.store.get("other").body == "of b"

    def test_a_store_that_began_alone_gets_its_remote(self, make: Make, remote: Path) -> None:
        alone = make("a", None)
        alone.note("one")
        alone.sync()
        alone.note("two")
        a, b = make("a", remote), make("b", remote)
        assert a.sync().pushed
        b.sync()
        assert b.bodies() == {"one", "two"}
        assert_same(a, b)

    def test_a_changed_remote_gets_everything_and_gives_what_it_has(self, make: Make, tmp_path: Path) -> None:
        old, new = bare(tmp_path / "old.git"), bare(tmp_path / "new.git")
        commit_tree(new, [("100644", "semantic/there.md", text_of("there", "was there").encode())])
        a = make("a", old)
        a.note("from before")
        a.sync()
        before = everything_in(old)
        moved = make("a", new)
        assert moved.sync().pulled == 1
        assert moved.bodies() == {"from before", "was there"}
        assert git(new, "rev-parse", "main") == moved.git("rev-parse", "HEAD")
        assert everything_in(old) == before

    def test_a_remote_taken_away_and_given_back(self, make: Make, remote: Path) -> None:
        make("a", remote).note("one")
        make("a", remote).sync()
        without = make("a", None)
        without.note("two")
        assert not without.sync().pushed
        again = make("a", remote)
        again.note("three")
        assert again.sync().pushed
        b = make("b", remote)
        b.sync()
        assert b.bodies() == {"one", "two", "three"}

    def test_a_remote_replaced_by_an_empty_one_is_filled_again(self, a: Machine, b: Machine, remote: Path) -> None:
        a.note("one")
        settle(a, b)
        shutil.rmtree(remote)
        bare(remote)
        b.note("two")
        settle(a, b)
        assert a.bodies() == {"one", "two"}
        assert_same(a, b)

    def test_a_remote_replaced_by_another_repository_is_united_with(
        self, a: Machine, b: Machine, remote: Path, tmp_path: Path
    ) -> None:
        a.note("one")
        settle(a, b)
        shutil.rmtree(remote)
        commit_tree(bare(remote), [("100644", "semantic/other.md", text_of("other", "of another").encode())])
        a.note("two")
        settle(a, b)
        assert a.bodies() == {"one", "two", "of another"}
        assert_same(a, b)

    def test_a_remote_set_back_by_force_is_brought_forward_again(self, a: Machine, b: Machine, remote: Path) -> None:
        a.note("one")
        a.sync()
        a.note("two")
        settle(a, b)
        git(remote, "update-ref", "refs/heads/main", "main~1")
        b.note("three")
        settle(a, b)
        assert a.bodies() == {"one", "two", "three"}
        assert_same(a, b)

    def test_a_branch_removed_from_the_remote_is_made_again(self, a: Machine, remote: Path) -> None:
        a.note("one")
        a.sync()
        git(remote, "update-ref", "-d", "refs/heads/main")
        assert a.sync().pushed
        assert git(remote, "rev-parse", "main") == a.git("rev-parse", "HEAD")

    def test_a_remote_that_refuses_is_a_sentence_and_nothing_is_lost(self, a: Machine, remote: Path) -> None:
        hook = remote / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\necho 'only on weekdays' >&2\nexit 1\n", "utf-8")
        hook.chmod(0o755)
        git(remote, "config", "core.hooksPath", str(hook.parent))
        a.note("one")
        result = a.sync()
        assert (result.pushed, result.reached) == (False, False)
        assert "pre-receive hook declined" in result.detail
        hook.unlink()
        assert a.sync().pushed

    def test_a_remote_in_use_by_somebody_is_a_sentence(self, make: Make, tmp_path: Path) -> None:
        used = tmp_path / "used"
        used.mkdir()
        git(used, "init", "--quiet", "--initial-branch=main")
        git(used, "commit", "--quiet", "--allow-empty", "-m", "theirs")
        a = make("a", used)
        a.note("one")
        result = a.sync()
        assert not result.pushed
        assert "branch is currently checked out" in result.detail

    def test_fifteen_hundred_notes_come_at_once(self, a: Machine, b: Machine) -> None:
        a.store.put_all(Memory(f"n{number}", "semantic", "t", f"word{number}") for number in range(1_500))
        settle(a, b)
        assert b.store.count() == 1_500
        assert [memory.id for memory in b.store.search("word1234", mode="words")] == ["n1234"]
        assert_same(a, b)


class TestSurroundings:
    def test_a_repository_inherited_from_a_hook_is_left_alone(
        self, a: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = tmp_path / "project"
        project.mkdir()
        git(project, "init", "--quiet")
        (project / "code.py").write_text("print()\n", "utf-8")
        git(project, "add", ".")
        git(project, "commit", "--quiet", "-m", "theirs")
        before = everything_in(project)
        monkeypatch.setenv("GIT_DIR", str(project / ".git"))
        monkeypatch.setenv("GIT_WORK_TREE", str(project))
        monkeypatch.setenv("GIT_INDEX_FILE", str(project / ".git" / "index"))
        monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(project / ".git" / "objects"))
        monkeypatch.setenv("GIT_PREFIX", "sub/")
        monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare=true'")
        monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")
        a.note("one")
        assert a.sync().pushed
        assert everything_in(project) == before
        assert a.git("log", "--format=%an") == "anamnesis"

    def test_a_store_inside_a_repository_leaves_that_repository_alone(
        self, make: Make, tmp_path: Path, remote: Path
    ) -> None:
        git(tmp_path, "init", "--quiet")
        (tmp_path / "code.py").write_text("print()\n", "utf-8")
        git(tmp_path, "add", "code.py")
        git(tmp_path, "commit", "--quiet", "-m", "theirs")
        before = everything_in(tmp_path / ".git")
        a = make("a", remote)
        state = a.backend.state()
        assert (state.initialized, state.head) == (False, "")
        a.note("one")
        assert a.sync().pushed
        assert everything_in(tmp_path / ".git") == before
        assert a.files().keys() == {path.relative_to(a.folder).as_posix() for path in a.folder.rglob("semantic/*.md")}

    def test_settings_of_the_repository_itself_do_not_sign_or_run_hooks(
        self, a: Machine, b: Machine, hostile: Path
    ) -> None:
        a.sync()
        fails = hostile.with_name("fails")
        for name, value in [
            ("commit.gpgSign", "true"),
            ("gpg.program", str(fails)),
            ("core.hooksPath", str(hostile.with_name("hooks"))),
            ("core.autocrlf", "true"),
            ("core.fsmonitor", str(fails)),
            ("core.worktree", str(hostile.parent)),
            ("core.bare", "true"),
            ("core.sparseCheckout", "true"),
            ("status.showUntrackedFiles", "no"),
            ("core.ignoreStat", "true"),
        ]:
            a.git("config", name, value)
        hooks = a.folder / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("pre-commit", "pre-push", "post-commit", "reference-transaction"):
            shutil.copy(fails, hooks / name)
        first = a.note("one\r\ntwo")
        settle(a, b)
        a.store.update(first, body="one\r\nTWO")
        settle(a, b)
        assert b.bodies() == {"one\r\nTWO"}
        assert a.files() == b.files()

    def test_addresses_are_rewritten_as_the_user_said(self, make: Make, hostile: Path) -> None:
        there = bare(hostile.parent / "nowhere" / "notes.git")
        a = make("a", "elsewhere:notes.git")
        a.note("one")
        assert a.sync().pushed
        assert git(there, "rev-parse", "main") == a.git("rev-parse", "HEAD")

    def test_without_a_home_and_an_identity_notes_are_committed(
        self, make: Make, remote: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("HOME", "GIT_CONFIG_GLOBAL", "USER", "LOGNAME", "EMAIL"):
            monkeypatch.delenv(name, raising=False)
        a = make("a", remote)
        a.note("one")
        assert a.sync().pushed

    def test_a_folder_that_belongs_to_somebody_else_is_synced(self, make: Make, remote: Path) -> None:
        """As on a mounted drive: git would refuse a repository of another owner."""
        import os

        if os.geteuid() != 0:
            pytest.skip("only root can give files away")
        a = make("a", remote)
        a.note("one")
        a.sync()
        for path in (a.folder, *a.folder.rglob("*")):
            os.chown(path, 12345, 12345)
        a.note("two")
        assert a.sync().pushed


class TestAddresses:
    @pytest.mark.parametrize(
        "address",
        [
            "--upload-pack=touch ran",
            "-oProxyCommand=touch ran",
            "ext::sh -c 'touch ran'",
            "fd::3",
            "transport::address",
            "",
            " ",
            "host:notes\n.git",
            "host:notes\0.git",
        ],
    )
    def test_what_git_could_take_for_an_option_or_a_command_is_refused(self, tmp_path: Path, address: str) -> None:
        if not address:
            assert GitSyncBackend(tmp_path, remote=address, machine_id="a").remote is None
            return
        with pytest.raises(InvalidArgument, match="is not the address of a git repository"):
            GitSyncBackend(tmp_path, remote=address, machine_id="a")

    @pytest.mark.parametrize(
        "address",
        [
            "ssh://-oProxyCommand=touch ran/notes",
            "ssh://-oProxyCommand=touch%20ran@host/notes",
            "host:-notes",
            "$(touch ran)",
            "; touch ran",
            "`touch ran`:x",
            "git://-host/notes",
        ],
    )
    def test_what_looks_like_one_to_a_shell_or_to_ssh_is_not_run(
        self, make: Make, address: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GIT_SSH_COMMAND", "false")
        a = make("a", address)
        monkeypatch.chdir(a.store.root)
        a.note("one")
        result = a.sync()
        assert (result.reached, result.pushed) == (False, False)
        assert not [path for path in a.store.root.rglob("*") if path.name == "ran"]

    @pytest.mark.parametrize("name", ["-x", "--amend", "a b", "é", "x\ny", "<y>", "$(touch ran)", ""])
    def test_any_name_of_a_machine_is_only_a_name(self, tmp_path: Path, remote: Path, name: str) -> None:
        folder = tmp_path / "memory"
        folder.mkdir()
        (folder / "x.md").write_text("x", "utf-8")
        backend = GitSyncBackend(folder, remote=str(remote), machine_id=name)
        assert backend.sync().pushed
        assert git(remote, "log", "--format=%s", "main").startswith("anamnesis: sync from ")
