"""The imports of the process from which runs are forked: everything a run needs, and nothing that runs.

Importing this module is its only effect; nothing here is called.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import pkgutil

import numpy.ma

import connectors.files.source
import connectors.sql.source
import notifications.http
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

IN_FULL = (
    *("rules.binding", "rules.groups", "rules.kinds", "reconcile.cleaning", "reconcile.audit", "reconcile.views"),
    *("reconcile.journal", "connectors.sql.catalogue", "connectors.sql.cleaning", "connectors.sql.witness"),
)
"""Packages whose modules are imported late, so that commands start soon. Each run would import them again."""

for _package in map(importlib.import_module, IN_FULL):
    for _module in pkgutil.walk_packages(_package.__path__, f"{_package.__name__}."):
        importlib.import_module(_module.name)
leave_pandas_alone()
gc.freeze()  # modules are not garbage, and untouched pages stay shared with every run
atexit.register(gc.unfreeze)  # otherwise DuckDB reports at exit that its own types leaked
