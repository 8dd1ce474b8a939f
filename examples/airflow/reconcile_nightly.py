"""One job of Reconcile as a DAG of Airflow 3: its due time is the slot, and only what a repeat can help is repeated."""

import json
import subprocess
from datetime import UTC, datetime, timedelta

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

PROJECT = "/srv/reconcile"
COMMAND = ["/opt/reconcile/bin/reconcile", "run", "nightly", "--slot", "{slot}", "--json", "--quiet"]


@task(retries=6, retry_delay=timedelta(minutes=5), execution_timeout=timedelta(hours=3))
def check(data_interval_end=None):
    # The end of the interval is when the run is due, with both of Airflow's cron timetables. A run that somebody
    # started by hand may have none; then the slot is left out and each start is a run of its own.
    due = data_interval_end.isoformat() if data_interval_end else None
    words = COMMAND if due else [word for word in COMMAND if word not in ("--slot", "{slot}")]
    command = [word.format(slot=due) for word in words]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own words
        try:
            out, _ = process.communicate()
        except BaseException:
            process.terminate()  # a time-out or somebody's stop: what was finished is kept
            raise
    code = process.returncode
    if code == 3:
        raise AirflowException("a source, a channel or the state failed; the same slot again goes on from there")
    if code in (0, 1):  # 1 only with --fail-on: a finding is open, which is no failure of the task
        report = json.loads(out)
        return {"run": report["run"], "status": report["status"], "open": len(report["findings"])}
    raise AirflowFailException(f"reconcile ended with {code}; its log says why, and a repeat would not help")


@dag(
    schedule="15 6 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    tags=["reconcile"],
)
def reconcile_nightly():
    check()


reconcile_nightly()
