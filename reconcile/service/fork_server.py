"""What the process that runs are forked from has loaded: everything a run of ours needs, and nothing that runs.

Importing this module is what it does; nobody calls anything here.
"""

from __future__ import annotations

import atexit
import gc

import numpy.ma

import connectors.files.source
import connectors.sql.source
import notifications.wording.render
import reconcile.detection.bounded
import reconcile.messages.delivery
import reconcile.runs.runner
import reconcile.service.children
import reconcile.telemetry.logs
import rules.engines.embedded
import rules.engines.pushdown
from reconcile.detection.pandas_unseen import leave_pandas_alone

__all__ = ("connectors", "notifications", "numpy", "reconcile", "rules")

leave_pandas_alone()
gc.freeze()  # modules are no garbage, and pages that nobody looks through stay shared with every run
atexit.register(gc.unfreeze)  # else DuckDB reports at the end that its own types have leaked
