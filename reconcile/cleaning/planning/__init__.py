"""From findings to plans: the changes of every row, without writing anything."""
