"""The suites that every connector passes, ours and others: one for sources, one for targets."""
