"""From findings to plans: what would become of every row, with nothing written."""
