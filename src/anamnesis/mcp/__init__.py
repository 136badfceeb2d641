"""The Model Context Protocol: one dispatcher for every transport, and the tools that agents call."""
