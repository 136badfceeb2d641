"""The hub: one memory for a team, on PostgreSQL. Only the commands `anamnesis hub …` import it; it needs the extra `hub`."""
