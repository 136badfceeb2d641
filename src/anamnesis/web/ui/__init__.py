"""The dashboard: pages on the memory, mounted under /ui. It calls the vault and holds no logic of its own."""
