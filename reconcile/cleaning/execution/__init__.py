"""Approved plans are executed on their target, each once, and the outcome is recorded."""
