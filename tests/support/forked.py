"""Processes of the tests' own: one server imports what a command of ours needs, and forks each of them in milliseconds.

One list for all of them, as only the last that is given counts.
"""

import multiprocessing

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        *(
            "reconcile.service.fork_server",
            "reconcile.cli.opening",
            "__main__",
            "tests.support.cli",
            "tests.support.runs",
            "tests.support.store",
            "psycopg",
            "pymysql",
            "alembic.command",
        ),
        *(
            "reconcile.app",
            "reconcile.guard",
            "reconcile.audit.log",
            "reconcile.doctor.checking",
            "reconcile.decisions.service",
            "reconcile.messages.delivery",
        ),
        *("reconcile.runs.dry_run", "reconcile.journal.effects", "reconcile.runs.runner", "reconcile.store.migrations"),
        *("reconcile.cli.commands", "reconcile.cli.running", "reconcile.cli.decisions", "reconcile.cli.log"),
        *(
            "connectors.sql.source",
            "connectors.files.source",
            "connectors.duck",
            "connectors.workbook.source",
            "notifications.file",
            "notifications.slack.channel",
        ),
        *("slack_sdk", "slack_sdk.errors", "rules.engines.embedded", "rules.engines.pushdown"),
        "pandas",  # pyarrow would load it in every process, to look whether a value is a frame
    ]
)
