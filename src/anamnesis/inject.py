"""What an agent is told when a session starts, and for which project."""

from anamnesis.project import resolve_project_key

__all__ = ["resolve_project_key"]
