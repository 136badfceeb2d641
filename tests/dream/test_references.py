"""What notes say about code, what lines declare, and what patches remove."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dream.repositories import Repository

from anamnesis.dream.declarations import declared, lines_of, matches
from anamnesis.dream.patches import read_patches
from anamnesis.dream.references import Reference, references
from anamnesis.notes import Memory


def said(body: str, title: str = "") -> list[str]:
    return [each.text for each in references(Memory("X", "semantic", title, body))]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("See src/foo/bar.py:42 and ./lib/a.ts.", ["src/foo/bar.py", "lib/a.ts"]),
        ("`conftest.py`, `Makefile`, `a/b.c:7`", ["a/b.c", "conftest.py", "Makefile"]),
        ("https://example.org/a/b.html, /etc/hosts.conf, ~/x/y.sh, $HOME/z/a.py, src/*/a.py, and/or", []),
        ("`parse_config()`, `Foo.bar`, `getUserById`, `Shop::pay`", ["parse_config", "bar", "getUserById", "pay"]),
        ("`a`, `foo`, `if x: y`, `--flag`, `the word`", []),
        ("Run `make -j4 lint test` or `npm run build:all`.", ["make lint", "make test", "npm run build:all"]),
        ("Run `just fmt`; make sure it is just right.", ["just fmt"]),
        ("```sh\n$ make deploy\njust ship\n```", ["make deploy", "just ship"]),
        ("pydantic 1.10, `react@17`, django>=3.2.", ["pydantic 1.10", "react 17", "django 3.2"]),
        ("The file src/a.py was removed. See src/b.py.", ["src/b.py"]),
        ("See src/a.py.\n\nLater: src/a.py is deprecated.", []),
    ],
)
def test_the_references_of_a_text(body: str, expected: list[str]) -> None:
    assert said(body) == expected


def test_a_reference_of_the_title_is_known_as_such() -> None:
    found = references(Memory("X", "semantic", "How src/a.py works", "See src/a.py and src/b.py."))
    assert [(each.name, each.in_title) for each in found] == [("src/a.py", True), ("src/b.py", False)]


@given(st.text(alphabet=st.sampled_from("ab_./`@ 1\n:-()#$~A"), max_size=300))
def test_any_text_has_references_without_breaks_options_or_ways_out(text: str) -> None:
    for each in references(Memory("X", "semantic", "", text)):
        assert each.name
        assert not each.name.startswith(("-", "/", "~"))
        assert not {*each.name} & {*"\n\0*?[` "}


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("requirements-dev.txt", "pydantic[email]>=1.10.2,<2", [("version", "pydantic", "1.10.2")]),
        ("go.mod", "\tgithub.com/gin-gonic/gin v1.7.0", [("version", "gin", "1.7.0")]),
        ("Cargo.toml", 'serde = { version = "1.0" }', [("version", "serde", "1.0")]),
        ("Gemfile.lock", "    rails (6.1.4)", [("version", "rails", "6.1.4")]),
        ("yarn.lock", 'react@^17.0.0:\n  version "17.0.2"', [("version", "react", "17.0.2")]),
        ("pnpm-lock.yaml", "  /react@17.0.2:", [("version", "react", "17.0.2")]),
        ("build.gradle", "  implementation 'org.x:core:5.3.1'", [("version", "core", "5.3.1")]),
        ("Makefile", "lint test: x", [("make", "lint", ""), ("make", "test", "")]),
        ("justfile", "fmt arg='x': build", [("just", "fmt", "")]),
        ("a.go", "func (s *Server) Handle(w) {", [("symbol", "Handle", "")]),
        ("A.java", "  public User getUserById(String id) {", [("symbol", "getUserById", "")]),
        ("a.ts", "  getUser(id: string) {", [("symbol", "getUser", "")]),
        ("a.c", "static int foo_bar(void)", [("symbol", "foo_bar", "")]),
        ("settings.yaml", "  pool_size: 3", [("symbol", "pool_size", "")]),
    ],
)
def test_what_a_line_declares(file: str, text: str, expected: list[tuple[str, str, str]]) -> None:
    found = {tuple(each[:3]) for line in lines_of(file, text) for each in declared(line)}
    assert {*expected} <= found


@pytest.mark.parametrize(
    "line", ["    return call_it(x)", "call_it(x)", "if (call_it(x)) {", "x == call_it", "# call_it"]
)
def test_a_call_is_no_declaration(line: str) -> None:
    assert "call_it" not in {each.name for one in lines_of("a.ts", line) for each in declared(one)}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("1.10", "1.10.2", True),
        ("1.10.2", "1.10", True),
        ("1.1", "1.10", False),
        ("17", "17.0.2", True),
        ("2", "1", False),
    ],
)
def test_versions_agree_as_far_as_both_are_given(one: str, other: str, expected: bool) -> None:
    assert matches(Reference("version", "x", one), Reference("version", "x", other)) is expected
    assert not matches(Reference("version", "x", one), Reference("version", "y", other))


def test_patches_are_read_as_git_prints_them(tmp_path: Path) -> None:
    """Also lines that look like the head of a patch."""
    repository = Repository(tmp_path / "work")
    repository.commit(0, {"a.sql": "one\n-- a/comment\ntwo\n", "b c.txt": "x\n"})
    commit = repository.commit(1, {"a.sql": "one\n++ b/other\ntwo\nthree\n", "b c.txt": None})
    said = repository.git("log", "-1", "-p", "-U1", "--format=%x01%H")
    found = [
        (each.commit, each.line.file, each.line.before, each.line.text, each.is_removed) for each in read_patches(said)
    ]
    assert found == [
        (commit, "a.sql", "one", "-- a/comment", True),
        (commit, "a.sql", "one", "++ b/other", False),
        (commit, "a.sql", "two", "three", False),
        (commit, "b c.txt", "", "x", True),
    ]


@given(
    st.lists(st.text(alphabet="ab-+@ \\", max_size=6), max_size=8),
    st.lists(st.text(alphabet="ab-+@ \\", max_size=6), max_size=8),
)
def test_the_changed_lines_turn_one_version_into_the_other(old: list[str], new: list[str]) -> None:
    """Whatever the lines are: as many removed and added ones as make up the difference."""
    lines = difflib.unified_diff(old, new, "a/f", "b/f", lineterm="", n=1)
    changes = [*read_patches("\n".join(lines))]
    removed = [each.line.text for each in changes if each.is_removed]
    added = [each.line.text for each in changes if not each.is_removed]
    assert len(old) - len(removed) == len(new) - len(added)
    assert sorted([*old, *added]) == sorted([*new, *removed])
