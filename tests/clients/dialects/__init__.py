"""The protocols of models: how each is read, and how an answer is written in it.

A dialect is a module with `PATH`, a pattern of the addresses; `read`, which makes a Question of a body; `whole`, which
makes one JSON document of a Reply; `events` and `line`, which make a stream of it.
"""
