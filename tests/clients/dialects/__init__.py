"""The vendors' protocols: reading a request, and writing an answer.

A dialect is a module with `PATH`, a pattern of its addresses; `read`, which parses a body into a Question; `whole`,
which renders a Reply as one JSON document; `events` and `line`, which render it as a stream.
"""
