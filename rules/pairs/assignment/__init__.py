"""Which record of one side belongs to which of the other: the best assignment of pairs, proven in integers."""
