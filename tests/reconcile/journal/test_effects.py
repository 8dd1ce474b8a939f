"""The journal of effects: each step durable and fenced, keys free only where it is proven that nothing was done."""

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.audit import log
from reconcile.coordination import clock, lease
from reconcile.findings.states import MoveRefused, PlanState
from reconcile.journal import effects, holds
from reconcile.journal.effects import ClaimedPlan, ClaimLost
from reconcile.schedule import retry
from reconcile.store import effects as stored_effects
from reconcile.store import plans, tables
from reconcile.store.operation_times import operation_times
from reconcile.store.plans import PlanDamaged, PlanPurged
from reconcile.store.sealing import SealBroken, Seals
from tests.reconcile.journal.journal import (
    NOON,
    RUN,
    STATE,
    TARGET,
    Journal,
    effects_postgres,
    held,
    journal,
    local,
    plan,
    record,
)
from tests.support.folders import ROOT
from tests.support.store import Program

PATIENT = retry.PATIENT

__all__ = ["effects_postgres", "journal", "local"]


# Proposing


def test_a_plan_comes_back_exactly_as_it_was_proposed(journal: Journal) -> None:
    item = plan("F-1", "a", "b", money={"EUR": "12.50"}, note="é\u0000'\"")

    [name] = journal.propose(item, policy="required", by="eve", expires=NOON + dt.timedelta(days=7))

    stored = journal.get(name)
    assert (stored.content, stored.plan_hash, stored.state) == (item, item.plan_hash, PlanState.AWAITING)
    assert (stored.records, stored.rows, stored.money, stored.policy, stored.proposed_by, stored.run) == (
        *(2, 2, {"EUR": "12.50"}, "required", "eve", RUN),
    )


def test_the_very_same_plan_is_not_proposed_twice(journal: Journal) -> None:
    first = journal.propose(plan("F-1", "a"), policy="required")

    assert journal.propose(plan("F-1", "a"), policy="required") == first
    assert journal.events().count("plan.proposed") == 1


def test_a_newer_plan_supersedes_one_that_nobody_has_begun(journal: Journal) -> None:
    [old] = journal.propose(plan("F-1", "a"))
    [new] = journal.propose(plan("F-1", "a", "b"))

    assert (journal.state(old), journal.state(new)) == (PlanState.SKIPPED, PlanState.APPROVED)
    assert "newer plan" in str(journal.get(old).reason)
    with journal.store.read() as tx:
        standing = plans.standing(tx, "F-1")
        assert standing is not None
        assert standing.id == new
        assert {item.id for item in plans.of_finding(tx, "F-1")} == {old, new}


def test_nothing_is_proposed_while_a_plan_of_the_finding_is_in_hand(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"))
    journal.send(name)

    assert journal.propose(plan("F-1", "b")) == [name]


def test_a_plan_that_changed_in_the_database_is_quarantined_and_the_others_go_on(journal: Journal) -> None:
    bad, good = journal.propose(plan("F-1", "a"), plan("F-2", "b"))
    with journal.begin() as tx:
        text = journal.get(bad).sealed_content
        changed = sa.update(tables.plans).where(tables.plans.c.id == bad)
        tx.connection.execute(changed.values(content=str(text).replace('"a"', '"z"')))

    claimed = journal.claim(bad, good)

    assert [item.id for item in claimed] == [good]
    assert journal.state(bad) is PlanState.QUARANTINED
    with pytest.raises(PlanDamaged):
        _ = journal.get(bad).content


def test_a_purged_plan_says_so(local: Journal) -> None:
    [name] = local.propose(plan("F-1", "a"))
    with local.begin() as tx:
        tx.connection.execute(sa.update(tables.plans).values(content=None))

    with pytest.raises(PlanPurged, match="undo_window"):
        _ = local.get(name).content


def test_rows_in_plans_are_sealed_where_a_key_is_configured_and_open_only_in_their_place(tmp_path: Path) -> None:
    journal = Journal.at(STATE, tmp_path, seals=Seals([bytes(32)]))
    first, second = journal.propose(plan("F-1", "a", note="canary"), plan("F-2", "b"))
    [done] = journal.send(first).sent
    with journal.begin() as tx:
        effects.succeeded(tx, [(done, {"note": "canary"})])

    stored = journal.get(first)
    assert "canary" not in f"{stored.sealed_content}{stored.outcome}{stored!r}"
    assert (stored.content.changes[0].before or {})["note"] == ("t", "canary")
    assert stored.outcome_json() == {"note": "canary"}
    with journal.begin() as tx:
        moved = sa.update(tables.plans).where(tables.plans.c.id == second).values(content=stored.sealed_content)
        tx.connection.execute(moved)
    with pytest.raises(SealBroken):
        _ = journal.get(second).content
    journal.store.close()


@pytest.mark.slow
def test_plans_are_listed_in_bounded_memory(local: Journal) -> None:
    local.propose(*(plan(f"F-{n:04}", f"r{n}", rule="a" if n % 2 else "b") for n in range(1200)), policy="required")

    with local.store.read() as tx:
        listed = plans.find(tx, plans.PlanFilter(states=(PlanState.AWAITING,), rules=("a",)))
        first = next(listed)
        assert len([first, *listed]) == 600
        assert len(list(plans.find(tx, plans.PlanFilter(limit=7)))) == 7
        assert plans.counts(tx, "b") == {PlanState.AWAITING: 600}


# Claiming and sending


def test_claiming_raises_the_fence_and_takes_only_what_is_approved_and_due(journal: Journal) -> None:
    ready, waits, later = journal.propose(plan("F-1", "a"), plan("F-2", "b"), plan("F-3", "c"))
    with journal.begin() as tx:
        set_to = sa.update(tables.plans)
        tx.connection.execute(set_to.where(tables.plans.c.id == later).values(next_at=NOON + dt.timedelta(hours=1)))
        effects.withdraw(tx, [waits], "Not now.")

    claimed = journal.claim(ready, waits, later)

    assert [(item.id, item.fence, item.state) for item in claimed] == [(ready, 1, PlanState.CLAIMED)]
    assert claimed[0].keys == effects.keys_of(journal.store, TARGET, claimed[0].content)
    assert journal.claim(ready) == []


def test_what_is_sent_stands_with_its_keys_and_its_holds(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a", "b"))

    [sent] = journal.send(name).sent

    assert (sent.state, sent.attempts) == (PlanState.SENT, 1)
    rows = journal.rows(tables.effects)
    assert {row["key"] for row in rows} == set(sent.keys)
    assert {(row["state"], row["plan"], row["fingerprint"], row["generation"]) for row in rows} == {
        ("sent", name, "f1", 1)
    }
    assert not any(record("a") in str(row) for row in rows)
    names = {text: holds.name_of("customers", record(text)) for text in ("a", "b", "keeper")}
    assert held(journal, name) == {names["a"]: "surplus", names["b"]: "surplus", names["keeper"]: "keeper"}
    receipts = effects.receipts_of(journal.store, sent)
    assert [receipt.key for receipt in receipts] == sorted(sent.keys)
    assert {(receipt.fence, receipt.plan, receipt.epoch, receipt.fingerprint) for receipt in receipts} == {
        (1, name, 1, "f1")
    }


def test_a_batch_costs_a_few_statements_however_many_plans_it_has(journal: Journal) -> None:
    many = journal.propose(*(plan(f"F-{n}", f"r{n}", keeper=f"k{n}") for n in range(100)))
    statements: list[str] = []
    engine = journal.store._engine
    sa.event.listen(engine, "before_cursor_execute", lambda *output: statements.append(output[2]))

    sent = journal.send(*many).sent
    to_send, statements[:] = len(statements), []
    with journal.begin() as tx:
        effects.succeeded(tx, [(item, None) for item in sent])

    assert len(sent) == 100
    assert to_send <= 20  # six of them are the digest of the plans, which the log commits to
    assert len(statements) <= 17  # one of them writes the news of the plans


def test_one_key_is_never_sent_twice_even_in_one_batch(journal: Journal) -> None:
    first, second = journal.propose(plan("F-1", "a"), plan("F-2", "a"))
    with journal.begin() as tx:
        answer = effects.send(tx, effects.claim(tx, [first, second], ttl=dt.timedelta(minutes=1)))

    assert (len(answer.sent), len(answer.busy)) == (1, 1)
    assert answer.busy[0][0].state is PlanState.APPROVED
    assert len(journal.rows(tables.effects)) == 1


def test_what_was_done_already_is_planned_anew_without_it(journal: Journal) -> None:
    first, again = journal.propose(plan("F-1", "a"), plan("F-2", "a", "b"))
    journal.do(first)

    answer = journal.send(again)

    [(settled, why)] = answer.settled
    assert (settled.state, journal.state(again)) == (PlanState.SKIPPED, PlanState.SKIPPED)
    assert first in why
    assert {row["state"] for row in journal.rows(tables.effects)} == {"succeeded"}
    assert journal.rows(tables.holds) == []


@pytest.mark.parametrize("end", ["skipped", "failed"])
def test_what_is_proven_not_done_frees_its_key_for_another_plan(end: str, journal: Journal) -> None:
    first, again = journal.propose(plan("F-1", "a"), plan("F-2", "a", fingerprint="f2"))
    [sent] = journal.send(first).sent
    with journal.begin() as tx:
        getattr(effects, end)(tx, [(sent, "It changed.")])

    assert [item.id for item in journal.send(again).sent] == [again]
    [row] = journal.rows(tables.effects)
    assert (row["plan"], row["fingerprint"], row["state"]) == (again, "f2", "sent")


@pytest.mark.parametrize("standing", ["sent", "unknown", "quarantined", "succeeded"])
def test_another_payload_under_a_key_that_may_have_been_used_is_quarantined(standing: str, journal: Journal) -> None:
    first, again = journal.propose(plan("F-1", "a"), plan("F-2", "a", keeper="other", fingerprint="f2"))
    [sent] = journal.send(first).sent
    with journal.begin() as tx:
        if standing == "succeeded":
            effects.succeeded(tx, [(sent, None)])
        elif standing != "sent":
            sent = effects.outcome_unknown(tx, [sent], "The connection broke.")[0]
        if standing == "quarantined":
            effects.quarantined(tx, [(sent, "Nobody knows.")])
        answer = effects.send(tx, effects.claim(tx, [again], ttl=dt.timedelta(minutes=1)))

    [(conflict, why)] = answer.conflicts
    assert (conflict.state, "other content" in why) == (PlanState.QUARANTINED, True)
    [row] = journal.rows(tables.effects)
    assert (row["plan"], row["fingerprint"]) == (first, "f1")


def test_a_key_in_hand_elsewhere_waits_with_its_plan_approved(journal: Journal) -> None:
    first, again = journal.propose(plan("F-1", "a"), plan("F-2", "a"))
    journal.send(first)
    with journal.begin() as tx:
        answer = effects.send(tx, effects.claim(tx, [again], ttl=dt.timedelta(minutes=1)))

    assert (len(answer.busy), journal.state(again)) == (1, PlanState.APPROVED)
    assert journal.claim(again) == []
    journal.tick(seconds=6)
    assert len(journal.claim(again)) == 1


# Outcomes and fences


def test_whoever_lost_a_plan_writes_nothing_of_it_any_more(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"))
    [mine] = journal.send(name).sent
    with journal.begin() as tx:
        tx.connection.execute(sa.update(tables.plans).values(fence=2))

    with pytest.raises(ClaimLost) as caught, journal.begin() as tx:
        effects.succeeded(tx, [(mine, None)])

    assert caught.value.lost == (name,)
    assert journal.state(name) is PlanState.SENT
    with pytest.raises(ClaimLost), journal.begin() as tx:
        effects.renew(tx, [mine], dt.timedelta(minutes=1))
    with pytest.raises(ClaimLost), journal.begin() as tx:
        effects.transaction_is(tx, [mine], "tx-1")


def test_an_outcome_is_written_once(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"))
    [mine] = journal.send(name).sent
    with journal.begin() as tx:
        [done] = effects.succeeded(tx, [(mine, {"rows": []})])

    with pytest.raises(ClaimLost), journal.begin() as tx:
        effects.succeeded(tx, [(mine, None)])
    with pytest.raises(MoveRefused), journal.begin() as tx:
        effects.failed(tx, [(done, "No.")])
    assert (journal.get(name).outcome_json(), done.outcome_json()) == ({"rows": []}, {"rows": []})


def test_holds_end_with_the_effect_and_stay_through_doubt(journal: Journal) -> None:
    done, doubtful, again = journal.propose(plan("F-1", "a"), plan("F-2", "b"), plan("F-3", "c"))
    journal.do(done)
    [two, three] = sorted(journal.send(doubtful, again).sent, key=lambda item: [doubtful, again].index(item.id))
    with journal.begin() as tx:
        effects.quarantined(tx, [(effects.outcome_unknown(tx, [two], "It broke.")[0], "Nobody knows.")])
        effects.retry(tx, [three], PATIENT, kind="40001", reason="It was locked.")

    assert {row["plan"] for row in journal.rows(tables.holds)} == {doubtful, again}


def test_a_retry_is_the_same_for_everybody_who_computes_it_and_told_in_the_log(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"))
    [sent] = journal.send(name).sent
    with journal.begin() as tx:
        [waiting] = effects.retry(tx, [sent], PATIENT, kind="40001", reason="It was locked.").waiting

    expected = retry.decide(sent.keys[0], 0, PATIENT)
    assert waiting.next_at == NOON + expected.delay
    assert waiting.give_up_at == NOON + PATIENT.budget
    with journal.store.read() as tx:
        [entry] = log.entries(tx, event="operation.retry_wait")
    assert entry.body.items() >= {**expected.to_json(), "class": "40001", "attempts_left": 7}.items()
    assert journal.claim(name) == []
    journal.tick(minutes=5)
    [again] = journal.claim(name)
    assert (again.fence, again.attempts, again.keys) == (2, 1, sent.keys)


def test_a_budget_of_attempts_ends_and_frees_the_key(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"))
    for number in range(1, PATIENT.attempts + 1):
        [sent] = journal.send(name).sent
        with journal.begin() as tx:
            answer = effects.retry(tx, [sent], PATIENT, kind="40001", reason="It was locked.")
        assert sent.attempts == number
        journal.tick(hours=1)

    assert [item.state for item in answer.given_up] == [PlanState.FAILED]
    assert journal.rows(tables.holds) == []
    journal.propose(plan("F-1", "a", note="again"))


def test_a_budget_of_time_ends_too_and_an_open_breaker_burns_nothing(journal: Journal) -> None:
    slow, spared = journal.propose(plan("F-1", "a"), plan("F-2", "b"))
    journal.tick(minutes=1)
    sent = {item.id: item for item in journal.send(slow, spared).sent}
    journal.tick(hours=21)
    with journal.begin() as tx:
        late = effects.retry(tx, [sent[slow]], PATIENT, kind="08006", reason="Away.")
        kept = effects.retry(tx, [sent[spared]], PATIENT, kind="08006", reason="Away.", burn=False)

    assert (len(late.given_up), len(kept.waiting)) == (1, 1)
    assert kept.waiting[0].attempts == 0


def test_a_plan_given_back_unsent_costs_no_attempt(journal: Journal) -> None:
    fresh, tried = journal.propose(plan("F-1", "a"), plan("F-2", "b"))
    [sent] = journal.send(tried).sent
    with journal.begin() as tx:
        effects.retry(tx, [sent], PATIENT, kind="40001", reason="It was locked.")
    journal.tick(hours=1)
    claimed = journal.claim(fresh, tried)
    with journal.begin() as tx:
        effects.released(tx, claimed, "A person paused it.")

    assert (journal.state(fresh), journal.state(tried)) == (PlanState.APPROVED, PlanState.RETRY_WAIT)
    assert (journal.get(fresh).attempts, journal.get(tried).attempts) == (0, 1)


@pytest.mark.slow
def test_a_key_is_the_same_over_fifty_attempts_restarts_and_runs(local: Journal) -> None:
    """A new key an attempt, the run's id, or the rule's revision in it: the target could not tell the second from the
    first."""
    created = set()
    for number in range(50):
        [name] = local.propose(plan("F-1", "a", note=str(number), keeper=f"k{number}", rule=f"twins-{number % 3}"))
        sent = local.send(name).sent
        created |= {key for item in sent for key in item.keys}
        with local.begin() as tx:
            effects.skipped(tx, [(item, "It changed.") for item in sent])

    assert len(created) == 1
    assert len(local.rows(tables.effects)) == 1


def test_a_person_may_have_a_plan_tried_at_once_with_a_new_budget(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"))
    [sent] = journal.send(name).sent
    with journal.begin() as tx:
        effects.retry(tx, [sent], PATIENT, kind="40001", reason="It was locked.")
        [due] = effects.try_now(tx, [name], by="eve")

    assert (due.attempts, due.give_up_at) == (0, None)
    assert len(journal.claim(name)) == 1


def test_plans_that_expired_or_were_voided_are_skipped_unless_begun(journal: Journal) -> None:
    week = NOON + dt.timedelta(days=7)
    old, void, begun = journal.propose(plan("F-1", "a"), plan("F-2", "b"), plan("F-3", "c"), expires=week)
    journal.send(begun)
    with journal.begin() as tx:
        effects.lock_standing(tx, "twins")
        assert [item.id for item in effects.void(tx, ["F-2", "F-3"], "It grew.")] == [void]
    journal.tick(days=8)
    with journal.begin() as tx:
        assert [item.id for item in effects.expire(tx)] == [old]

    assert journal.state(begun) is PlanState.SENT


def test_over_a_limit_plans_that_asked_nobody_ask_people(local: Journal) -> None:
    with local.begin() as tx:
        local._know(tx, {"F-1"})
        [name] = effects.propose(tx, [plan("F-1", "a")], run=RUN, release="r1", policy="none")
        effects.to_people(tx, [name])

    assert (local.state(name), local.get(name).policy) == (PlanState.AWAITING, "required")


# Death and doubt


DIES = """
import sys; sys.path.insert(0, "tests")
from tests.reconcile.journal.journal import KEY, NOON, TTL
from reconcile.journal import effects
store = Store.open(url, root, key=KEY, clock=lambda: NOON)
with store.begin() as tx:
    held = effects.hold(tx, effects.claim(tx, wait().split(), ttl=TTL))
    if {send}:
        effects.send(tx, held.taken)
print("done")
wait()
"""


@pytest.mark.server
def test_a_plan_that_a_worker_elsewhere_took_while_the_clock_was_ahead_is_taken_over_minutes_after_it_is_seen(
    effects_postgres: str, tmp_path: Path
) -> None:
    journal = Journal.at(effects_postgres, tmp_path)
    [name] = journal.propose(plan("F-1", "a"))
    elsewhere = replace(lease.Owner.this_process(dt.timedelta(minutes=1)), boot="another boot", host="elsewhere")
    with journal.begin() as tx:
        effects.claim(tx, [name], owner=elsewhere, ttl=dt.timedelta(minutes=1))
    journal.tick(days=-30)

    def left() -> list[str]:
        with journal.begin() as tx:
            clock.shorten_waits(tx, dt.timedelta(0))
            return [item.id for item in effects.abandoned(tx)]

    seen = left()
    journal.tick(minutes=5)
    at_the_end = left()
    journal.tick(seconds=1)

    assert (seen, at_the_end, left()) == ([], [], [name])
    journal.store.close()


@pytest.mark.slow
@pytest.mark.parametrize("send", [False, True])
def test_the_plans_of_a_dead_worker_are_free_before_they_were_sent_and_in_doubt_after(
    send: bool, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    journal = Journal.at(url, tmp_path)
    [name] = journal.propose(plan("F-1", "a"))
    program = Program(DIES.format(send=send), url, tmp_path).ready().go()
    program._pipe.send(name)
    assert program.line() == "done"
    with journal.store.read() as tx:
        assert effects.abandoned(tx) == []

    program.kill()

    with journal.begin() as tx:
        [left] = effects.abandoned(tx, "shop")
        [taken] = effects.take_over(tx, [left.id])
        assert effects.take_over(tx, [left.id]) == []
    assert (left.id, left.owner.pid, taken.fence) == (name, program.pid, 2)
    assert journal.state(name) is (PlanState.UNKNOWN if send else PlanState.APPROVED)
    with journal.begin() as tx:
        [*doubtful] = effects.claim_unknown(tx, "shop", 10, ttl=dt.timedelta(minutes=1))
        assert effects.claim_unknown(tx, "shop", 10, ttl=dt.timedelta(minutes=1)) == []
        effects.succeeded(tx, [(item, None) for item in doubtful])
    assert journal.state(name) is (PlanState.SUCCEEDED if send else PlanState.APPROVED)
    journal.proven()
    journal.store.close()


def outcome_unknown(journal: Journal, name: str) -> ClaimedPlan:
    [sent] = journal.send(name).sent
    with journal.begin() as tx:
        return effects.outcome_unknown(tx, [sent], "The connection broke in COMMIT.")[0]


def test_what_the_resolver_finds_not_done_waits_or_is_skipped(journal: Journal) -> None:
    names = journal.propose(plan("F-1", "a"), plan("F-2", "b"), plan("F-3", "c"))
    item, two, three = (outcome_unknown(journal, name) for name in names)
    with journal.begin() as tx:
        effects.retry(tx, [item], PATIENT, kind="probe", reason="It was not done.")
        effects.skipped(tx, [(two, "It was not done, and the rows changed.")])
        effects.put_off(tx, [three], NOON + dt.timedelta(minutes=1))

    assert [journal.state(name) for name in names] == [
        *(PlanState.RETRY_WAIT, PlanState.SKIPPED, PlanState.UNKNOWN),
    ]
    with journal.begin() as tx:
        assert effects.claim_unknown(tx, "shop", 10, ttl=dt.timedelta(minutes=1)) == []
    journal.tick(minutes=2)
    with journal.begin() as tx:
        [again] = effects.claim_unknown(tx, "shop", 10, ttl=dt.timedelta(minutes=1))
    assert (again.id, again.fence, again.keys) == (names[2], three.fence + 1, three.keys)


@pytest.mark.parametrize(
    ("verdict", "state"),
    [("done", PlanState.SUCCEEDED), ("not_done", PlanState.RETRY_WAIT), ("abandon", PlanState.FAILED)],
)
def test_only_a_person_gets_a_plan_out_of_quarantine(
    verdict: effects.Verdict, state: PlanState, journal: Journal
) -> None:
    [name] = journal.propose(plan("F-1", "a"))
    doubtful = outcome_unknown(journal, name)
    with journal.begin() as tx:
        effects.quarantined(tx, [(doubtful, "Nobody knows.")])
    journal.tick(days=400)
    with journal.begin() as tx:
        assert effects.abandoned(tx) == []
        assert effects.expire(tx) == []
        assert effects.withdraw(tx, [name], "No.") == []
        after = effects.judged(tx, name, verdict, by="eve", reason="I looked.")

    assert (after.state, journal.state(name), journal.get(name).reason) == (state, state, "I looked.")
    with pytest.raises(effects.NotInQuarantine), journal.begin() as tx:
        effects.judged(tx, name, "done", by="eve", reason="Again.")
    with pytest.raises((ClaimLost, MoveRefused)), journal.begin() as tx:
        effects.succeeded(tx, [(doubtful, None)])


def test_the_key_of_an_abandoned_plan_is_never_used_again(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"))
    doubtful = outcome_unknown(journal, name)
    with journal.begin() as tx:
        effects.quarantined(tx, [(doubtful, "Nobody knows.")])
        effects.judged(tx, name, "abandon", by="eve", reason="Leave it.")
    [again] = journal.propose(plan("F-1", "a", note="again"))

    answer = journal.send(again)

    assert (answer.sent, len(answer.conflicts)) == ([], 1)
    assert journal.rows(tables.holds) != []  # of the one that is in quarantine now


# Undo


def undo_of(journal: Journal, name: str, **more: str) -> str:
    original = journal.get(name)
    [created] = journal.propose(plan(original.finding, "a", effect="delete.undo", undoes=name, **more))
    return created


def test_an_undo_takes_the_plan_it_undoes_along(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"))
    journal.do(name)
    undo = undo_of(journal, name)
    assert journal.state(name) is PlanState.SUCCEEDED

    [sent] = journal.send(undo).sent
    assert journal.state(name) is PlanState.COMPENSATING
    with journal.begin() as tx:
        effects.succeeded(tx, [(sent, None)])

    assert (journal.state(name), journal.state(undo)) == (PlanState.COMPENSATED, PlanState.SUCCEEDED)
    again = undo_of(journal, name, note="again")
    assert journal.send(again).settled != []
    assert journal.state(name) is PlanState.COMPENSATED


@pytest.mark.parametrize("end", ["skipped", "failed"])
def test_an_undo_that_is_not_done_leaves_what_it_would_undo(end: str, journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"))
    journal.do(name)
    [sent] = journal.send(undo_of(journal, name)).sent
    with journal.begin() as tx:
        getattr(effects, end)(tx, [(sent, "The rows changed.")])

    assert journal.state(name) is PlanState.SUCCEEDED
    assert [row["state"] for row in journal.rows(tables.effects) if row["plan"] == name] == ["succeeded"]


@pytest.mark.parametrize(
    ("verdict", "state"),
    [
        ("done", PlanState.COMPENSATED),
        ("not_done", PlanState.COMPENSATING),
        ("abandon", PlanState.SUCCEEDED),
    ],
)
def test_an_undo_in_doubt_keeps_what_it_undoes_in_quarantine_until_a_person_decides_about_the_undo(
    verdict: effects.Verdict, state: PlanState, journal: Journal
) -> None:
    [name] = journal.propose(plan("F-1", "a"))
    journal.do(name)
    undo = undo_of(journal, name)
    doubtful = outcome_unknown(journal, undo)
    with journal.begin() as tx:
        effects.quarantined(tx, [(doubtful, "Nobody knows.")])
    assert journal.state(name) is PlanState.QUARANTINED
    with pytest.raises(effects.UndoInQuarantine, match=undo), journal.begin() as tx:
        effects.judged(tx, name, "done", by="eve", reason="I looked.")

    with journal.begin() as tx:
        effects.judged(tx, undo, verdict, by="eve", reason="I looked.")

    assert journal.state(name) is state


# Lives of a record


def test_a_record_that_comes_back_lives_again_under_another_key(journal: Journal) -> None:
    name = holds.name_of("customers", record("a"))

    def generation() -> int:
        with journal.store.read() as tx:
            return effects.generations(tx, TARGET, [("delete", name)])["delete", name]

    [first] = journal.propose(plan("F-1", "a", note="old"))
    assert generation() == 1
    [sent] = journal.send(first).sent
    assert generation() == 1
    with journal.begin() as tx:
        effects.succeeded(tx, [(sent, None)])
    assert generation() == 2

    stranger = plan("F-2", "a", note="new", generation=2)
    restored = plan("F-2", "a", note="old", generation=2)
    with journal.store.read() as tx:
        assert (effects.restored(tx, stranger), effects.restored(tx, restored)) == (False, True)
    [second] = journal.propose(stranger)
    assert len(journal.do(second)) == 1
    assert generation() == 3
    with journal.store.read() as tx:
        [entry] = log.entries(tx, event="operation.id_reused")
    assert (entry.body["key_before"], entry.body["generation"]) == (sent.keys[0], 2)


def test_whether_a_record_was_restored_is_for_a_person_once_its_rows_are_purged(local: Journal) -> None:
    [first] = local.propose(plan("F-1", "a"))
    local.do(first)
    with local.begin() as tx:
        tx.connection.execute(sa.update(tables.plans).values(content=None))
        assert effects.restored(tx, plan("F-2", "a", generation=2))


def test_a_plan_names_those_that_were_carried_out_on_its_records_and_the_log_their_order(local: Journal) -> None:
    first, second, elsewhere = local.propose(plan("F-1", "a"), plan("F-2", "b"), plan("F-3", "c"))
    with local.begin() as tx:
        for finding, names in {"F-1": "ax", "F-2": "bx", "F-3": "cy"}.items():
            for position, name in enumerate(names):
                row = {"finding": finding, "record": record(name), "position": position, "role": "surplus"}
                tx.connection.execute(
                    sa.insert(tables.finding_members).values(row | {"values": [], "first_seen": NOON})
                )
    local.do(first)
    local.tick(minutes=1)
    local.do(second, elsewhere)

    with local.store.read() as tx:
        order = log.first_of(tx, [f"plan:{name}" for name in (second, first, "none")], ["operation.succeeded"])
        assert plans.sharing_with(tx, plans.get(tx, first)) == [second]
        assert plans.sharing_with(tx, plans.get(tx, second)) == [first]
    assert sorted(order, key=lambda item: order[item]) == [f"plan:{first}", f"plan:{second}"]


def test_an_owner_is_whoever_claimed(local: Journal) -> None:
    [name] = local.propose(plan("F-1", "a"))
    [mine] = local.claim(name)

    assert mine.owner is not None
    assert lease.Owner.from_json(mine.owner).pid == lease.Owner.this_process(dt.timedelta(0)).pid
    with local.begin() as tx:
        [renewed] = effects.renew(tx, [mine], dt.timedelta(hours=1))
        effects.released(tx, [renewed], "Enough.")
    assert local.get(name).owner is None


# How long operations take


@pytest.mark.slow
def test_times_of_operations_are_told_by_source_action_and_window_as_percentiles(journal: Journal) -> None:
    """A hundred operations of 1 to 100 s ended five days ago; today one succeeded at its second attempt, one failed."""
    for seconds in range(1, 101):
        [name] = journal.propose(plan(f"F-{seconds}", f"a{seconds}"))
        [sent] = journal.send(name).sent
        journal.tick(seconds=seconds)
        with journal.begin() as tx:
            effects.succeeded(tx, [(sent, None)])
    journal.tick(days=5)
    retried, failed = journal.propose(plan("F-retried", "b"), plan("F-failed", "c"))
    [first] = journal.send(retried).sent
    with journal.begin() as tx:
        effects.retry(tx, [first], PATIENT, kind="40001", reason="It was locked.")
    journal.tick(minutes=10)
    [second] = journal.send(retried).sent
    journal.tick(seconds=600)
    with journal.begin() as tx:
        effects.succeeded(tx, [(second, None)])
    [sent] = journal.send(failed).sent
    with journal.begin() as tx:
        effects.failed(tx, [(sent, "It was refused.")])

    with journal.store.read() as tx:
        windows = {name: tx.now - dt.timedelta(days=days) for name, days in (("day", 1), ("week", 7))}
        day, week = operation_times(tx, windows)

    assert (day.source, day.action) == ("shop", "delete")
    assert (day.window, day.ended, day.failed, day.retried) == ("day", 2, 1, 1)
    assert (day.p50, day.p95, day.p99) == (600, 600, 600)
    assert (week.window, week.ended, week.failed, week.retried) == ("week", 102, 1, 1)
    assert (week.p50, week.p95, week.p99) == (51, 96, 100)


def test_no_operation_has_no_times(local: Journal) -> None:
    with local.store.read() as tx:
        assert operation_times(tx, {"day": tx.now - dt.timedelta(days=1)}) == []


@pytest.mark.slow
def test_operations_in_flight_are_counted_by_their_plan(local: Journal) -> None:
    done, sent = local.propose(plan("F-1", "a"), plan("F-2", "b", "c"))
    local.do(done)
    local.send(sent)

    with local.store.read() as tx:
        assert stored_effects.numbers(tx, [PlanState.SENT]) == {sent: 2}
