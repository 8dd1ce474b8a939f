"""Leases with real processes: killed, stopped, woken up again; and the clocks that must not matter."""

import datetime as dt
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.cleaning.execution import admission
from reconcile.coordination import lease
from reconcile.coordination.lease import Lease, LeaseHeld, LeaseLost
from reconcile.messages import delivery
from reconcile.runs import runner
from reconcile.service import scheduler, workers
from reconcile.store import Store, errors, tables
from tests.support.servers import STATE
from tests.support.store import FixedClock, Program, in_parallel, store

__all__ = ["store"]

MINUTE = dt.timedelta(minutes=1)
BRIEF = dt.timedelta(milliseconds=300)

HOLD = """
with Store.open(url, root) as store:
    mine = lease.acquire(store, "job", dt.timedelta(milliseconds=60000))
    print(mine.fence)
    wait()
    try:
        with store.begin() as tx:
            lease.check(tx, mine)
            tx.connection.execute(sa.update(tables.audit_head).values(seq=99))
        print("wrote")
    except lease.LeaseLost:
        print("lost")
"""


@pytest.fixture
def holder(url: str, store: Store, tmp_path: Path) -> Iterator[Program]:
    """Another process that holds the lease `job` for a minute."""
    program = Program(HOLD, url, tmp_path).ready().go()
    assert program.line() == "1"
    yield program
    program.kill()


def taken(store: Store, name: str = "job", ttl: dt.timedelta = MINUTE) -> Lease:
    got = lease.acquire(store, name, ttl)
    assert isinstance(got, Lease), got
    return got


def await_lease(store: Store) -> Lease:
    """The lease, as soon as its owner's time is over."""
    deadline = time.monotonic() + 20
    while isinstance(got := lease.acquire(store, "job", MINUTE), LeaseHeld):
        assert time.monotonic() < deadline
    return got


def rewrite_owner(store: Store, **changes: object) -> None:
    with store.begin() as tx:
        owner = tx.connection.execute(sa.select(tables.leases.c.owner)).scalar_one()
        tx.connection.execute(sa.update(tables.leases).values(owner=owner | changes))


def number(store: Store) -> int:
    with store.read() as tx:
        return int(tx.connection.execute(sa.select(tables.audit_head.c.seq)).scalar_one())


def test_a_lease_is_held_by_one_until_it_is_given_back_and_each_owner_has_a_higher_fence(store: Store) -> None:
    first = taken(store)

    held = lease.acquire(store, "job", MINUTE)
    lease.release(store, first)
    second = taken(store)

    assert isinstance(held, LeaseHeld)
    assert held.by.pid == os.getpid()
    assert str(held.by).startswith(f"process {os.getpid()} on ")
    assert held.until == first.until
    assert (first.fence, second.fence) == (1, 2)


def test_leases_of_different_names_do_not_meet(store: Store) -> None:
    assert taken(store, "a").fence == taken(store, "b").fence == 1


@pytest.mark.slow
def test_eight_processes_that_want_a_free_lease_give_it_to_one(url: str, store: Store, tmp_path: Path) -> None:
    code = """
    with Store.open(url, root, patience=dt.timedelta(seconds=30)) as store:
        got = lease.acquire(store, "job", dt.timedelta(minutes=1))
        print(type(got).__name__)
        wait()
    """
    programs = [Program(code, url, tmp_path).ready() for _ in range(8)]
    for program in programs:
        program.go()

    answers = [item.line() for item in programs]

    assert sorted(answers) == ["Lease"] + ["LeaseHeld"] * 7
    assert [item.go().end() for item in programs] == [""] * 8


def test_a_live_owner_keeps_its_lease(store: Store, holder: Program) -> None:
    got = lease.acquire(store, "job", MINUTE)

    assert isinstance(got, LeaseHeld)
    assert got.by.pid == holder.pid


def test_the_lease_of_a_killed_process_is_free_at_once(store: Store, holder: Program) -> None:
    holder.kill()

    assert taken(store).fence == 2


def test_a_killed_process_nobody_buried_is_dead_too(store: Store) -> None:
    taken(store)
    corpse = subprocess.Popen(["sleep", "60"])
    started = lease._process_started(corpse.pid)
    rewrite_owner(store, pid=corpse.pid, started=started)
    alive = lease.acquire(store, "job", MINUTE)

    corpse.kill()
    os.waitid(os.P_PID, corpse.pid, os.WEXITED | os.WNOWAIT)

    assert isinstance(alive, LeaseHeld)
    assert taken(store).fence == 2
    corpse.wait()


def test_a_later_process_with_the_same_pid_is_not_the_owner(store: Store, holder: Program) -> None:
    rewrite_owner(store, started=1)

    assert taken(store).fence == 2


@pytest.mark.slow
def test_a_stopped_owner_that_wakes_up_after_a_take_over_writes_nothing(url: str, store: Store, tmp_path: Path) -> None:
    zombie = Program(HOLD.replace("60000", "300"), url, tmp_path).ready().go()
    assert zombie.line() == "1"
    zombie.signal(signal.SIGSTOP)

    mine = await_lease(store)
    zombie.go()
    zombie.signal(signal.SIGCONT)

    assert zombie.end() == "lost"
    assert number(store) == 0
    assert mine.fence == 2


def test_an_owner_that_was_late_but_not_replaced_goes_on(url: str, store: Store, tmp_path: Path) -> None:
    late = Program(HOLD.replace("60000", "0"), url, tmp_path).ready().go()
    late.line()

    assert late.go().end() == "wrote"


def test_a_wall_clock_set_forward_takes_no_lease_on_sqlite(tmp_path: Path) -> None:
    clock = FixedClock()
    with Store.open(STATE, tmp_path, clock=clock) as store:
        taken(store)

        clock.sleep(30 * 86_400)

        assert isinstance(lease.acquire(store, "job", MINUTE), LeaseHeld)


def test_a_wall_clock_set_back_holds_no_dead_lease_on_sqlite(tmp_path: Path) -> None:
    clock = FixedClock()
    with Store.open(STATE, tmp_path, clock=clock) as store:
        taken(store, ttl=dt.timedelta(0))

        clock.sleep(-3600)

        assert taken(store).fence == 2


@pytest.mark.server
def test_on_postgresql_the_deadline_goes_by_the_databases_clock(postgres_url: str, tmp_path: Path) -> None:
    clock = FixedClock()
    with Store.open(postgres_url, tmp_path, clock=clock) as store:
        taken(store)
        clock.sleep(60)
        at_the_end = lease.acquire(store, "job", MINUTE)
        clock.sleep(0.000_001)
        after = lease.acquire(store, "job", MINUTE)

    assert isinstance(at_the_end, LeaseHeld)
    assert isinstance(after, Lease)


@pytest.mark.server
def test_a_lease_that_a_dead_owner_took_while_the_clock_was_ahead_ends_as_one_given_now(
    postgres_url: str, tmp_path: Path
) -> None:
    clock = FixedClock()
    with Store.open(postgres_url, tmp_path, clock=clock) as store:
        taken(store)
        rewrite_owner(store, boot="another boot", host="elsewhere")
        clock.sleep(-30 * 86_400)

        seen = lease.acquire(store, "job", MINUTE)
        clock.sleep(lease.LONGEST.total_seconds())
        at_the_end = lease.acquire(store, "job", MINUTE)
        clock.sleep(0.000_001)
        after = lease.acquire(store, "job", MINUTE)

    assert isinstance(seen, LeaseHeld)
    assert isinstance(at_the_end, LeaseHeld)
    assert at_the_end.until == seen.until
    assert isinstance(after, Lease)
    assert after.fence == 2


@pytest.mark.server
def test_a_live_owner_keeps_a_lease_that_it_took_while_the_clock_was_ahead(postgres_url: str, tmp_path: Path) -> None:
    clock = FixedClock()
    with Store.open(postgres_url, tmp_path, clock=clock) as store:
        mine = taken(store)
        rewrite_owner(store, boot="another boot", host="elsewhere")
        clock.sleep(-30 * 86_400)
        lease.acquire(store, "job", MINUTE)

        renewed = lease.renew(store, mine)
        clock.sleep(50)
        lease.renew(store, renewed)
        rewrite_owner(store, boot="another boot", host="elsewhere")
        clock.sleep(50)

        assert isinstance(lease.acquire(store, "job", MINUTE), LeaseHeld)
        with store.begin() as tx:
            lease.check(tx, mine)


def test_no_claim_runs_longer_than_the_longest() -> None:
    claims = [runner.LEASE, scheduler.LEASE, workers.CLAIM, delivery.CLAIM, admission.CLAIM]

    assert max(claims) <= lease.LONGEST


def test_an_owner_from_before_the_last_boot_is_dead_where_the_store_is_of_one_host(store: Store) -> None:
    taken(store)
    rewrite_owner(store, boot="another boot", host="elsewhere")

    got = lease.acquire(store, "job", MINUTE)

    assert isinstance(got, LeaseHeld if store.is_shared else Lease)


def test_a_process_in_another_namespace_is_judged_by_its_deadline_alone(store: Store) -> None:
    taken(store)
    rewrite_owner(store, pids="pid:[1]", pid=2**22 - 1)

    assert isinstance(lease.acquire(store, "job", MINUTE), LeaseHeld)


def test_renewing_or_releasing_a_lost_lease_says_so(store: Store) -> None:
    lost = taken(store, ttl=dt.timedelta(0))
    await_lease(store)

    for act in (lease.renew, lease.release):
        with pytest.raises(LeaseLost, match="took over the lease"):
            act(store, lost)


def test_renewing_moves_the_deadline_and_keeps_the_fence(tmp_path: Path) -> None:
    clock = FixedClock()
    with Store.open(STATE, tmp_path, clock=clock) as store:
        first = taken(store)
        clock.sleep(20)

        renewed = lease.renew(store, first)

    assert renewed.fence == first.fence
    assert renewed.until - first.until == dt.timedelta(seconds=20)


def test_nobody_takes_over_between_the_check_and_the_end_of_its_transaction(
    url: str, store: Store, tmp_path: Path
) -> None:
    mine = taken(store, ttl=dt.timedelta(0))
    rival = Store.open(url, tmp_path, patience=dt.timedelta(milliseconds=100))

    with store.begin() as tx:
        lease.check(tx, mine)
        with pytest.raises(errors.StoreLocked):
            lease.acquire(rival, "job", MINUTE)

    assert taken(rival).fence == 2
    rival.close()


@pytest.mark.server
def test_on_postgresql_a_long_transaction_does_not_hold_up_the_heartbeat(postgres_url: str, tmp_path: Path) -> None:
    with Store.open(postgres_url, tmp_path, patience=dt.timedelta(milliseconds=100)) as store:
        mine = taken(store)

        with store.begin() as tx:
            lease.check(tx, mine)
            renewed = lease.renew(store, mine)
            lease.check(tx, renewed)

    assert renewed.until > mine.until


def test_a_lease_cannot_be_without_a_deadline(store: Store) -> None:
    taken(store)

    with pytest.raises(sa.exc.IntegrityError), store.begin() as tx:
        tx.connection.execute(sa.update(tables.leases).values(lease_until=None))


# Heartbeat


@pytest.fixture
def beating(tmp_path: Path) -> Iterator[tuple[Store, FixedClock, Callable[[], dt.datetime]]]:
    clock = FixedClock()
    with Store.open(STATE, tmp_path, clock=clock, patience=dt.timedelta(milliseconds=50)) as store:

        def until() -> dt.datetime:
            with store.read() as tx:
                lease_until: dt.datetime = tx.connection.execute(sa.select(tables.leases.c.lease_until)).scalar_one()
                return lease_until

        yield store, clock, until


Beating = tuple[Store, FixedClock, Callable[[], dt.datetime]]


def test_a_tick_renews_the_lease(beating: Beating) -> None:
    store, clock, until = beating
    mine = taken(store)
    heartbeat = lease.Heartbeat(store, mine)
    clock.sleep(10)

    heartbeat.tick()

    assert until() == mine.until + dt.timedelta(seconds=10)


def test_work_without_progress_loses_its_heartbeat(beating: Beating) -> None:
    store, clock, until = beating
    moments = iter([0.0, 800.0, 850.0, 1_700.0, 1_751.0])
    heartbeat = lease.Heartbeat(store, taken(store), clock=lambda: next(moments))
    heartbeat.tick()  # at 800 s: fifteen minutes are not over
    heartbeat.progress()  # at 850 s
    heartbeat.tick()  # at 1700 s
    before = until()
    clock.sleep(10)

    heartbeat.tick()  # at 1751 s: silent for 901 s

    assert heartbeat.lost
    assert until() == before


def test_a_heartbeat_notices_a_take_over(beating: Beating) -> None:
    store, _, _ = beating
    heartbeat = lease.Heartbeat(store, taken(store, ttl=dt.timedelta(0)))
    await_lease(store)

    heartbeat.tick()

    assert heartbeat.lost


def test_a_heartbeat_survives_a_locked_store_and_says_why(beating: Beating) -> None:
    store, clock, until = beating
    mine = taken(store)
    heartbeat = lease.Heartbeat(store, mine)
    with store.begin():
        heartbeat.tick()
    problem = heartbeat.problem
    clock.sleep(10)

    heartbeat.tick()

    assert isinstance(problem, errors.StoreLocked)
    assert (heartbeat.problem, heartbeat.lost) == (None, False)
    assert until() > mine.until


def test_a_started_heartbeat_ticks_by_itself_and_ends_when_stopped(store: Store) -> None:
    mine = taken(store, ttl=BRIEF)
    before = threading.active_count()

    with lease.Heartbeat(store, mine) as heartbeat:
        deadline = time.monotonic() + 20
        while heartbeat._lease.until == mine.until:
            assert time.monotonic() < deadline

    assert threading.active_count() == before
    heartbeat.stop()


@pytest.mark.slow
def test_processes_under_one_lease_never_write_at_once(url: str, store: Store, tmp_path: Path) -> None:
    """Each adds one to a number it read before: without the lease and its check, additions would be lost."""
    code = """
    with Store.open(url, root, patience=dt.timedelta(seconds=30)) as store:
        done = 0
        while done < 5:
            mine = lease.acquire(store, "job", dt.timedelta(minutes=1))
            if isinstance(mine, lease.LeaseHeld):
                continue
            with store.read() as tx:
                number = tx.connection.execute(sa.select(tables.audit_head.c.seq)).scalar_one()
            with store.begin() as tx:
                lease.check(tx, mine)
                tx.connection.execute(sa.update(tables.audit_head).values(seq=number + 1))
            lease.release(store, mine)
            done += 1
    """

    in_parallel(4, code, url, tmp_path)

    assert number(store) == 4 * 5
