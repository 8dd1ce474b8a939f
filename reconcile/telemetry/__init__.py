"""Logs and traces, and text made safe to show."""
