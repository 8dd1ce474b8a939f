"""Decisions of people through any door: one service with one request and one result, and the same checks."""
