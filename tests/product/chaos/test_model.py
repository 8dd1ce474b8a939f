"""Whatever people, other programs, crashes and time do in whatever order: what holds always, holds.

A merge with references that asks or does not, and two rules that delete from one table and keep opposite records. Other
programs add, change and remove rows meanwhile; people approve, reject, undo and edit rules; processes are killed; the
clock is put forward. Checked after each step from what the database itself counted.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reconcile import points
from reconcile.findings.states import PlanState
from reconcile.store import tables
from tests.product.chaos.watched_world import (
    RULES,
    Json,
    Places,
    WatchedWorld,
    hold_everything,
    plans_of,
    tally,
    warmed,
)
from tests.support.crash_points import Fault
from tests.support.fork_server import Ended, Warm

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(3600)]
LONG = os.environ.get("RECONCILE_MODEL_EXAMPLES")
EXAMPLES = int(LONG or 4)
"""The short tier walks the same ways each time, some 3 s each; other ways are for `make chaos`."""
STEPS = int(os.environ.get("RECONCILE_MODEL_STEPS") or 40)

EMAILS = st.sampled_from(["a@x.example", "b@x.example", None])
REFS = st.sampled_from(["r1", "r2"])
PHONES = st.sampled_from([None, "1", "22", "333"])
LABELS = st.sampled_from(
    [
        label
        for label in points.LABELS
        if label.split(".")[0] in ("plan", "store", "target") and label != "target.changed"
    ]
)
WHICH = st.integers(0, 5)


def _orders(keep: str, **more: Any) -> Json:
    return {**RULES["copies"], "dataset": "orders", "key": ["ref"], "keep": [{keep: "id"}], **more}


MODEL_RULES: dict[str, Json] = {
    "twins": RULES["twins"],
    "firsts": _orders("first"),
    "lasts": _orders("last"),
}


class Life(RuleBasedStateMachine):
    """One world, its people, and everything that goes wrong."""

    warm: Warm

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="reconcile-model-"))
        self.places = Places(self.folder)
        self.world: WatchedWorld = self.places.world("sqlite", "sqlite", rules=json.loads(json.dumps(MODEL_RULES)))
        self.world.config["undo_window"] = "3650d"  # the rows of every plan are counted at the end
        self.world.write()
        self.ahead = 0.0
        self.seen = 0
        self.unchecked = False
        """Whether a command ran since the last check."""
        self.there: dict[str, dict[int, Json]] = {"customers": {}, "orders": {}}

    @initialize()
    def first_run(self) -> None:
        self._run("run", "nightly")

    # Other programs

    @rule(email=EMAILS, phone=PHONES, notes=st.integers(0, 2))
    def somebody_adds_a_customer(self, email: str | None, phone: str | None, notes: int) -> None:
        number = self.world.add("customers", email=email, phone=phone, city="here")
        for item in range(notes):
            self.world.add("notes", customer_id=number, body=f"{item}")

    @rule(email=EMAILS, count=st.integers(2, 4), phone=PHONES)
    def a_group_appears(self, email: str | None, count: int, phone: str | None) -> None:
        for _ in range(count):
            self.world.add("customers", email=email, phone=phone, city="there")

    @rule(which=WHICH, phone=PHONES)
    def somebody_edits_a_phone(self, which: int, phone: str | None) -> None:
        for number in self._some("customers", which):
            self.world.alter("customers", number, phone=phone)

    @rule(which=WHICH, email=EMAILS)
    def somebody_edits_an_email(self, which: int, email: str | None) -> None:
        for number in self._some("customers", which):
            self.world.alter("customers", number, email=email)

    @rule(which=WHICH)
    def somebody_removes_a_customer_without_notes(self, which: int) -> None:
        noted = {note["customer_id"] for note in self.world.rows("notes").values()}
        for number in self._some("customers", which):
            if number not in noted:
                self.world.remove("customers", number)

    @rule(which=WHICH)
    def somebody_adds_a_note(self, which: int) -> None:
        for number in self._some("customers", which):
            self.world.add("notes", customer_id=number, body="late")

    @rule(ref=REFS, count=st.integers(1, 3))
    def orders_come(self, ref: str, count: int) -> None:
        for _ in range(count):
            self.world.add("orders", ref=ref, status="ok", amount=1)

    @rule(which=WHICH, ref=REFS)
    def somebody_edits_an_order(self, which: int, ref: str) -> None:
        for number in self._some("orders", which):
            self.world.alter("orders", number, ref=ref)

    @rule(which=WHICH)
    def somebody_removes_an_order(self, which: int) -> None:
        for number in self._some("orders", which):
            self.world.remove("orders", number)

    # Reconcile and its people

    @rule()
    def it_runs(self) -> None:
        self._run("run", "nightly")

    @rule(label=LABELS, nth=st.integers(1, 2))
    def it_is_killed_while_it_runs(self, label: str, nth: int) -> None:
        self._run("run", "nightly", faults=[Fault(label, nth)])

    @rule(pages=st.integers(0, 6))
    def its_disk_is_full_while_it_runs(self, pages: int) -> None:
        file = self.world.store.removeprefix("sqlite:///")
        call = self.warm.call(
            "tests.product.chaos.child:with_few_pages", file, pages, "run", "nightly", cwd=self.world.folder, exits=True
        )
        ended = call.wait(120)
        assert ended.code in (0, 1, 3, 4), (ended.code, ended.err)

    @rule(name=st.sampled_from(["twins", "firsts"]), asks=st.sampled_from(["none", "required"]))
    def somebody_edits_who_is_asked(self, name: str, asks: str) -> None:
        self.world.config["rules"][name]["approval"] = asks
        self.world.write()

    @rule(strategy=st.sampled_from(["longest", "keep", "most_frequent"]))
    def somebody_edits_what_a_merge_does(self, strategy: str) -> None:
        self.world.config["rules"]["twins"]["clean"]["fields"] = {"phone": strategy}
        self.world.write()

    @rule(which=WHICH)
    def somebody_approves(self, which: int) -> None:
        self._decide("approve", which, "awaiting_approval")

    @rule(which=WHICH, label=LABELS)
    def somebody_approves_and_it_is_killed(self, which: int, label: str) -> None:
        self._decide("approve", which, "awaiting_approval", faults=[Fault(label)])

    @rule(which=WHICH)
    def somebody_rejects(self, which: int) -> None:
        self._decide("reject", which, "awaiting_approval")

    @rule(which=WHICH)
    def somebody_undoes(self, which: int) -> None:
        chosen = self._chosen(which, "cleaned")
        if chosen is None:
            return
        done = [plan for plan in plans_of(self.world, chosen) if plan.state is PlanState.SUCCEEDED and not plan.undoes]
        before = self.world.all_rows()
        ended = self._command("undo", chosen)
        after = self.world.all_rows()
        if ended.code not in (0, 1):
            assert after == before, "an undo that was refused changed something"
        elif done:
            self._took_back(done[-1], before, after)

    @rule(days=st.sampled_from([1, 8, 31]))
    @precondition(lambda self: self.ahead < 90 * 86400)
    def time_passes(self, days: int) -> None:
        self.ahead += days * 86400

    # What always holds

    @invariant()
    def a_group_keeps_a_survivor_and_nothing_dangles(self) -> None:
        """I6 and the references, replayed from the witness: no deletion of ours left a key without a record."""
        if not self.unchecked:
            return
        others = self.world.others
        for event in self.world.witness.events(self.seen):
            self.seen = event.seq
            rows = self.there.get(event.table)
            if rows is None:
                continue
            column = "email" if event.table == "customers" else "ref"
            if event.new is not None:
                rows[int(event.new["id"] or 0)] = dict(event.new)
            elif event.old is not None:
                rows.pop(int(event.old["id"] or 0), None)
                named = (event.table, "delete", str(event.old["id"]))
                if not others[named]:
                    value = event.old[column]
                    assert any(row[column] == value for row in rows.values()), f"nobody of {value} survives"
        notes = self.world.rows("notes")
        customers = self.world.rows("customers")
        assert all(note["customer_id"] in customers for note in notes.values()), "a note dangles"
        assert len(notes) == len(self.world.inserted["notes"]), "a note is lost"

    @invariant()
    def nothing_was_done_twice_or_unseen(self) -> None:
        if not self.unchecked:
            return
        self.unchecked = False
        came = tally(self.world, in_flight=True)
        assert (came.double, came.lost) == (0, 0), came

    def teardown(self) -> None:
        try:
            for _ in range(6):
                self.ahead += 3 * 3600
                self._run("run", "nightly")
                if not self.world.waiting():
                    break
            self.unchecked = True
            self.a_group_keeps_a_survivor_and_nothing_dangles()
            hold_everything(self.world)
            self._asked_before()
        finally:
            self.world.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _asked_before(self) -> None:
        """I8: what a rule asks people about was done only with somebody's approval of exactly that plan."""
        with self.world.opened() as store, store.read() as tx:
            given = set(tx.connection.execute(sa.select(tables.approvals.c.plan, tables.approvals.c.plan_hash)).all())
        for plan in plans_of(self.world):
            if plan.state in (PlanState.SUCCEEDED, PlanState.COMPENSATED) and plan.policy != "none":
                assert (plan.id, plan.plan_hash) in given or plan.undoes, f"nobody approved {plan.id}"

    # Means

    def _command(self, *arguments: str, **how: Any) -> Ended:
        call = self.warm.call(
            "tests.product.chaos.child:by_another_clock",
            self.ahead,
            *arguments,
            cwd=self.world.folder,
            exits=True,
            **how,
        )
        ended = call.wait(120)
        assert ended.killed or ended.code in (0, 1, 2, 3, 4), (arguments, ended.code, ended.err[-3000:])
        return ended

    def _run(self, *arguments: str, **how: Any) -> None:
        ended = self._command(*arguments, **how)
        refused = ended.code == 3 and "findings are unchanged" in ended.out  # emptied, or no keys: not "clean"
        is_put_off = ended.code == 3 and "Too many retries in this minute" in ended.out
        expected = ended.killed or refused or is_put_off or ended.code in (0, 1, 4)
        assert expected, (arguments, ended.code, ended.err[-3000:], ended.out[-2000:])

    def _some(self, table: str, which: int) -> list[int]:
        rows = sorted(self.world.rows(table))
        return [rows[which % len(rows)]] if rows else []

    def _chosen(self, which: int, state: str) -> str | None:
        with self.world.opened() as store, store.read() as tx:
            query = (
                sa.select(tables.findings.c.id).where(tables.findings.c.state == state).order_by(tables.findings.c.id)
            )
            result = list(tx.connection.execute(query).scalars())
        return result[which % len(result)] if result else None

    def _decide(self, what: str, which: int, state: str, **how: Any) -> None:
        chosen = self._chosen(which, state)
        if chosen is not None:
            self._command(what, chosen, **how)

    def _took_back(self, done: Any, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Every field that was as the cleaning had left it is as before the cleaning; the others are as they were."""
        for change in done.content.changes:
            table, key = change.row.table.rpartition(".")[2], int(dict(change.row.key)["id"][1])
            if change.is_guard or change.before is None:
                continue
            row = after[table].get(key)
            assert row is not None, f"{table} {key} did not come back"
            for column in change.after if change.after is not None else change.before:
                cell = change.before[column]
                assert row[column] == before[table].get(key, {}).get(column) or (
                    str(row[column]) == cell[1] if cell is not None else row[column] is None
                ), f"{table} {key}: {column} is {row[column]}"


@pytest.fixture(scope="module")
def life() -> Any:
    with warmed() as server:
        Life.warm = server
        yield Life


def test_whatever_happens_what_must_hold_holds(
    life: type[Life], record_property: Callable[[str, object], None]
) -> None:
    from hypothesis.stateful import run_state_machine_as_test  # noqa: PLC0415 - beside its use

    record_property("examples", EXAMPLES)
    run_state_machine_as_test(
        life,
        settings=settings(
            max_examples=EXAMPLES,
            derandomize=not LONG,
            phases=[item for item in Phase if LONG or item is not Phase.shrink],  # a short tier has no minutes for it
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
