"""Findings: their states, their identity over runs, and the changes a run makes to them. Pure."""
