"""Editing in the user's editor, to which the application hands the terminal. Typed text is never lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from anamnesis.editing import EditConflict, parse_edited, save_text, saved_on_error
from anamnesis.errors import AnamnesisError, InvalidArgument
from anamnesis.notes import Memory, render, validate
from anamnesis.store.ids import UlidMaker, changed_at, utcnow
from anamnesis.store.spaces import in_space_of_project, who_reads
from anamnesis.tui.latest import notify_error

if TYPE_CHECKING:
    from anamnesis.tui.app import Anamnesis
    from anamnesis.vault import Vault


def edit(app: Anamnesis, note_id: str) -> None:
    """Edit a note with its front matter, and save it as `anamnesis edit` does."""
    try:
        before = app.vault.get(note_id)
        text = _edited(app, render(before))
        if text is None:
            app.notify("Nothing was changed.")
        while text is not None:
            text, before = _save_edit(app, before, text)
    except AnamnesisError as error:
        notify_error(app, error)


def _save_edit(app: Anamnesis, before: Memory, text: str) -> tuple[str | None, Memory]:
    """Save an edit; if the same lines have changed since, the text as the user decides, and the note as it is then."""
    try:
        with saved_on_error(text):
            done = app.with_vault(lambda vault: save_text(vault.notes, before, text))
    except EditConflict as conflict:
        decided = _edited(app, conflict.text)
        if decided is None:
            raise
        return decided, conflict.now
    app.notify(f"Saved. {done.merged}".strip())
    app.reload()
    return None, done.note


def write(app: Anamnesis, project: str) -> None:
    """Write a new note in the editor, from a form that has every field."""
    now = utcnow()
    blank = Memory(
        id=UlidMaker().next(),
        type="semantic",
        title="",
        body="",
        project=project,
        machine_id=app.settings.machine_id,
        created_at=now,
        updated_at=now,
    )
    try:
        # The editor shows the line of the space, which the user may remove.
        blank = in_space_of_project(app.vault.notes, blank)
        text = _edited(app, render(blank))
        if text is not None:
            _save(app, text, lambda vault: vault.notes.put(_parse_new(blank.id, text)))
    except AnamnesisError as error:
        notify_error(app, error)


def _parse_new(note_id: str, text: str) -> Memory:
    new = parse_edited(note_id, text)
    note = replace(new, updated_at=changed_at(new))
    validate(note)
    return note


def _save(app: Anamnesis, text: str, save: Callable[[Vault], Memory]) -> None:
    with saved_on_error(text):
        note = app.with_vault(save)
    app.notify(f"Saved. {who_reads(app.vault.notes, note)}".rstrip())
    app.reload()


def _edited(app: Anamnesis, text: str) -> str | None:
    """The text as the user edited it; None if nothing was saved."""
    try:
        with app.suspend():
            return click.edit(text, extension=".md", require_save=True)
    except (ValueError, click.ClickException) as error:
        reason = error.message if isinstance(error, click.ClickException) else str(error)
        raise InvalidArgument(f"The editor cannot be used: {reason}.", "Name another in VISUAL or EDITOR.") from error
