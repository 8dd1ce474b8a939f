"""Many processes at one journal: every key is sent once, no record is keeper and surplus, no limit is exceeded."""

import itertools
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.findings.states import PlanState
from reconcile.journal import effects
from reconcile.schedule import retry
from reconcile.store import tables
from tests.reconcile.journal.journal import KEY, NOON, STATE, Journal, effects_postgres, plan
from tests.support.chance import few
from tests.support.store import Program, in_parallel

pytestmark = [pytest.mark.slow, pytest.mark.chaos]

__all__ = ["effects_postgres"]

WORKERS, KEYS = few(16, 32), few(150, 1_000)

OPEN = f"""
import time
from tests.reconcile.journal.journal import claim_due
from reconcile.journal import breaker, limits as limits, effects
from reconcile.store import StoreError
from reconcile.store.errors import StoreLocked
from rules.cleaning import Caps
TTL = dt.timedelta(minutes=5)
def opened(clock=lambda: dt.datetime.fromisoformat({NOON.isoformat()!r})):
    return Store.open(url, root, key={KEY!r}, patience=dt.timedelta(seconds=60), clock=clock)
store = opened()
print("open")
mine = wait()
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def url(request: pytest.FixtureRequest) -> str:
    return STATE if request.param == "sqlite" else str(request.getfixturevalue("effects_postgres"))


def at_once(code: str, url: str, root: Path, told: list[str]) -> list[list[str]]:
    """The code in as many processes as there are things to tell, `mine` in each, behind one barrier; their words."""
    programs = [Program(OPEN + code, url, root) for _ in told]
    for program in programs:
        program.ready().go()
    for program in programs:
        assert program.line() == "open"
    for program, what in zip(programs, told, strict=True):
        program._pipe.send(what)
    return [item.end().split() for item in programs]


WORK = """
got = []
while True:
    try:
        with store.begin() as tx:
            held = effects.hold(tx, claim_due(tx, "shop", 16, ttl=TTL))
            for one, why in held.waiting:
                effects.released(tx, [one], str(why))
            sent = effects.send(tx, held.taken).sent
    except StoreLocked:
        continue  # a deadlock is one of the answers a store may give: nothing was kept
    if not sent:
        break
    got += [key for one in sent for key in one.keys]
    with store.begin() as tx:
        effects.succeeded(tx, [(one, None) for one in sent])
print(" ".join(got) or "-")
"""


def test_look_up_the_key_then_insert_it(url: str, tmp_path: Path) -> None:
    """32 processes race for 1,000 keys: exactly 1,000 are sent, each by one of them."""
    journal = Journal.at(url, tmp_path)
    journal.propose(*(plan(f"F-{n:04}", f"r{n}", keeper=f"k{n}") for n in range(KEYS)))

    answer = at_once(WORK, url, tmp_path, ["go"] * WORKERS)

    sent = Counter(key for words in answer for key in words if key != "-")
    assert len(sent) == KEYS
    assert set(sent.values()) == {1}
    states = Counter(row["state"] for row in journal.rows(tables.effects))
    assert states == {"succeeded": KEYS}
    assert journal.rows(tables.holds) == []
    journal.proven()
    journal.store.close()


ONE = """
while True:
    try:
        with store.begin() as tx:
            sent = effects.send(tx, effects.claim(tx, [mine], ttl=TTL))
        break
    except StoreLocked:
        continue
print("sent" if sent.sent else "busy" if sent.busy else "other")
"""


def test_one_key_wanted_by_32_plans_at_once_is_sent_by_one(url: str, tmp_path: Path) -> None:
    """Even where nobody holds the record: the key alone decides."""
    journal = Journal.at(url, tmp_path)
    names = journal.propose(*(plan(f"F-{n:02}", "the one", keeper=f"k{n}") for n in range(WORKERS)))

    answer = at_once(ONE, url, tmp_path, names)

    assert Counter(words[0] for words in answer) == {"sent": 1, "busy": WORKERS - 1}
    [row] = journal.rows(tables.effects)
    assert row["state"] == "sent"
    journal.proven()
    journal.store.close()


OPPOSITE = """
while True:
    try:
        with store.begin() as tx:
            held = effects.hold(tx, effects.claim(tx, [mine], ttl=TTL))
            for one, why in held.waiting:
                effects.released(tx, [one], str(why))
            sent = effects.send(tx, held.taken).sent
        break
    except StoreLocked:
        continue
print("sent" if sent else "waits")
"""


def test_guard_on_the_victim_alone(url: str, tmp_path: Path) -> None:
    """Two rules keep each other's surplus, on a barrier: no record is ever both, and one of each two waits."""
    journal = Journal.at(url, tmp_path)
    pairs = [
        (plan(f"F-{n:02}-one", f"b{n}", keeper=f"a{n}"), plan(f"F-{n:02}-two", f"a{n}", keeper=f"b{n}"))
        for n in range(WORKERS // 2)
    ]
    names = journal.propose(*(item for pair in pairs for item in pair))

    collected = [words[0] for words in at_once(OPPOSITE, url, tmp_path, names)]

    roles: dict[str, set[str]] = {}
    for row in journal.rows(tables.holds):
        roles.setdefault(row["record"], set()).add(row["role"])
    assert all(len(role) == 1 for role in roles.values())
    assert [sorted(pair) for pair in zip(collected[::2], collected[1::2], strict=True)] == [["sent", "waits"]] * len(
        pairs
    )
    assert Counter(journal.state(name) for name in names) == {
        PlanState.SENT: len(pairs),
        PlanState.APPROVED: len(pairs),
    }
    journal.proven()
    journal.store.close()


RUNS = """
first, *names = mine.split()
at = [None]
store = opened(clock=lambda: at[0])
taken = 0
for number, name in enumerate(names):
    at[0] = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC) + number * dt.timedelta(minutes=5)
    try:
        with store.begin() as tx:
            limits.reserve(
                tx,
                [limits.Use(name, 1)],
                rule="twins",
                target="t",
                run=f"run-{first}-{number}",
                caps=limits.Both(Caps(records=20)),
            )
        taken += 1
    except limits.OverLimit:
        pass
print(taken)
"""


def test_limits_per_run_only(url: str, tmp_path: Path) -> None:
    """288 runs a day of two workers: together they stay within the 24 hours' limit, and use all of it."""
    journal = Journal.at(url, tmp_path)
    many = journal.propose(*(plan(f"F-{n:03}", f"r{n}") for n in range(2 * 288)), policy="required")

    answer = at_once(RUNS, url, tmp_path, [" ".join(["one", *many[:288]]), " ".join(["two", *many[288:]])])

    assert sum(int(words[0]) for words in answer) == 20
    assert len(journal.rows(tables.limit_uses)) == 20
    journal.store.close()


PROBES = """
breaker.COOL_DOWN = breaker.LONGEST_COOL_DOWN = dt.timedelta(seconds=0.4)
said = []
for restart in range(20):
    store.close()
    store = opened(clock=None)
    with store.begin() as tx:
        probe = breaker.allow(tx, "t")
        if isinstance(probe, breaker.Probe):
            said.append(str(tx.now.timestamp()))
    if restart % 5 == 4 and isinstance(probe, breaker.Probe):
        with store.begin() as tx:
            breaker.broke(tx, "t", "Away.", probe=probe)
    time.sleep(0.05)
print(" ".join(said) or "-")
"""


def test_breaker_in_memory(url: str, tmp_path: Path) -> None:
    """20 restarts of each of 4 workers: one probe a cool-down among all of them."""
    journal = Journal.at(url, tmp_path)
    with journal.begin() as tx:
        row = {"target": "t", "state": "open", "failures": 5, "requests": [], "fence": 1, "reason": "Away."}
        row |= dict.fromkeys(("opened_at", "probe_at"), NOON.replace(year=2000))
        tx.connection.execute(sa.insert(tables.breakers).values(row))

    answer = at_once(PROBES, url, tmp_path, ["go"] * 4)

    probes = sorted(float(word) for words in answer for word in words if word != "-")
    assert len(probes) >= 2
    assert all(later - earlier >= 0.4 for earlier, later in itertools.pairwise(probes))
    journal.store.close()


def test_a_stolen_plan_is_written_by_the_thief_alone(url: str, tmp_path: Path) -> None:
    """A lease without a fence: its owner stops for longer than its lease, another takes over, and it wakes up."""
    journal = Journal.at(url, tmp_path)
    [name] = journal.propose(plan("F-1", "a"))
    [slow] = journal.send(name).sent
    with journal.begin() as tx:
        away = {"host": "elsewhere", "boot": "another", "pids": "pid:[1]", "pid": 1, "started": 1, "boot_deadline": 0}
        tx.connection.execute(sa.update(tables.plans).values(owner=away, lease_until=NOON))
    journal.tick(minutes=1)

    [took] = in_parallel(
        1,
        f"""
from reconcile.journal import effects
store = Store.open(url, root, key={KEY!r}, clock=lambda: dt.datetime.fromisoformat({journal.now.isoformat()!r}))
with store.begin() as tx:
    [left] = effects.abandoned(tx)
    effects.take_over(tx, [left.id])
    [mine] = effects.claim_unknown(tx, "shop", 1, ttl=dt.timedelta(minutes=5))
    effects.succeeded(tx, [(mine, None)])
print(mine.fence)
""",
        url,
        tmp_path,
    )

    assert int(took) == slow.fence + 2
    with pytest.raises(effects.ClaimLost), journal.begin() as tx:
        effects.retry(tx, [slow], retry.PATIENT, kind="40001", reason="It was locked.")
    assert journal.state(name) is PlanState.SUCCEEDED
    journal.proven()
    journal.store.close()
