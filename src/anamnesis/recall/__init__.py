"""Which notes matter: the words of a query, and which of them decide the ranking. Pure."""
