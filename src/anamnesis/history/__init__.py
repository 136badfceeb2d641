"""What a memory was before: its revisions out of git, engram.db's journal and the trash, and the way back to one."""
