"""Edits the settings of other programs for `init` and `uninstall`: agents, edits, plans, backups.

Nothing here reads the environment, the clock or the terminal on its own.
"""

from __future__ import annotations

from pathlib import Path

from anamnesis.config import CONFIG_NAME, change_config, setting


def write_store_config(home: Path, machine_id: str, remote: str | None = None) -> Path:
    """Write a machine's name and git remote to the store's config.json, for scripts; returns the file.

    Without a remote, the notes stay on this machine. Other settings in the file stay as they are.
    """
    setting("machine_id").check(machine_id)  # before anything is written
    change_config(home, "remote", remote)
    change_config(home, "machine_id", machine_id)
    return home / CONFIG_NAME
