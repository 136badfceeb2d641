"""A report as JSON, as `eval run --json` prints it and `eval compare` reads it."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from anamnesis.errors import InvalidArgument
from anamnesis.eval.cases import read_text
from anamnesis.eval.report import CaseResult, RecallReport

_FIELDS = tuple(field.name for field in fields(CaseResult))


def report_as_dict(report: RecallReport) -> dict[str, Any]:
    """The averages, those of each kind, and the outcome of every case."""
    kinds = {kind: _averages(of_kind) for kind, of_kind in report.kinds.items()}
    return {**_averages(report), "kinds": kinds, "outcomes": [asdict(outcome) for outcome in report.outcomes]}


def _averages(report: RecallReport) -> dict[str, Any]:
    return {field.name: getattr(report, field.name) for field in fields(report)[:-2]}


def load_outcomes(path: Path) -> list[CaseResult]:
    """The outcomes of a report that was saved."""
    text = read_text(path)
    try:
        return [_outcome(each) for each in json.loads(text)["outcomes"]]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        message = f"{path} is not a report."
        raise InvalidArgument(message, "`anamnesis eval run FILE --json > report.json` writes one.") from error


def _outcome(data: dict[str, Any]) -> CaseResult:
    """An outcome with checked types, so that no later computation fails."""
    outcome = CaseResult(**{name: data[name] for name in _FIELDS})
    numbers = (outcome.relevant, outcome.shown, outcome.tokens, outcome.milliseconds, *outcome.ranks)
    if not all(number >= 0 for number in numbers) or not all(outcome.ranks):
        raise ValueError("A number is out of range.")
    return outcome
