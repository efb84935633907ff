"""Bytes and their meaning: protocol.md as readers and writers. Nothing here has a socket, a clock or a state."""
