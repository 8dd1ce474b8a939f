"""The error for mistakes in a rule."""

from __future__ import annotations


class RuleError(ValueError):
    """A rule that cannot be used as written; the message is one sentence a user can act on."""
