"""What a rule's author can get wrong, each told in one sentence."""

from __future__ import annotations


class RuleError(ValueError):
    """A rule that cannot be used as written; the message is one sentence a user can act on."""
