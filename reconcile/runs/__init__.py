"""One run from its slot to its report, and the dry run."""
