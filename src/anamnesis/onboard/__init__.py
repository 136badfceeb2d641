"""What `init` and `uninstall` do to the settings of other programs: agents, edits, plans, backups.

Nothing here reads the environment, the clock or the terminal on its own.
"""
