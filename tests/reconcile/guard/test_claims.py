"""Claims of keys: who gets one, who waits, who is refused, and what the log and the counts tell of it."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.audit import log
from reconcile.config.settings import Retention
from reconcile.guard import (
    AsyncRefused,
    Claim,
    ClaimLost,
    Done,
    Guard,
    InProgress,
    KeyUnknown,
    LeaseRefused,
    NamespaceUnknown,
    OtherPayload,
    ParameterUnknown,
    ResultNotStored,
    StillInProgress,
    claiming,
)
from reconcile.store import Store, errors, guarded_keys, retention, tables
from reconcile.store.guarded_keys import KeyState
from reconcile.upkeep import compaction
from tests.reconcile.guard.doors import BOTH, Door, clock, door, place
from tests.support.servers import STATE
from tests.support.store import in_parallel

__all__ = ["clock", "door", "place"]


def events(door: Door) -> list[str]:
    with door.store.read() as tx:
        return [entry.event for entry in log.entries(tx)]


def row(door: Door, key: str) -> guarded_keys.KeyRow:
    with door.store.read() as tx:
        return claiming.present(tx, key)[0]


# The four answers


@BOTH
def test_a_key_is_mine_then_in_progress_for_others_and_done_with_its_result(door: Door) -> None:
    claim = door.take("17", {"template": 3})

    busy = door.guard.claim("welcome", "17", {"template": 3})
    claim.complete({"message": "m-1"})
    done = door.guard.claim("welcome", "17", {"template": 3})

    assert claim.attempt == 1
    assert isinstance(busy, InProgress)
    assert (busy.key, busy.until, busy.seconds) == (claim.key, claim.until, 60.0)
    assert isinstance(done, Done)
    assert (done.result, done.at) == ({"message": "m-1"}, door.clock.now)


@pytest.mark.parametrize("is_done", [False, True])
def test_another_payload_is_refused_while_the_key_is_in_progress_and_after(door: Door, is_done: bool) -> None:
    claim = door.take("17", {"amount": 20})
    if is_done:
        claim.complete()

    for _ in range(3):
        with pytest.raises(OtherPayload, match=claim.key):
            door.guard.claim("welcome", "17", {"amount": 30})

    assert row(door, claim.key).refusals == 3
    assert events(door) == ["key.refused"], "the first refusal of a key is in the log"
    assert log.verify(door.store).intact


def test_the_same_key_in_another_namespace_is_another_key(door: Door) -> None:
    first, second = door.take("17"), door.take("17", namespace="refunds")

    assert first.key != second.key
    assert (second.until - door.clock.now) == dt.timedelta(minutes=5)


def test_a_misspelt_namespace_is_refused_with_the_nearest_one(door: Door) -> None:
    with pytest.raises(NamespaceUnknown, match="did you mean `welcome`"):
        door.guard.claim("welcom", "17")


# Leases and fences


@BOTH
def test_a_lease_that_ended_goes_to_the_next_claim_which_is_in_the_log(door: Door) -> None:
    first = door.take()
    door.pass_time(60)

    second = door.take()

    assert (second.attempt, second.fence > first.fence) == (2, True)
    assert events(door) == ["key.taken_over"]


@BOTH
def test_a_stale_claimer_completes_fails_and_renews_nothing_after_a_take_over(door: Door) -> None:
    stale = door.take()
    door.pass_time(61)
    fresh = door.take()

    with pytest.raises(ClaimLost):
        stale.complete()
    with pytest.raises(ClaimLost):
        stale.fail("no")
    with pytest.raises(ClaimLost):
        stale.renew()
    fresh.complete("fresh")
    with pytest.raises(ClaimLost):
        stale.complete("stale")

    answer = door.guard.claim("welcome", "a")
    assert isinstance(answer, Done)
    assert answer.result == "fresh"


def test_work_that_outlived_its_lease_counts_if_nobody_took_the_key(door: Door) -> None:
    claim = door.take()
    door.pass_time(3600)

    claim.complete(1)

    assert row(door, claim.key).state is KeyState.DONE


def test_a_renewed_claim_is_not_taken(door: Door) -> None:
    claim = door.take()
    for _ in range(5):
        door.pass_time(50)
        claim.renew()
        assert isinstance(door.guard.claim("welcome", "a"), InProgress)
    claim.renew("5m")

    assert claim.until - door.clock.now == dt.timedelta(minutes=5)


def test_a_claimer_that_gives_its_name_may_ask_again_and_nobody_else_gets_its_claim(door: Door) -> None:
    first = door.guard.claim("welcome", "a", by="execution-1")
    again = door.guard.claim("welcome", "a", by="execution-1")
    second = door.guard.claim("welcome", "a", by="execution-2")

    assert isinstance(first, Claim)
    assert isinstance(again, Claim)
    assert (again.fence, again.attempt) == (first.fence, 1)
    assert isinstance(second, InProgress)
    door.pass_time(61)
    late = door.guard.claim("welcome", "a", by="execution-1")
    assert isinstance(late, Claim)
    assert late.attempt == 2


def test_on_one_host_a_clock_that_is_set_ahead_ends_no_lease(door: Door) -> None:
    claim = door.take()

    door.set_clock(3600)
    busy = door.guard.claim("welcome", "a")

    assert isinstance(busy, InProgress)
    assert busy.seconds == 60.0
    claim.complete()


def test_after_a_boot_the_clock_decides_since_a_claimer_may_be_elsewhere(door: Door) -> None:
    door.take()
    door.pass_time(30)
    door.boot = "the-next-boot"

    busy = door.guard.claim("welcome", "a")
    door.pass_time(31)

    assert isinstance(busy, InProgress)
    assert busy.seconds == 30.0
    assert door.take().attempt == 2


@pytest.mark.parametrize("lease", ["0s", "2d", dt.timedelta(seconds=0.5)])
def test_a_lease_beyond_its_limits_is_refused(door: Door, lease: Any) -> None:
    with pytest.raises(LeaseRefused):
        door.guard.claim("welcome", "a", lease=lease)


def test_of_two_claims_that_saw_the_same_row_one_takes_it(door: Door) -> None:
    key = door.take().key
    seen = row(door, key)
    taking = guarded_keys.Taking(seen.payload, seen.fence + 1, "x", door.clock.now, None, door.clock.now)
    with door.store.begin() as tx:
        taken = [guarded_keys.take(tx, seen, taking._replace(fence=seen.fence + number)) for number in (1, 2)]

    assert taken == [True, False]


def test_a_key_that_was_deleted_never_gives_its_next_life_the_same_fence(door: Door) -> None:
    stale = door.take()
    with door.store.begin() as tx:
        tx.connection.execute(sa.delete(tables.guarded_keys))
    door.pass_time(0.001)
    door.take()

    with pytest.raises(ClaimLost):
        stale.complete()


# Ends


@BOTH
def test_to_complete_twice_is_to_complete_once_and_another_result_is_refused(door: Door) -> None:
    claim = door.take()
    claim.complete({"b": 1, "a": 2})
    claim.complete({"a": 2, "b": 1})

    with pytest.raises(ClaimLost):
        claim.complete({"a": 3})
    with pytest.raises(ClaimLost):
        claim.fail("after all not")


@BOTH
def test_a_failed_claim_frees_its_key_even_for_another_payload(door: Door) -> None:
    claim = door.take("a", {"amount": 1})
    claim.fail("the card\0 was  refused")
    claim.fail("the card was refused")

    assert row(door, claim.key).reason == "the card was refused"
    again = door.take("a", {"amount": 2})
    assert again.attempt == 2
    assert events(door) == []
    with pytest.raises(ClaimLost):
        claim.complete()


@pytest.mark.parametrize("result", [object(), {"x": float("nan")}, "x" * 65_535, {1j: 2}])
def test_a_result_that_cannot_be_stored_is_told_and_its_work_is_never_repeated(door: Door, result: Any) -> None:
    claim = door.take()

    with pytest.raises(ResultNotStored, match="is done, but its result is not stored"):
        claim.complete(result)

    answer = door.guard.claim("welcome", "a")
    assert isinstance(answer, Done)
    assert answer.result is None


@pytest.mark.parametrize("result", [None, "é\0\ud800", [1, 2.5, None], "x" * 65_534, {"a": {"b": [True]}}])
def test_a_result_comes_back_as_it_was(door: Door, result: Any) -> None:
    door.take().complete(result)

    answer = door.guard.claim("welcome", "a")

    assert isinstance(answer, Done)
    assert answer.result == result


def test_a_key_that_nobody_claimed_cannot_be_completed(door: Door) -> None:
    with pytest.raises(KeyUnknown):
        door.guard.complete("welcome", "gk1.abcdef.nothing", 1, None)


class _Unsure:
    """A store whose first commit of each kind is saved, but not confirmed."""

    def __init__(self, store: Store) -> None:
        self.store, self.lost = store, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def begin(self) -> Any:
        outer = self

        class Work:
            def __enter__(self) -> Any:
                self.work = outer.store.begin()
                return self.work.__enter__()

            def __exit__(self, *error: Any) -> Any:
                self.work.__exit__(*error)
                outer.lost += 1
                if outer.lost % 2 and error[0] is None:
                    raise errors.CommitUnknown("here", "the connection was lost")

        return Work()


@BOTH
def test_a_commit_whose_answer_is_lost_is_repeated_and_neither_claims_nor_completes_twice(door: Door) -> None:
    unsure: Any = _Unsure(door.store)
    guard = Guard(door.guard.namespaces, lambda: unsure, host=door.host, owns_store=False)

    claim = guard.claim("welcome", "a")
    assert isinstance(claim, Claim)
    claim.complete(1)

    stored = row(door, claim.key)
    assert (stored.state, stored.attempts, unsure.lost) == (KeyState.DONE, 1, 4)


# People


@BOTH
def test_a_person_releases_a_key_that_was_done_and_the_log_says_why(door: Door) -> None:
    claim = door.take()
    claim.complete({"message": "m-1"})
    with door.store.begin() as tx:
        released = claiming.release(tx, claim.key, reason="the mail bounced", by="ada")

    again = door.take()

    assert (released.state, released.result_size, again.attempt) == (KeyState.RELEASED, 0, 2)
    with door.store.read() as tx:
        [entry] = log.entries(tx, subject=f"key:{claim.key}")
    assert (entry.event, entry.actor) == ("key.released", "ada")
    assert entry.body is not None
    assert (entry.body["note"], entry.body["state"]) == ("the mail bounced", "done")


def test_a_released_key_is_lost_to_who_had_claimed_it(door: Door) -> None:
    claim = door.take()
    with door.store.begin() as tx:
        claiming.release(tx, claim.key, reason="stuck", by="ada")

    with pytest.raises(ClaimLost):
        claim.complete()


def test_a_person_ends_a_lease_whose_claimer_is_dead(door: Door) -> None:
    claim = door.take("a", {"amount": 1})
    with door.store.begin() as tx:
        claiming.expire(tx, claim.key, reason="the host is gone", by="ada")

    with pytest.raises(ClaimLost):
        claim.complete()
    with pytest.raises(OtherPayload):
        door.guard.claim("welcome", "a", {"amount": 2})
    assert door.take("a", {"amount": 1}).attempt == 2
    assert events(door) == ["key.expired", "key.refused", "key.taken_over"]


def test_only_a_key_in_progress_has_a_lease_to_end(door: Door) -> None:
    claim = door.take()
    claim.complete()

    with door.store.begin() as tx, pytest.raises(claiming.NotInProgress, match="is done"):
        claiming.expire(tx, claim.key, reason="?", by="ada")


# Work once


def test_a_guarded_function_works_once_per_key_and_its_repeats_get_the_result(door: Door) -> None:
    worked = []

    @door.guard.guarded("welcome", key=["customer", "kind"], payload=["template"])
    def send(customer: int, kind: str = "welcome", *, template: str = "a") -> dict[str, int]:
        """Send it."""
        worked.append((customer, kind, template))
        return {"number": len(worked)}

    answers = [send(1), send(customer=1), send(1, "welcome", template="a"), send(2)]

    assert answers == [{"number": 1}, {"number": 1}, {"number": 1}, {"number": 2}]
    assert worked == [(1, "welcome", "a"), (2, "welcome", "a")]
    assert send.__doc__ == "Send it."
    with pytest.raises(OtherPayload):
        send(1, template="b")


def test_an_error_leaves_the_key_in_progress_because_the_work_may_be_done(door: Door) -> None:
    @door.guard.guarded("welcome", key="customer", not_done=(ConnectionRefusedError,))
    def send(customer: int, error: Exception | None) -> str:
        if error is not None:
            raise error
        return "sent"

    with pytest.raises(TimeoutError):
        send(1, TimeoutError())
    with pytest.raises(StillInProgress):
        send(1, None)
    door.pass_time(61)
    with pytest.raises(ConnectionRefusedError):
        send(1, ConnectionRefusedError())

    assert send(1, None) == "sent"


def test_a_repeat_waits_for_the_result_as_long_as_it_may(door: Door) -> None:
    claim = door.take()
    with pytest.raises(StillInProgress):
        door.guard.run("welcome", "a", lambda _: "mine", wait="10s")
    waited = sum(door.pauses)
    claim.renew()

    result = door.guard.run("welcome", "a", lambda claim: claim.attempt, wait="10m")

    assert waited == pytest.approx(10)
    assert result == 2, "the lease ended while it waited"


def test_a_function_without_the_parameter_is_refused_where_it_is_decorated(door: Door) -> None:
    with pytest.raises(ParameterUnknown, match=r"send\(\) has no parameter `order`"):

        @door.guard.guarded("welcome", key="order")
        def send(customer: int) -> int:
            return customer


def test_an_async_function_is_refused_since_its_result_comes_later(door: Door) -> None:
    async def send(customer: int) -> int:
        return customer

    with pytest.raises(AsyncRefused, match=r"send\(\) is async"):
        door.guard.guarded("welcome", key="customer")(send)


# Counts and retention


@BOTH
def test_the_counts_of_all_processes_are_in_the_store(door: Door) -> None:
    claim = door.take()
    door.guard.claim("welcome", "a")
    claim.renew()
    with pytest.raises(OtherPayload):
        door.guard.claim("welcome", "a", 1)
    door.pass_time(61)
    door.take().complete()
    door.guard.claim("welcome", "a")
    door.take("b").fail("no")
    second_door = Door(door.store, door.clock)
    second_door.take("c")
    second_door.guard.close()

    door.guard.close()

    with door.store.read() as tx:
        counted = guarded_keys.counts(tx)
    expected = {"created": 3, "used": 1, "hits": 1, "waits": 1, "conflicts": 1, "expired": 1, "renewed": 1, "failed": 1}
    assert {event: number for (_, event), number in counted.items()} == expected


@BOTH
def test_keys_are_deleted_when_they_were_kept_long_enough_and_only_then(door: Door) -> None:
    for key in ("a", "b"):
        door.take(key).complete()
    door.take("c").fail("no")
    door.take("d", namespace="refunds").complete()
    door.pass_time(29 * 86_400)
    door.take("a-later").complete()
    door.pass_time(2 * 86_400)

    compacted = compaction.compact(door.store, Retention())

    assert compacted.counts == {"guarded keys": 3}
    assert door.take("a").attempt == 1
    assert isinstance(door.guard.claim("welcome", "a-later"), Done)
    assert isinstance(door.guard.claim("refunds", "d"), Done)


@BOTH
def test_a_key_that_is_claimed_again_while_it_is_deleted_stays(door: Door) -> None:
    door.take("a").fail("no")
    door.pass_time(31 * 86_400)
    [step] = [step for step in compaction._STEPS if step.what == "guarded keys"]
    cut = retention.Cut(
        now=door.clock.now, details=door.clock.now, runs=door.clock.now, unchanged=door.clock.now, images=door.clock.now
    )
    with door.store.read() as tx:
        old = retention.rows(tx, step.old, cut, 10)

    claim = door.take("a")
    with door.store.begin() as tx:
        deleted = retention.delete(tx, step.old, old)

    assert (len(old), deleted) == (1, 0)
    claim.complete()


# What is stored, and how it is found


def test_neither_key_nor_payload_is_in_the_state(door: Door) -> None:
    door.take(("ada@example.com", "welcome"), {"card": "4242-4242"}).complete()
    door.guard.close()

    with door.store.read() as tx:
        stored = json.dumps([list(map(str, item)) for item in tx.connection.execute(sa.select(tables.guarded_keys))])
    assert "ada@example" not in stored
    assert "4242" not in stored


@BOTH
def test_every_look_up_of_a_claim_is_by_the_primary_key(door: Door) -> None:
    statements: list[tuple[str, Any]] = []

    def note(_c: Any, _u: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "guarded_keys" in statement:
            statements.append((statement, parameters))

    engine = door.store._engine
    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        claim = door.take()
        door.guard.claim("welcome", "a")
        claim.renew()
        door.pass_time(61)
        door.take().complete()
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
    with door.store.begin() as tx:
        if door.store.is_shared:
            tx.connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        for statement, parameters in statements:
            explain = "EXPLAIN" if door.store.is_shared else "EXPLAIN QUERY PLAN"
            plan = str(tx.connection.exec_driver_sql(f"{explain} {statement}", parameters).all())
            assert "Seq Scan" not in plan, statement
            assert "SCAN" not in plan, statement
    assert len(statements) >= 6


LOOK = """
from reconcile.guard import Guard, Claim
with Guard.connect(url, {"welcome": {}}, folder=root) as guard:
    mine = 0
    for number in range(20):
        answer = guard.claim("welcome", number)
        if isinstance(answer, Claim):
            answer.complete(number)
            mine += 1
print(mine)
"""


def test_of_processes_that_claim_the_same_keys_at_once_one_gets_each(url: str, tmp_path: Path) -> None:
    with Store.open(url, tmp_path):
        pass

    claimed = in_parallel(6, LOOK, url, tmp_path)

    assert sum(map(int, claimed)) == 20


def test_a_guard_of_a_configuration_has_its_namespaces_and_needs_no_rules(tmp_path: Path) -> None:
    (tmp_path / "reconcile.yaml").write_text("version: 1\nguard: {welcome: {lease: 10s}}\n")

    with Guard.open(tmp_path / "reconcile.yaml") as guard:
        claim = guard.claim("welcome", "a")
        assert isinstance(claim, Claim)
        assert claim.until - dt.datetime.now(dt.UTC) < dt.timedelta(seconds=11)
    assert (tmp_path / "reconcile.db").exists()


def test_a_guard_that_was_made_before_a_fork_has_a_store_of_its_own_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = Guard.connect(STATE, {"welcome": {}}, folder=tmp_path)
    of_parent = guard.store

    monkeypatch.setattr("reconcile.guard.guard.os.getpid", lambda: 1)

    assert guard.store is not of_parent
    assert guard.store is guard.store
    guard.close()
    of_parent.close()
