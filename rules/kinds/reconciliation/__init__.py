"""Rules about two datasets that should agree."""
