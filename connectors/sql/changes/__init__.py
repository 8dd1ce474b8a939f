"""The records of a table that changed since an earlier run: a module for each database, and what they share."""
