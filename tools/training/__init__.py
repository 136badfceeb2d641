"""The recipe of the embedding model. README.md has the steps; docs/meaning.md describes the result."""
