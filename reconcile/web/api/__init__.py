"""The API for programs: what the console shows and does, as JSON, with tokens."""
