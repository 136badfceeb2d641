"""The cases of an evaluation: a query and the notes that answer it, one JSON object a line in a file."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anamnesis.errors import InvalidArgument

_FORM = 'A case is a line such as {"query": "how to avoid lock errors", "relevant_ids": ["01J..."]}.'


@dataclass(frozen=True, slots=True)
class EvalCase:
    """A query, the ids of the notes that answer it, and the kind of question, by which results are grouped.

    `note_titles` and `source` are for people who review the cases.
    """

    query: str
    relevant_ids: Sequence[str]
    kind: str = ""
    note_titles: Sequence[str] = ()
    source: str = ""


def load_eval_set(path: Path) -> list[EvalCase]:
    """The cases of a file. Empty lines are skipped; any other line that is no case is an error with its number."""
    cases = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if line.strip():
            try:
                cases.append(_case(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise InvalidArgument(f"{path}, line {number}: {_reason(error)}", _FORM) from error
    if not cases:
        raise InvalidArgument(f"{path} has no cases.", "`anamnesis eval build` makes some from your notes.")
    return cases


def save_eval_set(path: Path, cases: Iterable[EvalCase]) -> None:
    """Write cases to a new file; one that exists is left alone."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(json.dumps(as_dict(case), ensure_ascii=False) + "\n" for case in cases)
    except FileExistsError as error:
        raise InvalidArgument(f"{path} exists.", "Name another file, or remove it first.") from error
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be written: {error.strerror}.") from error


def as_dict(case: EvalCase) -> dict[str, Any]:
    """A case as in the file, without empty fields."""
    return {name: value for name, value in asdict(case).items() if value}


def answerable(cases: Iterable[EvalCase], ids: Collection[str]) -> list[EvalCase]:
    """The cases whose notes are all among those that are searched, which are given by their ids."""
    return [case for case in cases if all(id in ids for id in case.relevant_ids)]


def read_text(path: Path) -> str:
    """The text of a file that a user named."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InvalidArgument(f"There is no file {path}.") from error
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{path} is not a text in UTF-8.") from error


def _case(data: Any) -> EvalCase:
    if not isinstance(data, dict):
        raise ValueError("It is not a JSON object")
    query, ids = data.get("query"), data.get("relevant_ids")
    if not isinstance(query, str) or not query.strip():
        raise ValueError("It has no query")
    if not isinstance(ids, list) or not ids or not all(isinstance(id, str) for id in ids):
        raise ValueError("Its relevant_ids are not a list of ids of notes")
    titles = data.get("note_titles")
    shown = [str(title) for title in titles] if isinstance(titles, list) else []
    return EvalCase(query, list(dict.fromkeys(ids)), str(data.get("kind", "")), shown, str(data.get("source", "")))


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"It is not JSON: {error.msg} at column {error.colno}"
    return "It is nested too deeply" if isinstance(error, RecursionError) else str(error)
