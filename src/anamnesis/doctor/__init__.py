"""Checks of this machine: faults and their fixes. `memory` checks the store, `agents` what `init` wrote."""

from anamnesis.doctor.finding import Finding, repair
from anamnesis.doctor.memory import examine

__all__ = ["Finding", "examine", "repair"]
