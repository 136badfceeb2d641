"""Shared by Gemini CLI and Qwen Code: contents made of parts, and the editing tools."""

from __future__ import annotations

from anamnesis.capture.entries import dict_of, dicts_of, text_of

EDITORS = ("write_file", "edit_file", "replace", "edit", "notebook_edit")
_CREATED = "Successfully created and wrote to new file"


def spoken(content: object) -> list[str]:
    """The texts of a content without the model's thoughts."""
    parts = [{"text": content}] if isinstance(content, str) else dicts_of(content)
    texts = (text_of(part, "text").strip() for part in parts if not part.get("thought"))
    return [text for text in texts if text]


def says_created(parts: object) -> bool:
    """Whether a tool's response says that it created a file."""
    answers = (dict_of(dict_of(part, "functionResponse"), "response") for part in dicts_of(parts))
    return any(text_of(answer, "output").startswith(_CREATED) for answer in answers)
