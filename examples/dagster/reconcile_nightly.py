"""One job of Reconcile as a job of Dagster: the time a tick was due is the slot, and only what a repeat can help is
repeated."""

import json
import subprocess

import dagster as dg

PROJECT = "/srv/reconcile"
COMMAND = ["/opt/reconcile/bin/reconcile", "run", "nightly", "--slot", "{slot}", "--json", "--quiet"]


class Due(dg.Config):
    slot: str


@dg.op
def check(context: dg.OpExecutionContext, config: Due) -> None:
    command = [word.format(slot=config.slot) for word in COMMAND]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own words
        try:
            out, _ = process.communicate()
        except BaseException:
            process.terminate()  # somebody stopped the run: what was finished is kept
            raise
    code = process.returncode
    if code == 3:  # a source, a channel or the state failed; the same slot again goes on from there
        raise dg.RetryRequested(max_retries=6, seconds_to_wait=300)
    if code not in (0, 1):  # 1 only with --fail-on: a finding is open, which is no failure of the op
        raise dg.Failure(f"reconcile ended with {code}; its log says why", allow_retries=False)
    report = json.loads(out)
    context.add_output_metadata({"run": report["run"], "status": report["status"], "findings": len(report["findings"])})


@dg.job
def reconcile_nightly() -> None:
    check()


@dg.schedule(job=reconcile_nightly, cron_schedule="15 6 * * *", execution_timezone="Europe/Berlin")
def every_morning(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    slot = context.scheduled_execution_time.isoformat()
    return dg.RunRequest(run_key=slot, run_config=dg.RunConfig(ops={"check": Due(slot=slot)}))


definitions = dg.Definitions(jobs=[reconcile_nightly], schedules=[every_morning])
