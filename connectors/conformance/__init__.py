"""The suites that every connector passes, ours and other people's: one for sources, one for targets."""
