"""Files of a working tree are read within limits, and never from outside of it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from anamnesis.working_tree import RefusedPath, make_folder, read_file


def outside(tree: Path) -> Path:
    """A folder beside the tree, with a file that must not be read through the tree."""
    folder = tree.parent / "outside"
    folder.mkdir()
    (folder / "file").write_bytes(b"secret")
    return folder


def linked_file(tree: Path) -> None:
    (tree / "folder").mkdir()
    (tree / "folder/file").symlink_to(outside(tree) / "file")


def linked_folder(tree: Path) -> None:
    (tree / "folder").symlink_to(outside(tree))


def link_to_nowhere(tree: Path) -> None:
    (tree / "folder").symlink_to("nowhere")


def link_within_the_tree(tree: Path) -> None:
    (tree / "real").mkdir()
    (tree / "real/file").write_bytes(b"x")
    (tree / "folder").symlink_to("real")


def pipe(tree: Path) -> None:
    (tree / "folder").mkdir()
    os.mkfifo(tree / "folder/file")


def folder(tree: Path) -> None:
    (tree / "folder/file").mkdir(parents=True)


def too_long(tree: Path) -> None:
    (tree / "folder").mkdir()
    (tree / "folder/file").write_bytes(b"x" * 11)


def endless(tree: Path) -> None:
    (tree / "folder").mkdir()
    (tree / "folder/file").symlink_to("/dev/zero")


@pytest.mark.parametrize(
    "make", [linked_file, linked_folder, link_to_nowhere, link_within_the_tree, pipe, folder, too_long, endless]
)
def test_only_a_regular_file_within_the_limit_is_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    make(tree)
    with pytest.raises(RefusedPath, match="tree"):
        read_file(tree, "folder/file", 10)


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("folder/file")
        with pytest.raises(RefusedPath, match="cannot be read"):
            read_file(tmp_path, "folder/file", 10)


def test_a_file_up_to_its_limit_is_read_also_through_a_link_to_the_tree(tmp_path: Path) -> None:
    (tmp_path / "tree/folder").mkdir(parents=True)
    (tmp_path / "tree/folder/file").write_bytes(b"x" * 10)
    (tmp_path / "link").symlink_to("tree")
    assert read_file(tmp_path / "tree", "folder/file", 10) == b"x" * 10
    assert read_file(tmp_path / "link", "folder/file", 10) == b"x" * 10


def test_a_missing_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    for file in ("none", "none/file", "plain/file"):
        assert read_file(tmp_path, file, 10) is None
    assert read_file(tmp_path / "gone", "file", 10) is None


def test_a_path_to_the_parent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(RefusedPath):
        read_file(tmp_path / "tree", "../file", 10)


def test_no_folder_is_created_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "tree/folder").symlink_to(tmp_path / "out")
    with pytest.raises(RefusedPath, match="symbolic link"):
        make_folder(tmp_path / "tree", "folder/inner")
    assert list((tmp_path / "out").iterdir()) == []
    assert make_folder(tmp_path / "tree", "a/b").is_dir()
