"""A spreadsheet as a target: cells are replaced only where they hold what was planned, and receipts are kept in it."""
