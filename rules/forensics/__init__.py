"""Likely causes of findings, each in one sentence with its figures, and only past the threshold of a named test."""
