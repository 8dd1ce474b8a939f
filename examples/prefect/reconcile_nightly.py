"""One job of Reconcile as a flow of Prefect 3: the time its run was due is the slot, and only what a repeat can help is
repeated. `python reconcile_nightly.py` serves it."""

import json
import subprocess

from prefect import flow, task
from prefect.runtime import flow_run
from prefect.schedules import Cron

PROJECT = "/srv/reconcile"
COMMAND = ["/opt/reconcile/bin/reconcile", "run", "nightly", "--slot", "{slot}", "--json", "--quiet"]


class WorthARepeat(Exception):
    """A source, a channel or the state failed; the same slot again goes on from there."""


def is_worth_a_repeat(_task, _task_run, state):
    return isinstance(state.result(raise_on_failure=False), WorthARepeat)


@task(retries=6, retry_delay_seconds=300, retry_condition_fn=is_worth_a_repeat, timeout_seconds=3 * 3600)
def check(slot):
    command = [word.format(slot=slot) for word in COMMAND]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own words
        try:
            out, _ = process.communicate()
        except BaseException:
            process.terminate()  # a time-out or somebody's stop: what was finished is kept
            raise
    code = process.returncode
    if code == 3:
        raise WorthARepeat("a source, a channel or the state failed; see the log")
    if code not in (0, 1):  # 1 only with --fail-on: a finding is open, which is no failure of the task
        raise RuntimeError(f"reconcile ended with {code}; its log says why, and a repeat would not help")
    report = json.loads(out)
    return {"run": report["run"], "status": report["status"], "findings": len(report["findings"])}


@flow(name="reconcile-nightly")
def reconcile_nightly():
    return check(flow_run.scheduled_start_time.isoformat())


if __name__ == "__main__":
    reconcile_nightly.serve(schedule=Cron("15 6 * * *", timezone="Europe/Berlin"), limit=1)
