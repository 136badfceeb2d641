"""`anamnesis conflicts`: lists notes that two machines changed at once, as diffs, and resolves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anamnesis.age import age
from anamnesis.cli.naming import confirm_guesses, resolve_note
from anamnesis.cli.options import as_json, open_store, yes_option
from anamnesis.cli.output import console, draw_diff, on_terminal, print_json, print_lines

if TYPE_CHECKING:
    from anamnesis.history.conflicting import ConflictComparison
    from anamnesis.store import MemoryStore
    from anamnesis.sync.conflicts import Conflict


@click.command()
@click.argument("note_id", metavar="[ID]", required=False)
@click.option("--keep", type=click.Choice(["this", "other", "both"]), help="Resolve the conflict: the version to keep.")
@yes_option
@as_json
def command(note_id: str | None, keep: str | None, yes: bool, as_json: bool) -> None:
    """List the notes that two machines changed in the same lines or the title, with their writers and a diff.

    A writer is the machine whose sync brought the version, or the user of the hub who wrote it.

    A sync keeps the newer version in the note and the other as a note of its own. To resolve a conflict, name the note
    and the version to keep: `this` keeps the note unchanged, `other` replaces it by the other version, `both` makes the
    other version an ordinary note. A version that is not kept goes to the trash. To combine them, edit the note, then
    keep `this`.

    \b
    In a pipe: id, the other version's id, title, writer of this version and of the other, separated by tabs; then, if
    one of them is not yours, where it comes from; then the diff.
    JSON: [{"id", "other", "title", "diff", "machines": {"this", "other"}}], with "origin" and "unreviewed" as in search
    """
    from anamnesis.sync.conflicts import find_conflicts, list_conflicts, resolve

    if keep and not note_id:
        raise click.UsageError("Name the conflict: anamnesis conflicts ID --keep this|other|both")
    with open_store(only_to_read=keep is None) as store:
        name = resolve_note(store, note_id) if note_id else None
        found = find_conflicts(store, name.id) if name else list_conflicts(store)
        compared = [] if keep and not as_json else _compared(store, found)
        if keep and name:
            confirm_guesses([name], f"Keep {keep} of", yes)
            for each in found:
                resolve(store, each, keep)
    if as_json:
        print_json([_as_dict(*each) for each in compared])
    elif keep:
        click.echo(f"Kept {keep}: {found[0].id}")
    else:
        _show(compared)


def _compared(store: MemoryStore, conflicts: list[Conflict]) -> list[tuple[Conflict, ConflictComparison]]:
    from anamnesis.history.conflicting import compare

    return [(each, compare(store, each)) for each in conflicts]


def _as_dict(conflict: Conflict, compared: ConflictComparison) -> dict[str, Any]:
    return {
        "id": conflict.id,
        "other": conflict.other.id,
        "title": (conflict.note or conflict.other).title,
        "diff": compared.diff,
        "machines": {"this": compared.this or None, "other": compared.other or None},
    } | (compared.origin.shown() if compared.origin else {})


def _show(conflicts: list[tuple[Conflict, ConflictComparison]]) -> None:
    for each, compared in conflicts:
        note, other, title = each.note, each.other, (each.note or each.other).title
        remark = [compared.origin.brief] if compared.origin else []
        if on_terminal():
            console().draw(f"[bold]{{}}[/]  {{}}{'  [yellow]{}[/]' * len(remark)}", each.id, title, *remark)
            this = f"{compared.this or 'a machine'}, {age(note.updated_at)}" if note else "deleted"
            console().draw("[red]- this[/]   {}", this, style="dim")
            console().draw(
                "[green]+ other[/]  {}, {}", compared.other or "a machine", age(other.updated_at), style="dim"
            )
        else:
            print_lines([(each.id, other.id, title, compared.this, compared.other, *remark)])
        draw_diff(compared.diff)
    if on_terminal() and conflicts:
        console().print("anamnesis conflicts ID --keep this|other|both", style="cyan")
    elif on_terminal():
        console().print("✓ No conflicts.", style="green")
