"""A fault that a check has found, and its fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, with its subject and its fix. Without `repair`, only the user can fix it."""

    subject: str
    fault: str
    fix: str
    repair: Callable[[], object] | None = field(default=None, compare=False)


def repair(findings: list[Finding]) -> list[Finding]:
    """Apply the fixes that can be applied; returns the fixed findings."""
    fixed = []
    for finding in findings:
        if finding.repair:
            finding.repair()
            fixed.append(finding)
    return fixed
