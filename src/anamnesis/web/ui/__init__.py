"""The dashboard: pages on the memory, mounted under /ui. It calls the vault and has no logic of its own."""
