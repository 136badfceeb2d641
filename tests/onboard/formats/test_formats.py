"""Properties that all formats share."""

from __future__ import annotations

import subprocess
import sys

import pytest

from anamnesis.onboard.formats import Unparsable, engine

FORMATS = ["json", "jsonc", "toml", "yaml"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", ["", "\n", " \r\n\r\n", "\ufeff"])
def test_an_empty_file_is_an_empty_document_in_every_format(format: str, text: str) -> None:
    chosen = engine(format)
    assert chosen.read(text) == {}
    assert chosen.drop(text, ("a",), prune=True) == text
    edited = chosen.append(text, ("a", "b"), {"c": "d"})
    assert chosen.read(edited) == {"a": {"b": [{"c": "d"}]}}
    assert edited.startswith("\ufeff") == text.startswith("\ufeff")
    assert chosen.read(chosen.drop_item(edited, ("a", "b"), 0, prune=True)) == {}


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_is_dropped_for_an_empty_path(format: str) -> None:
    text = engine(format).put("", ("a",), {"b": 1})
    assert engine(format).drop(text, (), prune=True) == text


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("json", '{"token": "s3cret" "x"}'),
        ("json", '{"token": "s3cret\\x"}'),
        ("json", '{"token": "s3cret"}'),
        ("toml", 'token = "s3cret" x'),
        ("toml", 'token = "s3cret"'),
        ("yaml", "token: 's3cret' x"),
        ("yaml", "token: s3cret"),
    ],
)
def test_a_refusal_does_not_quote_the_file(format: str, text: str) -> None:
    with pytest.raises(Unparsable) as refused:
        engine(format).put(text, ("token", "a"), 1)
    assert "s3cret" not in str(refused.value)


def test_a_format_imports_only_its_own_parser() -> None:
    code = "import sys; from anamnesis.onboard.formats import engine; engine('json'); print('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_there_is_no_engine_for_another_format() -> None:
    with pytest.raises(ValueError, match="no engine for the format 'ini'"):
        engine("ini")
