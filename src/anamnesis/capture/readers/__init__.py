"""One reader per agent: each parses that agent's transcripts into a draft and knows nothing else."""
