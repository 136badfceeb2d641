"""Memory that improves while nobody works: phases find proposals, and a cycle applies them. It can be undone."""
