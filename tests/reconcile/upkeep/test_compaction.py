"""Compaction: what is old and over goes, what anything points at stays, and the log can still be verified."""

import datetime as dt
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from notifications.base import Notice
from reconcile import config
from reconcile.app import Application
from reconcile.audit import log
from reconcile.config.settings import Retention
from reconcile.findings.results import summary_of
from reconcile.messages import outbox
from reconcile.runs.report import RunReport
from reconcile.store import Store, tables
from reconcile.upkeep import compaction
from tests.support import filled
from tests.support.runs import NEXT, START, ChargesProject, twice
from tests.support.servers import STATE
from tests.support.store import FixedClock

ENDED = dt.datetime(2020, 11, 20, 12, 5, tzinfo=dt.UTC)
DETAILS_OLD = ENDED + dt.timedelta(days=91)
ALL_OLD = ENDED + dt.timedelta(days=401)
RETENTION = Retention()
HISTORY = tuple(f"run1_h{n}" for n in range(8))
"""Runs of the job nightly, later ones with higher fences; the one before the last could not be checked."""


def build(url: str, root: Path) -> None:
    """A store with rows in every state, and some more runs of the job that nothing but their counts point at."""
    filled.build(url, root)
    stats = {"dataset": "charges", "rule": "old-rule", "read": 4, "skipped": 0, "groups": 1}
    with filled.connected(url, root) as connection:
        rows = {
            "releases": [{"hash": "ef" * 32, "config": "{}", "first_seen": filled.AT}],
            "runs": [_run(n, name) for n, name in enumerate(HISTORY)],
            "run_rules": [_outcome(name) for name in HISTORY],
            "dataset_stats": [
                stats | {"run": name, "at": f"2020-11-20T12:0{n}:30.000000Z", "scanned": 4 if n < 3 else 0}
                for n, name in enumerate(HISTORY)
            ],
            "outbox": [filled.message_row("m-untold", "sent", run=HISTORY[0])],
        }
        for name, some in rows.items():
            filled.fill(connection, name, some)


def _run(number: int, name: str) -> filled.Row:
    status = "failed" if number == len(HISTORY) - 2 else "succeeded"
    row = filled.run_row(name, f"2020-11-20T12:0{number}:00.000000Z", status, fence=20 + number)
    return row | {"release": filled.RELEASE if number else "ef" * 32}


def _outcome(name: str) -> filled.Row:
    [sample] = [row for row in filled.ROWS[tables.FIRST_REVISION]["run_rules"] if row["run"] == "run1_good"]
    return sample | {"run": name}


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(ALL_OLD)


@pytest.fixture
def store(url: str, tmp_path: Path, clock: FixedClock) -> Iterator[Store]:
    build(url, tmp_path)
    with Store.open(url, tmp_path, clock=clock) as store:
        yield store


def names(rows: list[filled.Row], column: str) -> list[Any]:
    return sorted(row[column] for row in rows)


@pytest.mark.slow
def test_nothing_happens_while_nothing_is_old(store: Store, url: str, tmp_path: Path, clock: FixedClock) -> None:
    clock.now = ENDED + dt.timedelta(hours=23)
    before = filled.stored(url, tmp_path)

    assert not compaction.compact(store, RETENTION, undo_window=dt.timedelta(days=90))

    assert filled.stored(url, tmp_path) == before


@pytest.mark.slow
def test_a_run_deletes_old_data_once_a_day_without_a_server(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop").add(*twice(1, "A-1"))
    build(shop.state, shop.folder)
    clock = FixedClock(ALL_OLD)
    counts = []
    with Store.open(shop.state, shop.folder, key=filled.KEY, clock=clock) as store:
        application = Application(config.load(shop.folder / "reconcile.yaml", shop.environ), store=store)
        for hours in (1, 1, 24):
            application.run("nightly", slot=clock.now)
            with store.read() as tx:
                counts.append(len(list(log.entries(tx, event="store.compacted"))))
                left = tx.connection.execute(sa.select(tables.runs.c.id).where(tables.runs.c.id == HISTORY[0])).all()
            clock.now += dt.timedelta(hours=hours)

    assert counts[:2] == [1, 1]
    assert left == []


def test_what_records_held_goes_once_nobody_can_undo_it_and_what_is_not_over_keeps_it(
    store: Store, url: str, tmp_path: Path
) -> None:
    over = {"succeeded", "failed", "skipped", "compensated"}

    compaction.compact(store, RETENTION, undo_window=dt.timedelta(days=60))

    plans = filled.stored(url, tmp_path)["plans"]
    gone = [plan for plan in plans if plan["content"] is None]
    assert {item["state"] for item in gone} == over & {plan["state"] for plan in plans} != set()
    assert all(item["outcome"] is None and item["plan_hash"] for item in gone)
    assert all(plan["content"] for plan in plans if plan["state"] not in over)


def test_old_reports_shrink_to_counts_that_can_still_be_read(
    store: Store, url: str, tmp_path: Path, clock: FixedClock
) -> None:
    clock.now = DETAILS_OLD
    before = {row["id"]: row for row in filled.stored(url, tmp_path)["runs"]}

    done = compaction.compact(store, RETENTION)

    after = {row["id"]: row for row in filled.stored(url, tmp_path)["runs"]}
    shrunk = {name for name in before if before[name] != after[name]}
    assert shrunk == {"run1_good", "run1_bad", *HISTORY[:-1]}
    assert done.counts["reports"] == len(shrunk)
    summary = json.loads(after[HISTORY[0]]["summary"])
    report = RunReport.of(summary_of(summary), ()).to_json()
    [rule] = report["rules"]
    assert (rule["groups"], rule["money"], rule["read"], rule["skipped"]) == (1, {"EUR": "20.00"}, 4, [])
    assert "row 7" not in after[HISTORY[0]]["summary"]
    assert "row 7" in after[HISTORY[-1]]["summary"]


def test_old_checkpoints_shrink_too_and_a_failed_one_keeps_its_sentence(
    store: Store, url: str, tmp_path: Path, clock: FixedClock
) -> None:
    clock.now = DETAILS_OLD

    compaction.compact(store, RETENTION)

    outcomes = {row["run"]: json.loads(row["outcome"]) for row in filled.stored(url, tmp_path)["run_rules"]}
    assert outcomes["run1_bad"]["failed"] == "no answer"
    assert outcomes["run1_good"]["skipped"] == []
    assert outcomes[filled.RUNNING]["skipped"] != []
    assert outcomes[HISTORY[-1]]["skipped"] != []


@pytest.mark.slow
def test_the_text_of_a_delivered_message_goes_and_the_message_is_still_known(
    store: Store, url: str, tmp_path: Path, clock: FixedClock
) -> None:
    notice = Notice(id="m-new", job="nightly", run="run1_good", slot=ENDED)
    clock.now = ENDED
    with store.begin() as tx:
        outbox.enqueue(tx, "team", notice)
        mine = sa.update(tables.outbox).where(tables.outbox.c.message == "m-new")
        tx.connection.execute(mine.values(status="sent", sent_at=tx.now, receipt={"where": "file", "details": {}}))
    clock.now = DETAILS_OLD

    assert compaction.compact(store, RETENTION).counts["texts"] == 3

    after = {row["message"]: row for row in filled.stored(url, tmp_path)["outbox"]}
    assert set(json.loads(after["m-new"]["notice"])) == {"blanked"}
    assert after["m-new"]["receipt"] is not None
    assert json.loads(after["m-failed"]["notice"])["id"] == "m-failed"
    assert json.loads(after["m-queued"]["notice"])["id"] == "m-queued"
    with store.begin() as tx:
        assert outbox.enqueue(tx, "team", notice) is False
        with pytest.raises(outbox.MessageConflict):
            outbox.enqueue(tx, "team", Notice(id="m-new", job="nightly", run="run1_bad", slot=ENDED))


def test_runs_that_nothing_points_at_go_and_the_last_ones_stay(store: Store, url: str, tmp_path: Path) -> None:
    compaction.compact(store, RETENTION)

    after = filled.stored(url, tmp_path)
    kept = {
        "run1_good": "findings began with it",
        "run1_bad": "a failure began with it",
        filled.RUNNING: "it is under way",
        HISTORY[2]: "the last in which a record passed",
        HISTORY[5]: "one of the three latest of its rule",
        HISTORY[6]: "one of the three latest of its rule",
        HISTORY[7]: "the last of its job",
    }
    assert names(after["runs"], "id") == sorted(kept)
    assert names(after["dataset_stats"], "run") == sorted(HISTORY[n] for n in (2, 5, 6, 7))
    assert names(after["run_rules"], "run") == sorted([filled.RUNNING, HISTORY[7]])
    assert names(after["outbox"], "message") == ["m-queued", "m-sending", "m-sent"]
    assert names(after["slots"], "status") == ["due", "running"]
    assert names(after["releases"], "hash") == [filled.RELEASE, "cd" * 32]  # with runs, and the newest
    assert len(after["findings"]) == 6


def test_the_last_run_and_the_last_success_of_a_job_stay_for_ever(store: Store, url: str, tmp_path: Path) -> None:
    rows = [("good", "succeeded", 1), ("bad", "failed", 2), ("worse", "failed", 3)]
    with filled.connected(url, tmp_path) as connection:
        slot = "2020-11-20T12:0{}:00.000000Z"
        runs = [filled.run_row(f"run1_{n}", slot.format(f), s, job="rare", fence=f) for n, s, f in rows]
        filled.fill(connection, "runs", [row | {"id": f"{row['id']}_rare"} for row in runs])

    compaction.compact(store, RETENTION)

    after = names(filled.stored(url, tmp_path)["runs"], "id")
    assert [name for name in after if "rare" in name] == ["run1_good_rare", "run1_worse_rare"]


def test_the_log_stays_whole_and_tells_once_what_went(store: Store) -> None:
    done = compaction.compact(store, RETENTION, actor="eve")
    assert not compaction.compact(store, RETENTION)

    verified = log.verify(store)
    assert (verified.intact, verified.entries) == (True, 6)  # two of them say that the images went
    with store.read() as tx:
        [entry] = log.entries(tx, event="store.compacted")
    assert entry.body["counts"] == done.counts
    assert entry.actor == "eve"
    assert entry.body["runs_before"] == "2020-11-21T12:05:00.000000Z"


def test_a_dry_run_counts_exactly_what_would_go_and_touches_nothing(store: Store, url: str, tmp_path: Path) -> None:
    before = filled.stored(url, tmp_path)

    compacted = compaction.compact(store, RETENTION, dry_run=True)

    assert filled.stored(url, tmp_path) == before
    assert compaction.compact(store, RETENTION).counts == compacted.counts


def test_small_steps_come_to_the_same(store: Store, url: str, tmp_path: Path) -> None:
    compacted = compaction.compact(store, RETENTION, dry_run=True)

    assert compaction.compact(store, RETENTION, limit=2).counts == compacted.counts

    assert not compaction.compact(store, RETENTION)
    assert len(filled.stored(url, tmp_path)["runs"]) == 7


def test_nothing_points_at_what_is_gone(store: Store, url: str, tmp_path: Path) -> None:
    """On SQLite the rows are deleted without a look at who points at them."""
    compaction.compact(store, RETENTION)

    if url == STATE:
        with store.read() as tx:
            assert tx.connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
        with pytest.raises(sa.exc.IntegrityError), store.begin() as tx:  # and references count again afterwards
            tx.connection.execute(sa.delete(tables.releases))


@pytest.mark.slow
def test_a_compaction_that_is_killed_is_gone_on_with(url: str, tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop", url)
    shop.config["retention"] = {"details": "1d", "runs": "2d"}
    shop.write()
    build(url, shop.folder)
    through = shop.held("compact", "--dry-run").ready().go()
    planned = through.end().out
    first = through.statements

    for moment in range(first + 3, first + 40, 9):
        killed = shop.held("compact", dies_at=moment).ready().go().end()
        assert killed.code in (0, -signal.SIGKILL)
        with Store.open(url, shop.folder) as store:
            assert log.verify(store).intact

    assert "runs: " in planned
    shop.cli("compact")
    with Store.open(url, shop.folder, clock=FixedClock(ALL_OLD)) as store:
        assert not compaction.compact(store, RETENTION)
    assert len(filled.stored(url, shop.folder)["runs"]) == 7


@pytest.mark.slow
def test_the_command_says_what_went_and_an_old_slot_is_still_known(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop").add(*twice(1, "A-1"))
    shop.config["retention"] = {"details": "1d", "runs": "400d"}
    shop.write()
    shop.run("--slot", START)
    shop.run("--slot", NEXT)
    with filled.connected(shop.state, shop.folder) as connection:
        connection.execute(sa.text("UPDATE runs SET finished = '2026-01-01T00:00:00.000000Z'"))
        connection.execute(sa.text("UPDATE outbox SET sent_at = '2026-01-01T00:00:00.000000Z'"))

    planned, done, again = (shop.cli("compact", *words) for words in (("--dry-run", "--json"), (), ("--json",)))

    assert planned.json == {"dry_run": True, "counts": {"reports": 1, "outcomes": 1, "texts": 1}}
    assert done.out == "reports: 1\noutcomes: 1\ntexts: 1\n"
    assert again.json == {"dry_run": False, "counts": {}}
    repeated = shop.run("--slot", START)
    assert repeated.json["repeated"] is True
    assert repeated.counts == {"new": 1}
    assert shop.cli("notify", "preview", "team").code == 0
    assert len(shop.messages()) == 1
    assert shop.intact()
