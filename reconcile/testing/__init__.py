"""Test helpers for users' own rules and channels: servers that speak real wire formats and fail on demand."""
