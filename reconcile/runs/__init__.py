"""One run from its slot to its report, and the run that only looks."""
