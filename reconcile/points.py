"""The places where a process may die, by name: `reach(label)` does nothing unless a test of crashes armed it.

Only code arms them: `reconcile.testing.points`, in its own process or in a child of `reconcile.testing.fork`. No
setting and no environment variable does: whoever starts the installed program cannot make it die between two commits.
"""

from __future__ import annotations

from collections.abc import Callable

LABELS = (
    "plan.proposed",
    "approve.committed",
    "holds.taken",
    "limits.reserved",
    "store.claimed",
    "store.sent.before_commit",
    "store.sent.committed",
    "target.begun",
    "target.received",
    "target.locked",
    "target.changed",
    "target.read_back",
    "target.sealed",
    "target.before_commit",
    "target.committed",
    "store.done.before_commit",
    "store.done.committed",
    "resolve.begun",
    "resolve.asked",
    "resolve.committed",
    "undo.planned",
    "undo.committed",
    "audit.checkpoint.written",
    "anchor.before_write",
    "anchor.written",
)
"""Every label there is; a test compares them with the calls in the code, and the crash matrix reaches each."""

armed: Callable[[str], None] | None = None


def reach(label: str) -> None:
    """The process is at this place. Costs nothing unless armed."""
    if armed is not None:
        armed(label)
