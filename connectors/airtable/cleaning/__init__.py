"""Cleaning of a base: changes whose receipt is in the changed record, and which Airtable's list of changes confirms."""
