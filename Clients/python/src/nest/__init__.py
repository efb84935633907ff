"""A client of nest: live lists of a shared object graph."""
