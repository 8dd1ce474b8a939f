"""How many people must approve a plan, who counts as one person, and who approved a plan that waits. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rules.values.normal_forms import normalised

NEEDED: Mapping[str, int] = {"none": 0, "required": 1, "two_person": 2}
"""The approvals that each policy needs."""


def person(name: str) -> str:
    """A person's name in one form: names that differ only in case, blanks or width of letters are the same person."""
    return " ".join(normalised("NFKC", name).casefold().split())


@dataclass(frozen=True)
class GivenApprovals:
    """The approvals of a plan that waits for several people: who approved it, in order, and how many it needs."""

    by: tuple[str, ...]
    needed: int

    @property
    def count(self) -> str:
        """Like "1 of 2 approvals: bob"."""
        names = f": {', '.join(self.by)}" if self.by else ""
        return f"{len(self.by)} of {self.needed} approvals{names}"

    @property
    def sentence(self) -> str:
        """Like "1 of 2 approvals: bob; needs another person"."""
        missing = self.needed - len(self.by)
        more = "another person" if missing == 1 else f"{missing} {'other ' if self.by else ''}people"
        return f"{self.count}; needs {more}"

    def has(self, name: str) -> bool:
        """Return True if this person approved the plan."""
        return person(name) in map(person, self.by)
