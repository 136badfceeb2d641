"""Edits the settings of other programs for `init` and `uninstall`: agents, edits, plans, backups.

Nothing here reads the environment, the clock or the terminal on its own.
"""
