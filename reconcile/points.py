"""Named places where a crash test can end the process; `reach(label)` does nothing unless a test armed it.

Only `tests/support/crash_points.py` arms them, in its own process or in a child of `tests/support/fork_server.py`. No
setting and no environment variable can, so nobody can make the installed program die between two commits.
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
"""All labels; a test compares them with the calls in the code, and the crash matrix reaches each."""

armed: Callable[[str], None] | None = None


def reach(label: str) -> None:
    """Call the armed function, if any, with this label."""
    if armed is not None:
        armed(label)
