"""Findings in a spreadsheet, and the decisions of people that come back in it."""
