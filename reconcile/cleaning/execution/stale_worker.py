"""End a stale worker on this host before another one takes over its plans: its claims expired, so it must not act."""

from __future__ import annotations

import contextlib
import os
import signal

from reconcile.coordination.lease import Owner


def end(owner: Owner) -> bool:
    """Kill the process if it runs on this host and is not this one; return True if it was killed.

    Only for an owner with an expired claim: it was stopped, swapped out or hangs. Pid and start time identify it, so a
    later process with the same pid is safe.
    """
    if not owner.is_here() or owner.pid == os.getpid():
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it ended by itself, or belongs to another user
        os.kill(owner.pid, signal.SIGKILL)
        return True
    return False
