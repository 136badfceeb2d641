"""Dreams improve the memory while nobody works: phases find proposals, and a cycle applies them. It can be undone."""
