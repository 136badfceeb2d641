"""One reader an agent: each tells a draft what it finds in that agent's transcripts, and knows nothing else."""
