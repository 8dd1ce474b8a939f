"""Before a plan is taken over on this host, the process that had it is ended: its claim is over; it must not act."""

from __future__ import annotations

import contextlib
import os
import signal

from reconcile.coordination.lease import Owner


def end(owner: Owner) -> bool:
    """Kill the process that is named, if it is on this host, still there and not this one; whether it was.

    Only for an owner whose claim is over: it was stopped, swapped out or hangs. Its pid and start time name it, so that
    a later process with its pid is left alone.
    """
    if not owner.is_here() or owner.pid == os.getpid():
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it ended by itself, or is another user's
        os.kill(owner.pid, signal.SIGKILL)
        return True
    return False
