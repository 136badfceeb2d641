"""Which notes matter: the words of a query and the order in which they are worth asking for. Pure."""
