"""Earlier versions of a memory: its revisions from git, engram.db's journal and the trash, and restoring one."""
