"""Findings: what they are, how they keep their identity over runs, and what a run means for them. Pure."""
