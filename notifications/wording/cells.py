"""Cells of tables for spreadsheets: what begins like a formula stays text."""

from __future__ import annotations

from notifications.wording import words

LONGEST = 32_000
"""Characters of a cell; Excel takes 32,767."""
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Beginnings that a spreadsheet may read as a formula, in their full width too."""


def plain(text: str) -> str:
    """Return the text on one line of at most LONGEST characters, for a cell that is written as text."""
    if text.isascii() and text.isprintable() and len(text) <= LONGEST:  # most texts: no character needs a look
        return text
    return words.visible(text, LONGEST)


def escaped(text: str) -> str:
    """Return a cell for a CSV file; an apostrophe keeps a spreadsheet from reading it as a formula."""
    shown = plain(text)
    return f"'{shown}" if text.startswith(_FORMULAS) or shown.startswith(_FORMULAS) else shown
