"""The HTTP surface: a server, the guard before it, and the routes of each dialect."""
