"""The journal against a model: whatever happens to workers, replies and plans, every key is done at most once."""

import secrets
import tempfile
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from reconcile.findings.states import OVER, MoveRefused, PlanState
from reconcile.journal import effects, holds
from reconcile.journal.effects import ClaimedPlan, ClaimLost
from reconcile.schedule import retry
from reconcile.store import tables
from tests.reconcile.journal.journal import STATE, TARGET, TTL, Journal, claim_due, plan, record

DEAD = {"host": "h", "boot": "a-former-boot", "pids": "pid:[1]", "pid": 1, "started": 1, "boot_deadline": 0}
SURPLUS = st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=2)
FINDINGS = [f"F-{n}" for n in range(8)]
ENDS = ["done", "done", "done", "not done", "changed", "refused", "reply lost", "reply lost", "lost before"]


class Target:
    """What a target counts by itself: how often each key's effect was made. It takes each receipt once."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.of: dict[str, str] = {}

    def commit(self, claimed_plan: ClaimedPlan) -> bool:
        """One transaction: all of it, or nothing where a receipt stands."""
        if any(key in self.of for key in claimed_plan.keys):
            return False
        for key, operation in zip(claimed_plan.keys, claimed_plan.content.operations, strict=True):
            self.made[key] += 1
            self.of[key] = f"{claimed_plan.id}/{operation.fingerprint}"
        return True

    def has(self, claimed_plan: ClaimedPlan) -> bool:
        return all(self.of.get(key, "").startswith(f"{claimed_plan.id}/") for key in claimed_plan.keys)


class Work(RuleBasedStateMachine):
    """One journal, some workers, and everything that may go wrong between them and the target."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        with patch.object(secrets, "token_hex", lambda size: "5" * 2 * size):  # ids of plans, and so their order
            self.journal = Journal.at(STATE, Path(self.folder.name))
        self.target = Target()
        self.hands: dict[str, ClaimedPlan] = {}
        """What living workers have sent, and not yet written down."""
        self.zombies: list[ClaimedPlan] = []

    def teardown(self) -> None:
        self.journal.proven()
        self.journal.store.close()
        self.folder.cleanup()

    # What people and runs do

    @initialize()
    def begin(self) -> None:
        some = ("a", "b"), ("c",), ("d",), ("e", "f"), ("g",)
        self.journal.propose(*(plan(f"F-{n}", *surplus, keeper="x") for n, surplus in enumerate(some)))
        self.send(4)

    @rule(finding=st.sampled_from(FINDINGS), surplus=SURPLUS, keeper=st.sampled_from("xyzab"), other=st.booleans())
    def propose(self, finding: str, surplus: set[str], keeper: str, other: bool) -> None:
        """As the planner does: a record that was done away with and is there again is in its next life."""
        named = {member: ("delete", holds.name_of("customers", record(member))) for member in surplus - {keeper}}
        with self.journal.store.read() as tx:
            lives = effects.generations(tx, TARGET, list(named.values()))
        groups: dict[int, list[str]] = {}
        for value, pair in sorted(named.items()):
            groups.setdefault(lives[pair], []).append(value)
        for generation, some in list(groups.items())[:1]:
            fingerprint = "f2" if other else "f1"
            self.journal.propose(plan(finding, *some, keeper=keeper, fingerprint=fingerprint, generation=generation))

    @rule(finding=st.sampled_from(FINDINGS))
    def void(self, finding: str) -> None:
        with self.journal.begin() as tx:
            effects.void(tx, [finding], "It grew.")

    @rule(hours=st.sampled_from([0.01, 1, 30]))
    def wait(self, hours: float) -> None:
        self.journal.tick(hours=hours)

    # What workers do

    @rule(most=st.integers(1, 5))
    def send(self, most: int) -> None:
        with self.journal.begin() as tx:
            held = effects.hold(tx, claim_due(tx, "shop", most, ttl=TTL))
            for item, why in held.waiting:
                effects.released(tx, [item], str(why))
            self.hands |= {entry.id: entry for entry in effects.send(tx, held.taken).sent}

    @rule()
    def dies_before_it_sent(self) -> None:
        with self.journal.begin() as tx:
            claimed = claim_due(tx, "shop", 2, ttl=TTL)
            self._kill(tx, [item.id for item in claimed])

    @precondition(lambda self: self.hands)
    @rule(data=st.data(), end=st.sampled_from(ENDS))
    def carry_out(self, data: st.DataObject, end: str) -> None:
        item = self.hands.pop(data.draw(st.sampled_from(sorted(self.hands))))
        done = self.target.commit(item) if end in ("done", "reply lost") else False
        with self.journal.begin() as tx:
            if end == "done":
                assert done, "a key that was free for us stands in the target"
                effects.succeeded(tx, [(item, {"rows": 1})])
            elif end == "not done":
                effects.retry(tx, [item], retry.QUICK, kind="40001", reason="It was locked.")
            elif end == "changed":
                effects.skipped(tx, [(item, "It changed.")])
            elif end == "refused":
                effects.failed(tx, [(item, "It cannot be.")])
            else:
                [doubtful] = effects.outcome_unknown(tx, [item], "The connection broke in COMMIT.")
                effects.put_off(tx, [doubtful], tx.now)

    @precondition(lambda self: self.hands)
    @rule(data=st.data(), committed=st.booleans())
    def dies(self, data: st.DataObject, committed: bool) -> None:
        """SIGKILL after `sent` was durable; perhaps the target had committed. It may wake up again."""
        item = self.hands.pop(data.draw(st.sampled_from(sorted(self.hands))))
        if committed:
            assert self.target.commit(item)
        with self.journal.begin() as tx:
            self._kill(tx, [item.id])
        self.zombies.append(item)

    def _kill(self, tx: object, ids: list[str]) -> None:
        mine = sa.update(tables.plans).where(tables.plans.c.id.in_(ids))
        tx.connection.execute(mine.values(owner=DEAD))  # type: ignore[attr-defined]  # a Transaction

    @rule()
    def take_over(self) -> None:
        with self.journal.begin() as tx:
            effects.take_over(tx, [item.id for item in effects.abandoned(tx)])

    @rule(knows=st.booleans())
    def resolve(self, knows: bool) -> None:
        """Ask the target where that can be done; where not, a person will have to say."""
        with self.journal.begin() as tx:
            for item in effects.claim_unknown(tx, "shop", 5, ttl=TTL):
                if not knows:
                    effects.quarantined(tx, [(item, "Nobody knows.")])
                elif self.target.has(item):
                    effects.succeeded(tx, [(item, None)])
                else:
                    effects.retry(tx, [item], retry.QUICK, kind="probe", reason="It was not done.")

    @precondition(lambda self: self._quarantined())
    @rule(data=st.data(), abandon=st.booleans())
    def judge(self, data: st.DataObject, abandon: bool) -> None:
        """A person looks, and says what is true, or gives up. What conflicted was never sent."""
        name = data.draw(st.sampled_from(self._quarantined()))
        stored = ClaimedPlan.of(self.journal.get(name))
        mine = effects.keys_of(self.journal.store, stored.target, stored.content)
        done = self.target.has(stored.but(keys=mine))
        verdict: effects.Verdict = "abandon" if abandon else "done" if done else "not_done"
        with self.journal.begin() as tx:
            effects.judged(tx, name, verdict, by="eve", reason="I looked.")

    def _quarantined(self) -> list[str]:
        rows = self.journal.rows(tables.plans)
        return sorted(row["id"] for row in rows if row["state"] == PlanState.QUARANTINED.value)

    @precondition(lambda self: self.zombies)
    @rule(data=st.data())
    def wakes_up(self, data: st.DataObject) -> None:
        """A worker that was stopped past its lease writes its outcome; it may only while nobody took over."""
        item = data.draw(st.sampled_from(self.zombies))
        self.zombies.remove(item)
        stored = self.journal.get(item.id)
        still = (stored.fence, stored.state) == (item.fence, item.state)
        done = self.target.has(item)
        try:
            with self.journal.begin() as tx:
                if done:
                    effects.succeeded(tx, [(item, None)])
                else:
                    effects.skipped(tx, [(item, "It changed.")])
        except (ClaimLost, MoveRefused):
            assert not still
        else:
            assert still

    # What holds whatever happened

    @invariant()
    def no_key_is_done_twice(self) -> None:
        assert all(times == 1 for times in self.target.made.values())

    @invariant()
    def succeeded_is_done_and_what_was_done_is_never_called_not_done(self) -> None:
        for row in self.journal.rows(tables.effects):
            done = row["key"] in self.target.made
            state = PlanState(row["state"])
            if state is PlanState.SUCCEEDED:
                assert done
            if state in (PlanState.SKIPPED, PlanState.RETRY_WAIT) or (
                state is PlanState.FAILED and not row["outcome_unknown"]
            ):
                assert not done

    @invariant()
    def no_record_is_keeper_and_surplus(self) -> None:
        roles: dict[str, list[str]] = {}
        for row in self.journal.rows(tables.holds):
            roles.setdefault(row["record"], []).append(row["role"])
        assert all(set(role) == {"keeper"} or role == ["surplus"] for role in roles.values())

    @invariant()
    def what_is_over_holds_nothing(self) -> None:
        over = {row["id"] for row in self.journal.rows(tables.plans) if PlanState(row["state"]) in OVER}
        assert not over & {row["plan"] for row in self.journal.rows(tables.holds)}


@pytest.mark.slow
def test_whatever_happens_to_workers_and_replies_no_key_is_done_twice_or_lost() -> None:
    run_state_machine_as_test(
        Work,
        settings=settings(
            max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


class DoubtIsNotDone(Work):
    """A naive design: a failed COMMIT means that nothing was done."""

    @precondition(lambda self: self.hands)
    @rule(data=st.data())
    def carry_out_naively(self, data: st.DataObject) -> None:
        item = self.hands.pop(data.draw(st.sampled_from(sorted(self.hands))))
        self.target.commit(item)
        with self.journal.begin() as tx:
            effects.retry(tx, [item], retry.QUICK, kind="08006", reason="The connection broke in COMMIT.")


@pytest.mark.slow
def test_a_failed_commit_means_not_done() -> None:
    """The model sees it when a lost reply is taken for a no."""
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            DoubtIsNotDone,
            settings=settings(
                max_examples=50,
                stateful_step_count=20,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
                print_blob=False,
            ),
        )
