"""The hub: one memory for a team, on PostgreSQL. Only `anamnesis hub` imports it; needs the extra [hub]."""
