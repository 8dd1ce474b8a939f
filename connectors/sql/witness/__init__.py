"""A database's own count of changes, compared with those of our statements."""
