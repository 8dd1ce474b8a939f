"""Decisions of people from every door: by name, about one finding or many, each with the same checks."""
