"""The cost of `serve`: the delay of runs with 500 jobs in one process, and its memory over 100,000 slots.

`python -m bench.serving memory SLOTS` is the process whose memory is measured.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

JOBS = 500


def lag(jobs: int, seconds: int) -> str:
    """One process with so many jobs over a small file, each due every ten minutes, spread by their jitter."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        _write(folder, {f"job-{n}": _spread(n) for n in range(jobs)})
        process = subprocess.Popen(
            [sys.executable, "-m", "reconcile", "serve", "--quiet"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        )
        time.sleep(seconds)
        peak = _peak(process.pid)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        late = sorted(_late(folder))
    if len(late) < 20:
        raise SystemExit(f"only {len(late)} runs started in {seconds} s: too few to say anything")
    rows = [f"{len(late)}", *(f"{_quantile(late, q):.2f}" for q in (0.5, 0.99)), f"{late[-1]:.2f}", f"{peak:.0f}"]
    return _table(("runs started", "median s", "p99 s", "max s", "peak MB of the server"), rows)


def memory(slots: int) -> str:
    """A simulated clock in a separate process: every slot is planned, claimed and completed."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.serving", "memory", str(slots)], capture_output=True, text=True, check=True
    )
    measured = json.loads(done.stdout)
    rows = [f"{measured['slots']:,}", *(f"{mb:.0f}" for mb in measured["megabytes"]), str(measured["handles"])]
    headings = ("slots", *(f"MB after {share} %" for share in (20, 40, 60, 80, 100)), "more file handles")
    return _table(headings, rows)


def _spread(number: int) -> dict[str, object]:
    return {"schedule": {"cron": f"{number % 10}-59/10 * * * *", "jitter": "1m"}}


def _write(folder: Path, jobs: dict[str, dict[str, object]]) -> Path:
    (folder / "charges.csv").write_text("id,order\n1,A\n2,A\n3,B\n")
    written = {
        "listen": "none",
        "sources": {"shop": {"type": "files"}},
        "datasets": {"charges": {"source": "shop", "path": "charges.csv", "id": "id"}},
        "rules": {"twice": {"kind": "duplicates", "dataset": "charges", "key": ["order"]}},
        "jobs": {name: {"rules": ["twice"], **job} for name, job in jobs.items()},
    }
    (folder / "reconcile.yaml").write_text(json.dumps(written))
    return folder / "reconcile.yaml"


def _late(folder: Path) -> Iterator[float]:
    """Seconds between each run's planned and actual start, both by the store's clock."""
    import sqlalchemy as sa

    from reconcile.store import Store, tables

    runs, slots = tables.runs, tables.slots
    query = sa.select(runs.c.started, slots.c.start_at).join(
        slots, sa.and_(slots.c.job == runs.c.job, slots.c.slot == runs.c.slot)
    )
    with Store.open("sqlite:///reconcile.db", folder) as store, store.read() as tx:
        for row in tx.connection.execute(query):
            yield (row.started - row.start_at).total_seconds()


def _peak(pid: int) -> float:
    line = next(text for text in Path(f"/proc/{pid}/status").read_text().splitlines() if text.startswith("VmHWM"))
    return int(line.split()[1]) / 1000


def _quantile(values: Sequence[float], share: float) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[round(share * 100) - 1]


def _table(headings: Sequence[str], row: Sequence[str]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, ["---"] * len(headings), row))


def _simulate(slots: int) -> None:
    """Print the resident megabytes after each fifth of the slots, and the number of added file handles."""
    from reconcile import config
    from reconcile.coordination import clock
    from reconcile.service.scheduler import Scheduler
    from reconcile.service.workers import RunOutcome, Workers
    from reconcile.store import Store

    class Done:
        """A run that succeeds at once."""

        def ended(self) -> RunOutcome:
            return RunOutcome("succeeded")

        def rule(self) -> None:
            return None

        def stop(self) -> None:
            raise AssertionError("nothing is stopped here")

        kill = stop

    now, jobs = dt.datetime(2026, 1, 1, tzinfo=dt.UTC), 50
    began, ended, megabytes = now, 0, []

    def heard(_row: object, _ended: object) -> None:
        nonlocal ended
        ended += 1

    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        path = _write(Path(name), {f"job-{n}": {"schedule": "* * * * *"} for n in range(jobs)})
        project = config.load(path, {})
        with Store.open("sqlite:///reconcile.db", Path(name), clock=lambda: now) as store:
            host = lambda: clock.HostTime("here", int((now - began).total_seconds() * 1e9))  # noqa: E731
            scheduler = Scheduler(store, host)
            workers = Workers(store, lambda _project, _row: Done(), heard)
            scheduler.tick(project)
            handles = 0
            while ended < slots:
                now += dt.timedelta(minutes=1)
                scheduler.tick(project)
                due = ended + jobs
                while ended < due:
                    workers.tick(project)
                handles = handles or _handles()
                if ended * 5 // slots > len(megabytes):
                    megabytes.append(_resident())
            print(json.dumps({"slots": ended, "megabytes": megabytes, "handles": _handles() - handles}))


def _handles() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


if __name__ == "__main__":
    _simulate(int(sys.argv[2]))
