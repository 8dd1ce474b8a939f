"""`reconcile serve` for a while, three processes of it, with everything around them failing now and then.

RECONCILE_SOAK_SECONDS is how long (60), RECONCILE_SEED where the faults come from (printed).
"""

import datetime as dt
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.audit import log
from reconcile.store import Store, tables
from reconcile.store import outbox as stored_outbox
from reconcile.store.triggers import last_success
from tests.product.chaos.soak import JOBS, Chaos, Fleet, Hook, Json, Soaked, Watch, again, at_work_in
from tests.support.serve import slots, until
from tests.support.servers import POSTGRES, scratch_database

SECONDS = float(os.environ.get("RECONCILE_SOAK_SECONDS") or 60)
SEED = int(os.environ.get("RECONCILE_SEED") or random.randrange(10**6))
OPEN = ("due", "running")

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.server, pytest.mark.timeout(SECONDS + 600)]


@pytest.fixture
def erp_url() -> Iterator[str]:
    yield from scratch_database(POSTGRES)


@pytest.fixture
def hook() -> Iterator[Hook]:
    item = Hook(random.Random(SEED + 1))
    yield item
    item.close()


@pytest.fixture
def soaked(tmp_path: Path, postgres_url: str, erp_url: str, hook: Hook) -> Iterator[Soaked]:
    item = Soaked(tmp_path, postgres_url, erp_url, hook.url)
    yield item
    item.close()


@pytest.fixture
def fleet(soaked: Soaked) -> Iterator[Fleet]:
    """Whoever finds a defect writes it into a folder of ours: a short path, for sockets are made there as well."""
    with tempfile.TemporaryDirectory(prefix="soak-", dir="/tmp") as defects:
        item = Fleet(soaked, {"TMPDIR": defects})
        yield item
        item.kill()


def test_whatever_fails_around_it_every_job_is_right_in_the_end_and_nothing_is_told_twice_or_lost(
    soaked: Soaked, fleet: Fleet, hook: Hook
) -> None:
    print(f"\nRECONCILE_SEED={SEED} RECONCILE_SOAK_SECONDS={SECONDS:g}")
    with soaked.store() as store:
        fleet.start()
        chaos, watch = Chaos(soaked, fleet, store, random.Random(SEED)), Watch(fleet, store)
        try:
            _soak(soaked, chaos, watch)
            calm = again(lambda: _now(store))
            _settle(soaked, store, hook)
            codes = fleet.stop()
        finally:
            print(_summary(store, chaos, watch, hook, soaked))

        assert codes == [0, 0, 0]
        _check_runs(store, watch, calm)
        _check_findings(soaked, store, hook, may_cut=bool(chaos.count("disk full") + chaos.count("server killed")))
        _check_servers(soaked, fleet, watch)


def _soak(soaked: Soaked, chaos: Chaos, watch: Watch) -> None:
    """All at once, until the time is over or one of them fails."""
    over = threading.Event()
    with ThreadPoolExecutor(3) as threads:
        at_work = [
            threads.submit(chaos.run, SECONDS, over),
            threads.submit(watch.run, over),
            threads.submit(_feed, soaked, chaos.store, over),
        ]
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not any(entry.done() and entry.exception() for entry in at_work):
            time.sleep(0.2)
        over.set()
    for item in at_work:
        item.result()


def _feed(soaked: Soaked, store: Store, over: threading.Event) -> None:
    """More records, and jobs that are asked for between their times."""
    chance = random.Random(SEED + 2)
    number = 0
    while not over.wait(chance.uniform(0.3, 1.5)):
        number += 1
        soaked.grow_somewhere(chance)
        soaked.ask(store, chance.choice(list(JOBS)), f"fed-{number}")


def _now(store: Store) -> dt.datetime:
    with store.read() as tx:
        return tx.now


def _settle(soaked: Soaked, store: Store, hook: Hook) -> None:
    """The faults are over: each job is due once more, and what waits for its next attempt need not wait for long."""
    hook.calm = True
    for job in JOBS:
        soaked.ask(store, job, "last")
    until(lambda: again(lambda: _is_settled(store)), 90, lambda: _unsettled(store))


def _is_settled(store: Store) -> bool:
    """Everything ended, and the next minute, which makes jobs due again, is some seconds away."""
    slot, box = tables.slots, tables.outbox
    with store.begin() as tx:
        waits = (slot.c.status == "due", slot.c.attempts > 0, slot.c.start_at > tx.now)
        tx.connection.execute(sa.update(slot).where(*waits).values(start_at=tx.now))
        tx.connection.execute(sa.update(box).where(box.c.status == "queued").values(next_at=tx.now))
        left = list(stored_outbox.listed(tx, "queued", "sending"))
        second = tx.now.second
    time.sleep(0.5)
    return not left and second < 50 and not any(item.status in OPEN for item in slots(store))


def _unsettled(store: Store) -> str:
    with store.read() as tx:
        left = [
            f"{item.channel} {item.status} {item.problem}" for item in stored_outbox.listed(tx, "queued", "sending")
        ]
    return str([slot for slot in slots(store) if slot.status in OPEN] + left)


# Afterwards


def _check_runs(store: Store, watch: Watch, calm: dt.datetime) -> None:
    """Every slot came to an end that is said, every run succeeded once at most, no job ran beside itself."""
    ended = slots(store)
    assert {item.status for item in ended} <= {"succeeded", "missed", "failed"}
    assert [item for item in ended if item.status != "succeeded" and not item.reason] == []
    with store.read() as tx:
        finished = [entry.body for entry in log.entries(tx, event="run.finished")]
        lasts = {job: last_success(tx, job) for job in JOBS}
        states = set(tx.connection.execute(sa.select(tables.runs.c.status)).scalars())
        assert list(stored_outbox.listed(tx, "queued", "sending", "failed")) == []
    successes = Counter(item["run"] for item in finished if item["status"] == "succeeded")
    assert [run for run, count in successes.items() if count > 1] == []
    assert "running" not in states
    assert watch.overlaps == []
    assert [job for job, last in lasts.items() if last is None or last.finished < calm] == []
    assert log.verify(store).intact


def _check_findings(soaked: Soaked, store: Store, hook: Hook, *, may_cut: bool) -> None:
    """The findings are those that a look at the sources finds; each was reported once, unchanged, in each channel."""
    remembered, fresh = _findings(soaked, "reconcile.yaml"), _findings(soaked, _looked_afresh(soaked))
    assert _as_found(remembered) == _as_found(fresh)
    witnessed, cut = soaked.witnessed()
    assert not cut or may_cut  # while the disk is full, each message that is tried leaves its beginning
    lines = (soaked.folder / "messages.jsonl").read_text().splitlines()
    assert [begun for begun in cut if not any(line.startswith(begun) and line != begun for line in lines)] == []
    with store.read() as tx:
        queued = {name: [m.message for m in stored_outbox.listed(tx) if m.channel == name] for name in ("team", "hook")}
    assert sorted(item["id"] for item in witnessed) == sorted(queued["team"])
    _check_told(remembered, witnessed)
    received: dict[str, set[bytes]] = defaultdict(set)
    for key, body in hook.taken:
        received[key].add(body)
    assert sorted(received) == sorted(queued["hook"])
    messages = [json.loads(body) for bodies in received.values() for body in bodies]
    assert sorted(message["id"] for message in messages) == sorted(queued["hook"])
    _check_told(remembered, messages)


def _looked_afresh(soaked: Soaked) -> str:
    file = soaked.write_fresh().name
    command = [sys.executable, "-m", "reconcile", "run", "--quiet", "-c", file]
    subprocess.run(command, cwd=soaked.folder, check=False, timeout=120)
    return file


def _findings(soaked: Soaked, file: str) -> list[Json]:
    command = [sys.executable, "-m", "reconcile", "findings", "--json", "--all", "-c", file]
    report = subprocess.run(command, cwd=soaked.folder, capture_output=True, check=True, timeout=120)
    values: list[Json] = json.loads(report.stdout)
    return values


def _as_found(findings: Iterable[Json]) -> list[Any]:
    return sorted(
        [finding["rule"], finding["key"]["ref"], finding["keeper"], finding["surplus"], finding["state"]]
        for finding in findings
    )


def _check_told(values: Iterable[Json], messages: Iterable[Json]) -> None:
    """Each state of each finding at most once, as new once, and the last state is among what was told."""
    rules = [rule for message in messages for rule in message["rules"]]
    assert [item for item in rules if item["new"] + item["grown"] + item["reopened"] != len(item["largest"])] == []
    told = [(group["finding"], group["state"], tuple(group["surplus"])) for item in rules for group in item["largest"]]
    surplus = {item["id"]: tuple(str(record[0]) for record in item["surplus"]) for item in values}
    assert [item for item, count in Counter((name, records) for name, _, records in told).items() if count > 1] == []
    assert Counter(name for name, state, _ in told if state == "new") == Counter(surplus.keys())
    assert {(name, records) for name, _, records in told} >= set(surplus.items())


def _check_servers(soaked: Soaked, fleet: Fleet, watch: Watch) -> None:
    """Nothing grew, nothing is left, and nobody met a defect."""
    for pid in watch.memory:
        (first, last), (few, many) = _thirds(watch.memory[pid]), _thirds(watch.handles[pid])
        assert last <= first * 1.15, f"memory of {pid}: {watch.memory[pid]}"
        assert many <= few + 10, f"handles of {pid}: {watch.handles[pid]}"
    assert watch.zombies == set()
    until(lambda: at_work_in(soaked.folder) == [], 15, lambda: f"left at work: {at_work_in(soaked.folder)}")
    defects = Path(fleet.environ["TMPDIR"]).glob("reconcile-defect-*")
    assert [defect.read_text(encoding="utf-8") for defect in defects] == []
    lines = [line for item in fleet.every for line in item.lines]
    assert [item for item in lines if item["event"] == "text" and "Traceback" in item["text"]] == []
    assert [item for item in lines if item["event"] == "duty.failed" and "defect" in item["why"]] == []


def _thirds(samples: list[int]) -> tuple[float, float]:
    """The middle of the first third, and of the last."""
    third = max(1, len(samples) // 3)
    return statistics.median(samples[:third]), statistics.median(samples[-third:])


def _summary(store: Store, chaos: Chaos, watch: Watch, hook: Hook, soaked: Soaked) -> str:
    """What `make soak` prints."""
    with store.read() as tx:
        events = Counter(entry.event for entry in log.entries(tx))
        rows = Counter(tx.connection.execute(sa.select(tables.runs.c.status)).scalars())
        result = tx.connection.execute(sa.select(sa.func.count()).select_from(tables.findings)).scalar_one()
        boxes = Counter(f"{item.channel} {item.status}" for item in stored_outbox.listed(tx))
    shown: list[tuple[str, object]] = [
        ("seed, seconds", f"{SEED}, {SECONDS:g}"),
        ("slots", dict(Counter(slot.status for slot in slots(store)))),
        ("runs", dict(rows)),
        ("resumed, interrupted", f"{events['run.resumed']}, {events['run.interrupted']}"),
        ("rules failed, slots rescued", f"{events['rule.failed']}, {events['slot.rescued']}"),
        ("findings", result),
        ("messages", dict(boxes)),
        ("sent again", events["message.retry"]),
        ("webhook", f"{len(hook.taken)} taken, of {len({key for key, _ in hook.taken})}; ill: {dict(hook.trouble)}"),
        ("state connections", soaked.state_proxy.connections),
        ("faults", f"{len(chaos.noted)}, {sum(took for _, _, took in chaos.noted) / SECONDS:.0%} of the time"),
    ]
    shown += [(f"  at {at:5.1f} s", f"{kind}, {took:.1f} s") for at, kind, took in chaos.noted]
    for number, pid in enumerate(watch.memory):
        first, last = _thirds(watch.memory[pid])
        few, many = _thirds(watch.handles[pid])
        shown.append((f"survivor {number}", f"{first / 1e6:.1f} -> {last / 1e6:.1f} MB, {few:g} -> {many:g} handles"))
        samples = watch.memory[pid]
        every = samples[:: max(1, len(samples) // 10)]
        shown.append(("  its memory, MB", " ".join(f"{item / 1e6:.0f}" for item in every)))
    return "\n".join(f"{name:28} {what}" for name, what in shown)
