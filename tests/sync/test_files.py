"""Whatever lies among the notes travels as it is, byte for byte; where two files want one place, both are kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sync.machine import Machine, assert_same, commit_tree, settle, text_of

Make = Callable[..., Machine]

NAMES = [
    "with spaces.md",
    "Zettel: a thought.md",
    "back\\slash.md",
    "-rf.md",
    "--help.md",
    ":(exclude)x.md",
    "*.md",
    "[a].md",
    "'quoted' \"twice\".md",
    "line\nbreak.md",
    "tab\there.md",
    "übung.md",
    "u\u0308bung.md",
    "日本.md",
    "😀.md",
    "~.md",
    "$HOME.md",
    "@{-1}.md",
    ".hidden.md",
    "x.md.conflict-12345678.md",
    "con.md",
    "a" * 200 + ".md",
]


def test_files_of_any_name_are_written_changed_and_removed_everywhere(a: Machine, b: Machine) -> None:
    paths = [f"semantic/{name}" for name in NAMES]
    for number, path in enumerate(paths):
        a.put(path, text_of(f"n{number}", "one\ntwo"))
    settle(a, b)
    assert_same(a, b)
    assert b.files().keys() == {*paths}
    for number, path in enumerate(paths):
        a.put(path, text_of(f"n{number}", "ONE\ntwo"))
        b.put(path, text_of(f"n{number}", "one\nTWO"))
    settle(a, b)
    assert_same(a, b)
    assert [path for path, data in a.files().items() if b"ONE\nTWO" not in data] == []
    for path in paths:
        (a.folder / path).unlink()
    settle(a, b)
    assert a.files() == b.files() == {}


def test_a_name_that_is_not_utf8_travels(a: Machine, b: Machine) -> None:
    path = os.fsencode(a.folder) + b"/caf\xe9.md"
    with open(path, "wb") as file:
        file.write(b"x")
    settle(a, b)
    with open(os.fsencode(b.folder) + b"/caf\xe9.md", "rb") as file:
        assert file.read() == b"x"
    assert a.is_clean()


@pytest.mark.parametrize(
    "attributes", [None, b"* text=auto\n", b"* text eol=lf\n*.md ident working-tree-encoding=UTF-16\n"]
)
def test_every_byte_of_a_file_travels(a: Machine, b: Machine, remote: Path, attributes: bytes | None) -> None:
    """Also if the remote says by its attributes that line ends are to be converted."""
    if attributes:
        commit_tree(remote, [("100644", ".gitattributes", attributes)])
        settle(a, b)
    contents = {
        "semantic/windows.md": text_of("windows", "one\r\ntwo", newline="\r\n").encode(),
        "semantic/mixed.md": text_of("mixed", "one\r\ntwo\nthree\r").encode(),
        "semantic/bom.md": b"\xef\xbb\xbf" + text_of("bom", "one").encode(),
        "semantic/keyword.md": text_of("keyword", "$Id$").encode(),
        "image.png": bytes(range(256)),
        "empty.txt": b"",
        "no-newline.txt": b"x",
    }
    for path, data in contents.items():
        a.put(path, data)
    settle(a, b)
    assert {path: data for path, data in b.files().items() if path in contents} == contents
    b.put("semantic/windows.md", contents["semantic/windows.md"].replace(b"two", b"TWO"))
    a.put("semantic/windows.md", contents["semantic/windows.md"].replace(b"one", b"ONE"))
    settle(a, b)
    assert a.files()["semantic/windows.md"].endswith(b"---\r\nONE\r\nTWO\r\n")
    assert_same(a, b)


class TestFilesThatAreNoNotes:
    def test_changes_of_different_lines_are_united(self, a: Machine, b: Machine) -> None:
        a.put("README.md", "# Notes\n\nof two\nmachines\n")
        settle(a, b)
        a.put("README.md", "# My notes\n\nof two\nmachines\n")
        b.put("README.md", "# Notes\n\nof two\nmachines\nand more\n")
        settle(a, b)
        assert a.files() == {"README.md": b"# My notes\n\nof two\nmachines\nand more\n"}
        assert_same(a, b)

    def test_where_both_changed_the_same_lines_both_files_are_kept(self, a: Machine, b: Machine) -> None:
        a.put("README.md", "# Notes\n")
        settle(a, b)
        a.put("README.md", "# Notes of a\n")
        b.put("README.md", "# Notes of b\n")
        a.sync()
        assert b.sync().conflicted
        settle(a, b)
        assert set(a.files().values()) == {b"# Notes of a\n", b"# Notes of b\n"}
        assert "README.md" in a.files()
        assert_same(a, b)

    def test_two_of_one_name_without_a_common_past_are_both_kept(self, a: Machine, b: Machine) -> None:
        a.put("README.md", "# a\n")
        b.put("README.md", "# b\n")
        settle(a, b)
        assert set(a.files().values()) == {b"# a\n", b"# b\n"}
        assert_same(a, b)

    def test_two_images_are_both_kept(self, a: Machine, b: Machine) -> None:
        a.put("x.png", b"\x89PNG\0a")
        settle(a, b)
        a.put("x.png", b"\x89PNG\0\xff")
        b.put("x.png", b"\x89PNG\0\xfe")
        settle(a, b)
        assert set(a.files().values()) == {b"\x89PNG\0\xff", b"\x89PNG\0\xfe"}
        assert_same(a, b)

    @pytest.mark.parametrize("broken", ["---\nid: x\ntype: [\n---\nbroken\n", "---\nid: x\nno end", "<<<<<<< HEAD\n"])
    def test_a_note_that_one_side_made_unreadable_is_kept_beside_the_other(
        self, a: Machine, b: Machine, broken: str
    ) -> None:
        a.put("semantic/x.md", text_of("x", "one"))
        settle(a, b)
        a.put("semantic/x.md", broken)
        b.store.update("x", body="two")
        settle(a, b)
        assert_same(a, b)
        assert a.store.get("x").body == b.store.get("x").body == "two"
        assert broken.encode() in a.files().values()
        assert len(a.files()) == 2

    def test_a_note_unreadable_on_both_sides_is_kept_twice(self, a: Machine, b: Machine) -> None:
        a.put("semantic/x.md", text_of("x", "one"))
        settle(a, b)
        a.put("semantic/x.md", "---\nid: x\ntags: {\n---\nof a\n")
        b.put("semantic/x.md", "---\nid: x\ntags: {\n---\nof b\n")
        settle(a, b)
        assert sorted(data[-5:] for data in a.files().values()) == [b"of a\n", b"of b\n"]
        assert_same(a, b)


class TestPlaces:
    def test_two_notes_that_were_given_one_name_are_both_kept(self, a: Machine, b: Machine) -> None:
        """As when two machines write `Untitled.md`."""
        a.put("semantic/Untitled.md", text_of("of-a", "text of a"))
        b.put("semantic/Untitled.md", text_of("of-b", "text of b"))
        settle(a, b)
        assert a.bodies() == {"text of a", "text of b"}
        assert_same(a, b)

    def test_two_notes_moved_to_one_name_are_both_kept(self, a: Machine, b: Machine) -> None:
        a.put("semantic/one.md", text_of("one", "text one"))
        a.put("semantic/two.md", text_of("two", "text two"))
        settle(a, b)
        (a.folder / "semantic" / "one.md").rename(a.folder / "semantic" / "idea.md")
        (b.folder / "semantic" / "two.md").rename(b.folder / "semantic" / "idea.md")
        settle(a, b)
        assert a.bodies() == {"text one", "text two"}
        assert len(a.files()) == 2
        assert_same(a, b)

    def test_a_note_and_a_text_of_one_name_are_both_kept(self, a: Machine, b: Machine) -> None:
        a.put("semantic/idea.md", text_of("idea", "a note"))
        b.put("semantic/idea.md", "just a text\n")
        settle(a, b)
        assert a.bodies() == {"a note"}
        assert b"just a text\n" in a.files().values()
        assert_same(a, b)

    def test_a_note_moved_to_where_the_other_machine_has_a_new_one(self, a: Machine, b: Machine) -> None:
        a.put("semantic/one.md", text_of("one", "text one"))
        settle(a, b)
        (a.folder / "semantic" / "one.md").rename(a.folder / "semantic" / "idea.md")
        b.put("semantic/idea.md", text_of("new", "text new"))
        settle(a, b)
        assert a.bodies() == {"text one", "text new"}
        assert_same(a, b)

    def test_notes_that_changed_places_on_one_machine_and_texts_on_the_other(self, a: Machine, b: Machine) -> None:
        a.put("semantic/one.md", text_of("one", "text one"))
        a.put("semantic/two.md", text_of("two", "text two"))
        settle(a, b)
        a.put("semantic/one.md", text_of("two", "text two"))
        a.put("semantic/two.md", text_of("one", "text one"))
        b.put("semantic/one.md", text_of("one", "text ONE"))
        settle(a, b)
        assert a.bodies() == {"text ONE", "text two"}
        assert_same(a, b)

    def test_a_note_moved_differently_on_two_machines_is_one_note(self, a: Machine, b: Machine) -> None:
        note_id = a.note("text")
        settle(a, b)
        path = next(iter(a.files()))
        (a.folder / path).rename(a.folder / "semantic" / "name-of-a.md")
        (b.folder / path).rename(b.folder / "semantic" / "name-of-b.md")
        settle(a, b)
        assert list(a.files()) == ["semantic/name-of-a.md"]
        assert a.store.get(note_id).body == "text"
        assert_same(a, b)

    def test_two_files_of_one_id_are_both_kept(self, a: Machine, b: Machine) -> None:
        """As after copying a note by hand."""
        a.put("semantic/x.md", text_of("x", "one"))
        settle(a, b)
        a.put("semantic/x copy.md", text_of("x", "copy"))
        b.put("semantic/x.md", text_of("x", "changed on b"))
        settle(a, b)
        assert_same(a, b)
        assert a.files() == {
            "semantic/x copy.md": text_of("x", "copy").encode(),
            "semantic/x.md": text_of("x", "changed on b").encode(),
        }

    def test_a_text_that_shows_the_front_matter_of_a_note_is_not_taken_for_it(self, a: Machine, b: Machine) -> None:
        a.put("semantic/x.md", text_of("x", "one"))
        a.put("README.md", "# Form\n\n```\nid: x\n```\n")
        settle(a, b)
        a.put("README.md", "# Form of a note\n\n```\nid: x\n```\n")
        b.put("semantic/x.md", text_of("x", "two"))
        settle(a, b)
        assert a.files() == {
            "README.md": b"# Form of a note\n\n```\nid: x\n```\n",
            "semantic/x.md": text_of("x", "two").encode(),
        }
        assert_same(a, b)

    def test_a_file_that_becomes_a_folder_and_a_folder_that_becomes_a_file(self, a: Machine, b: Machine) -> None:
        a.put("topic", "file")
        a.put("group/inner.md", text_of("inner", "in a folder"))
        settle(a, b)
        (a.folder / "topic").unlink()
        a.put("topic/inside.md", text_of("inside", "in a folder now"))
        (a.folder / "group" / "inner.md").unlink()
        (a.folder / "group").rmdir()
        a.put("group", "file now")
        settle(a, b)  # git sees a folder in the place of a file only once the file is gone
        settle(a, b)
        assert b.files()["group"] == b"file now"
        assert b.files()["topic/inside.md"] == text_of("inside", "in a folder now").encode()
        assert_same(a, b)

    def test_a_file_here_and_a_folder_there_of_one_name_are_both_kept(self, a: Machine, b: Machine) -> None:
        a.put("topic", "file of a")
        b.put("topic/inside.md", text_of("inside", "in a folder of b"))
        settle(a, b)
        assert set(a.files().values()) == {b"file of a", text_of("inside", "in a folder of b").encode()}
        assert_same(a, b)

    def test_an_empty_folder_where_a_file_comes_gives_way(self, a: Machine, b: Machine) -> None:
        a.put("semantic/x.md", text_of("x", "text"))
        (b.folder / "semantic" / "x.md").mkdir(parents=True)
        settle(a, b)
        assert b.bodies() == {"text"}
        assert_same(a, b)


class TestForeignLines:
    def test_changes_of_a_note_with_foreign_front_matter_are_united(self, a: Machine, b: Machine) -> None:
        text = text_of("x", "one\ntwo").replace("title: x\n", "title: x\naliases: [y]\n# mine\n")
        a.put("semantic/x.md", text)
        settle(a, b)
        a.put("semantic/x.md", text.replace("one", "ONE"))
        b.put("semantic/x.md", text.replace("two", "TWO"))
        settle(a, b)
        assert a.files()["semantic/x.md"].decode() == text.replace("one", "ONE").replace("two", "TWO")
        assert_same(a, b)

    def test_front_matter_that_leans_on_itself_stays_readable(self, a: Machine, b: Machine) -> None:
        """A YAML alias in a foreign line refers to a line that is written anew when notes are merged."""
        text = text_of("x", "one\ntwo").replace("title: x\n", "title: &t x\naliases: [*t]\n")
        a.put("semantic/x.md", text)
        settle(a, b)
        a.put("semantic/x.md", text.replace("one", "ONE"))
        b.put("semantic/x.md", text.replace("two", "TWO"))
        settle(a, b)
        assert_same(a, b)
        assert a.store.get("x").body in ("ONE\ntwo", "one\nTWO")
        assert set(a.files().values()) == {text.replace(word, word.upper()).encode() for word in ("one", "two")}


class TestWhatIsNotSynced:
    def test_a_repository_inside_is_left_where_it_is(self, a: Machine, b: Machine) -> None:
        from tests.sync.machine import git

        inside = a.folder / "project"
        inside.mkdir()
        git(inside, "init", "--quiet")
        (inside / "code.py").write_text("print()\n", "utf-8")
        a.note("one")
        settle(a, b)
        assert not a.backend.state().dirty
        assert not (b.folder / "project").exists()
        assert b.bodies() == {"one"}

    def test_a_repository_referred_to_by_the_remote_stays_referred_to(
        self, make: Make, b: Machine, remote: Path
    ) -> None:
        from tests.sync.machine import git

        a = make("a", remote, adopt=True)
        commit_tree(remote, [("100644", "x.txt", b"x"), ("160000", "module", b"1" * 40)])
        a.note("one")
        settle(a, b)
        a.note("two")
        settle(a, b)
        assert b.bodies() == {"one", "two"}
        assert "160000 commit " + "1" * 40 in git(remote, "ls-tree", "main")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
    def test_a_file_that_may_not_be_read_holds_nothing_up(self, a: Machine, b: Machine) -> None:
        secret = a.put("semantic/secret.md", text_of("secret", "x"))
        secret.chmod(0)
        a.note("one")
        settle(a, b)
        assert b.bodies() == {"one"}
        secret.chmod(0o600)
        settle(a, b)
        assert b.bodies() == {"one", "x"}

    @pytest.mark.parametrize("name", ["git~1/x.md", ".git /x.md", "semantic/.git./x.md"])
    def test_a_name_that_git_refuses_holds_nothing_up(self, a: Machine, b: Machine, name: str) -> None:
        refused = a.put(name, text_of("refused", "cannot travel"))
        a.note("one")
        settle(a, b)
        assert b.bodies() == {"one"}
        assert refused.exists()

    def test_a_pipe_among_the_notes_is_left_where_it_is(self, a: Machine, b: Machine) -> None:
        os.mkfifo(a.folder / "pipe.md")
        a.note("one")
        settle(a, b)
        assert b.bodies() == {"one"}
