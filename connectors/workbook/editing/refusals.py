"""Refuse a workbook, or one change of it, in a sentence."""

from __future__ import annotations

from connectors.target import TargetRefused


class NotEditable(Exception):
    """A part cannot be edited so that every other byte stays. The message is a clause, without values."""


def refused(name: str, reason: str) -> TargetRefused:
    """The error for a workbook whose records are never changed; `reason` is a clause."""
    return TargetRefused(f"Records of {name} cannot be cleaned: {reason}")
