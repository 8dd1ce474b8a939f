"""Which findings the report of a run lists. It loads nothing: a run begins to read before what compares is loaded."""

from __future__ import annotations

import enum


class Lists(enum.Enum):
    """Which findings a report lists: each one costs time and memory."""

    NONE = "none"
    CHANGED = "changed"  # by this run; of a dry run: that it would change
    ALL = "all"  # also those that were known and are unchanged
