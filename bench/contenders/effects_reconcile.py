"""Deletes through the journal: planned and approved before, carried out here, so many at a time.

`effects_reconcile.py URL TABLE FIRST COUNT FOLDER BATCH together|apart`: the folder has the configuration and the
approved plans; all workers claim them until none is left. BATCH plans are claimed at once; `apart`: each in its own
transaction of the target.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bench.effects_clock import Clock
from reconcile import config
from reconcile.app import Application
from reconcile.cleaning.execution import executor
from reconcile.cleaning.execution.terms import Terms


def main() -> None:
    folder, batch, how = sys.argv[5:8]
    os.chdir(folder)
    executor.BATCH = int(batch)
    clock = Clock()
    with Application(config.load(Path("reconcile.yaml"))) as application:
        tools = executor.ExecutionContext(
            application.store,
            Terms(application.project),
            application.target,
            application.subject,
            together=how == "together",
        )
        application.target("shop").identity()
        clock.begin()
        tally = executor.execute_plans(tools)
        clock.end(tally.counts["cleaned"])


if __name__ == "__main__":
    main()
