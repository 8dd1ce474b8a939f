"""Pairs of records: what joins them, how far apart they are, and which are known to be different."""
