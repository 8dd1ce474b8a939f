"""A call of another package's target: planned, shown, approved, sent once under any kill, and taken back once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from connectors.calls import Call
from notifications.base import MASK
from reconcile.app import Application
from reconcile.audit import log
from reconcile.cleaning.actions.base import AsksPerson
from reconcile.cleaning.execution import calling
from reconcile.cleaning.execution.execute import How, SentPlan
from reconcile.cleaning.undo import Final
from reconcile.config import load
from reconcile.findings import plan as plans
from reconcile.findings.identity import record_of
from reconcile.findings.shown import Finding
from reconcile.findings.states import OVER, PlanState, State
from reconcile.store import findings
from reconcile.store import plans as stored
from reconcile.upkeep import erasure
from reconcile.views import plans as plan_views
from tests.support.chance import spread
from tests.support.crash_points import Fault
from tests.support.fork_server import Ended, Warm
from tests.toys import install, packaged
from tests.toys.till import Till, calls

CONFIGURATION = """\
version: 1
state: sqlite:///state.db
sources:
  till: {type: till, folder: till, remembers: %(remembers)s}
datasets:
  payments: {source: till, id: id}
rules:
  charged-twice:
    kind: duplicates
    dataset: payments
    key: [order]
    where: refunded = 'no'
    keep: [{first: id}]
    clean: {action: refund, final: %(final)s}
    approval: %(approval)s
    limits: {records: 10, share: 100%%}
jobs: {nightly: {rules: all}}
"""
PAYMENTS = [
    {"id": "p1", "order": "A", "amount": "10.00"},
    {"id": "p2", "order": "A", "amount": "10.00"},
    {"id": "p3", "order": "B", "amount": "7.50"},
]
REFUND = {"refund": "p2", "amount": "10.00"}
CHARGE = {"charge": "p2"}
SENDING = (
    *("store.claimed", "limits.reserved", "holds.taken", "store.sent.before_commit", "store.sent.committed"),
    *("target.begun", "target.read_back", "target.before_commit", "target.committed"),
    *("store.done.before_commit", "store.done.committed"),
)
"""The points that the sending of a call reaches, in their order."""
AROUND_THE_CALL = ("store.sent.committed", "target.before_commit", "target.committed", "store.done.before_commit")
RESOLVING = ("resolve.begun", "resolve.asked", "resolve.committed")


@dataclass
class Counter:
    """A folder with a till whose order A was charged twice, and a configuration that refunds it."""

    folder: Path

    def write(self, **settings: str) -> None:
        given = {"remembers": "true", "final": "false", "approval": "required"}
        (self.folder / "reconcile.yaml").write_text(CONFIGURATION % (given | settings), encoding="utf-8")

    def pay(self, *payments: dict[str, str]) -> None:
        (self.folder / "till").mkdir(exist_ok=True)
        (self.folder / "till" / "payments.json").write_text(json.dumps(payments), encoding="utf-8")

    @property
    def calls(self) -> list[dict[str, Any]]:
        return calls(self.folder / "till")

    @property
    def sent(self) -> list[dict[str, str]]:
        return [call["sends"] for call in self.calls]

    def open(self) -> Application:
        return Application(load(self.folder / "reconcile.yaml", {}))

    def cut(self, when: str) -> None:
        (self.folder / "till" / "line").write_text(when, encoding="utf-8")

    def till(self) -> Till:
        return Till("till", Till.Settings(type="till", folder="till"), self.folder)

    def finding(self) -> Finding:
        with closing(self.open()) as application, application.store.read() as tx:
            [finding] = findings.find(tx)
            return finding

    def plans(self) -> list[stored.StoredPlan]:
        with closing(self.open()) as application, application.store.read() as tx:
            return list(stored.find(tx, stored.PlanFilter()))

    def holds(self) -> None:
        """No call was made twice, and the log explains every state."""
        keys = [call["key"] for call in self.calls]
        assert len(set(keys)) == len(keys), self.calls
        with closing(self.open()) as application:
            assert log.verify(application.store).intact


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counter:
    install(tmp_path, monkeypatch)
    till = Counter(tmp_path)
    till.pay(*PAYMENTS)
    till.write()
    return till


def proposed(till: Counter) -> str:
    """The id of the finding whose plan waits for approval."""
    with closing(till.open()) as application:
        application.run("nightly")
    finding = till.finding()
    assert finding.state is State.AWAITING
    return finding.id


@pytest.mark.slow
def test_a_call_is_planned_approved_made_once_and_taken_back_by_another_call(counter: Counter) -> None:
    finding = proposed(counter)
    with closing(counter.open()) as application:
        decisions = application.decisions("ann")

        answer = decisions.approve(finding)

        assert answer.ok, answer.sentence
        assert answer.sentence == f"{finding} is cleaned: 1 record refunded. Undo it: `reconcile undo {finding}`"
        assert counter.sent == [REFUND]

        application.run("nightly")

        assert counter.sent == [REFUND]

        undone = decisions.undo(finding)

        assert undone.failed == (), undone

    refund, charge = counter.calls
    assert charge["sends"] == CHARGE
    assert charge["after"] == refund["answer"] == {"reference": "re_1"}
    assert counter.finding().state is State.UNDONE
    counter.holds()


@pytest.mark.slow
def test_a_plan_shows_its_call_in_the_words_of_the_action(counter: Counter) -> None:
    finding = proposed(counter)
    with closing(counter.open()) as application:
        [rule_plans] = plan_views.chosen(application, [], [finding], show=True, limit=None)
        [view] = rule_plans
        assert isinstance(view, plan_views.PlanView)

        title, lines, remarks = view.title, view.lines, list(view.remarks)
        shown = plan_views.to_json(view)

    assert title == "1 record refunded"
    assert [(line.words or line.does, line.row) for line in lines] == [("stay", "id = p1"), ("refunded", "id = p2")]
    assert [(name, text) for name, _, text, _ in lines[1].fields] == list(REFUND.items())
    assert remarks[:2] == ["undo: yes", "  Another call takes it back, which the target may refuse."]
    assert shown["calls"] == [{"table": "payments", "row": {"id": "p2"}, "sends": REFUND}]
    assert shown["counts"]["calls"] == 1
    assert rule_plans.summary().title == "charged-twice: 1 plan, 1 surplus record, 1 call"


@pytest.mark.slow
def test_what_a_call_sends_is_masked_where_any_column_is_personal(counter: Counter) -> None:
    path = counter.folder / "reconcile.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("id: id}", "id: id, pii: [amount]}"), encoding="utf-8")
    finding = proposed(counter)
    with closing(counter.open()) as application:
        [rule_plans] = plan_views.chosen(application, [], [finding], show=False, limit=None)
        [view] = rule_plans
        assert isinstance(view, plan_views.PlanView)

        shown = plan_views.to_json(view)

    assert shown["calls"] == [{"table": "payments", "row": {"id": "p2"}, "sends": {"refund": MASK, "amount": MASK}}]


@pytest.mark.slow
def test_a_call_that_nothing_takes_back_says_so_before_its_approval(counter: Counter) -> None:
    counter.write(final="true", approval="none")
    with closing(counter.open()) as application:
        application.run("nightly")
        application.run("nightly")
    finding = counter.finding()
    with closing(counter.open()) as application:
        [rule_plans] = plan_views.chosen(application, [], [finding.id], show=True, limit=None)
        [view] = rule_plans
        assert isinstance(view, plan_views.PlanView)

        remarks = list(view.remarks)
        application.decisions("ann").approve(finding.id)
        with pytest.raises(Final, match="nothing takes back"):
            application.decisions("ann").undo(finding.id)

    assert finding.state is State.AWAITING, "people are asked about what is final, whatever the rule says"
    assert remarks[:2] == ["undo: none", "  Nothing takes back a call that was made: it is final."]
    assert counter.sent == [REFUND]


@pytest.mark.slow
def test_a_group_that_needs_several_calls_is_left_to_a_person(counter: Counter) -> None:
    counter.pay(*PAYMENTS, {"id": "p4", "order": "A", "amount": "10.00"})
    with closing(counter.open()) as application:
        application.run("nightly")

        with pytest.raises(AsksPerson, match="one record at a time, and this group needs 2 calls"):
            application.decisions("ann").approve(counter.finding().id)

    assert counter.calls == []


@pytest.mark.slow
def test_a_call_is_not_sent_once_its_payment_changed(counter: Counter) -> None:
    finding = proposed(counter)
    with closing(counter.open()) as application:
        application.decisions("ann").approve(finding, later=True)
        counter.pay(PAYMENTS[0], PAYMENTS[1] | {"amount": "12.00"}, PAYMENTS[2])

        application.clean_due()

    assert counter.calls == []
    assert [plan.state for plan in counter.plans()] == [PlanState.SKIPPED]


@pytest.mark.slow
def test_the_payment_is_compared_again_right_before_its_call(counter: Counter) -> None:
    proposed(counter)
    [plan] = counter.plans()
    till = counter.till()
    counter.pay(PAYMENTS[0], PAYMENTS[1] | {"amount": "12.00"}, PAYMENTS[2])

    result = calling.perform(till, SentPlan("P-1", plan.content, keys=("key",)), lambda: 20.0)

    assert (result.how, result.why) == (How.DRIFTED, "a row of payments changed since it was planned (amount)")
    assert counter.calls == []


@pytest.mark.slow
def test_a_call_whose_answer_was_lost_is_asked_about_and_not_sent_again(counter: Counter) -> None:
    counter.cut("after")
    finding = proposed(counter)
    with closing(counter.open()) as application:
        application.decisions("ann").approve(finding)

    assert counter.sent == [REFUND]
    assert counter.finding().state is State.CLEANED
    counter.holds()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cut", "verdict", "state"),
    [
        ("after", "done", State.CLEANED),
        ("after", "abandon", State.FAILED),
        ("after", "not_done", State.STALE),
        ("before", "not_done", State.CLEANED),
    ],
)
def test_a_call_that_nobody_can_tell_of_waits_for_a_person(
    counter: Counter, cut: str, verdict: Any, state: State
) -> None:
    counter.write(remembers="false")
    counter.cut(cut)
    finding = proposed(counter)
    with closing(counter.open()) as application:
        application.decisions("ann").approve(finding)
        application.run("nightly")

        assert counter.finding().state is State.QUARANTINED
        assert counter.sent == ([REFUND] if cut == "after" else [])

        counter.cut("")
        application.decisions("ann").judge(finding, verdict, note="seen at the till")
        application.clean_due()

    assert counter.sent == [REFUND], "wrongly judged as not made, it is not sent: the payment is refunded"
    assert counter.finding().state is state


@pytest.mark.slow
def test_a_state_restored_from_before_a_call_does_not_make_it_again(counter: Counter) -> None:
    finding = proposed(counter)
    shutil.copy(counter.folder / "state.db", counter.folder / "backup.db")
    with closing(counter.open()) as application:
        application.decisions("ann").approve(finding)
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (counter.folder / name).unlink(missing_ok=True)
    shutil.copy(counter.folder / "backup.db", counter.folder / "state.db")

    with closing(counter.open()) as application:
        answer = application.decisions("ann").approve(finding)
        assert "Its records changed since it was found" in answer.sentence

    assert counter.sent == [REFUND]


@pytest.mark.slow
def test_a_target_that_made_the_call_is_not_sent_it_although_the_state_knows_nothing(counter: Counter) -> None:
    proposed(counter)
    [plan] = counter.plans()
    till = counter.till()
    job = SentPlan("P-1", plan.content, keys=("key",))
    calling.perform(till, job, lambda: 20.0)

    result = calling.perform(till, job, lambda: 20.0)

    assert (result.how, result.answer) == (How.DONE_BEFORE, {"reference": "re_1"})
    assert counter.sent == [REFUND]


@pytest.mark.slow
def test_a_payment_that_was_refunded_before_is_refunded_again_only_by_a_person(counter: Counter) -> None:
    counter.write(approval="none")
    for _ in range(2):  # the first run only reports
        with closing(counter.open()) as application:
            application.run("nightly")
    assert counter.sent == [REFUND]
    till = counter.till()
    [plan] = counter.plans()
    till.call(Call(plan.content.calls[0].row, CHARGE), "by hand", 20.0)

    with closing(counter.open()) as application:
        application.run("nightly")

    assert counter.sent == [REFUND, CHARGE]
    assert counter.finding().state is State.AWAITING


@pytest.mark.slow
def test_erasing_a_record_erases_what_was_sent_about_it_and_what_took_it_back(counter: Counter) -> None:
    finding = proposed(counter)
    with closing(counter.open()) as application:
        application.decisions("ann").approve(finding)
        application.decisions("ann").undo(finding)

        wanted = erasure.of_record(application.store, "payments", record_of(("p2",)), ())
        erasure.erase(application.store, wanted, texts=(), actor="ann")

    assert [plan.sealed_content for plan in counter.plans()] == [None, None]


def test_a_plan_with_a_call_is_the_same_after_it_was_stored(counter: Counter) -> None:
    proposed(counter)
    [plan] = (stored_plan.content for stored_plan in counter.plans())
    without = replace(plan, calls=())
    more = replace(plan, calls=(replace(plan.calls[0], sends=REFUND | {"amount": "10.01"}),))

    again = plans.from_json(json.loads(plans.text_of(plan)))

    assert again == plan
    assert len({plan.plan_hash, without.plan_hash, more.plan_hash}) == 3
    assert "calls" not in plans.to_json(without), "plans of rows keep the hash they had"


def test_an_action_that_calls_is_refused_for_a_source_that_takes_no_calls(counter: Counter) -> None:
    path = counter.folder / "reconcile.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("{type: till, folder: till, remembers: true}", "{type: sql, url: sqlite:///a.db}").replace(
            "{source: till, id: id}", "{source: till, table: payments, id: id}"
        ),
        encoding="utf-8",
    )

    with pytest.raises(Exception, match="action `refund` makes calls, which sources of type `sql` do not take"):
        load(path, {})


# Kills


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    """A fork server that finds the toys."""
    with Warm(("tests.product.chaos.child", "tests.toys.till"), [packaged(tmp_path_factory.mktemp("toys"))]) as server:
        yield server


def command(warm: Warm, till: Counter, *arguments: str, **how: Any) -> Ended:
    return warm.cli(*arguments, cwd=till.folder, **how).wait(120)


def finish(warm: Warm, till: Counter) -> None:
    """Run until every plan is over or a person's, each time an hour later."""
    for hour in range(4):
        ended = warm.call(
            "tests.product.chaos.child:by_another_clock",
            hour * 3600,
            *("run", "nightly"),
            cwd=till.folder,
            exits=True,
        ).wait(120)
        assert ended.code in (0, 1, 4), (ended.out, ended.err)
        if all(plan.state in (*OVER, PlanState.QUARANTINED) for plan in till.plans()):
            break


@pytest.mark.slow
@pytest.mark.chaos
def test_the_points_at_which_a_call_is_killed_are_all_that_it_reaches(counter: Counter, warm: Warm) -> None:
    finding = proposed(counter)
    reached = counter.folder / "reached"

    assert command(warm, counter, "approve", finding, log=reached).code == 0

    labels = list(dict.fromkeys(reached.read_text().split()))
    assert [label for label in labels if label.startswith(("store.", "target.", "holds.", "limits."))] == list(SENDING)


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.parametrize("label", spread(SENDING, 6))
def test_a_call_is_sent_once_wherever_its_process_is_killed(counter: Counter, warm: Warm, label: str) -> None:
    finding = proposed(counter)

    assert command(warm, counter, "approve", finding, faults=[Fault(label)]).killed
    finish(warm, counter)

    assert counter.sent == [REFUND]
    assert counter.finding().state is State.CLEANED
    counter.holds()


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.parametrize("first", ["target.before_commit", "target.committed"])
@pytest.mark.parametrize("label", RESOLVING)
def test_a_call_is_sent_once_if_its_recovery_is_killed_too(
    counter: Counter, warm: Warm, first: str, label: str
) -> None:
    finding = proposed(counter)

    assert command(warm, counter, "approve", finding, faults=[Fault(first)]).killed
    assert command(warm, counter, "run", "nightly", faults=[Fault(label)]).killed
    finish(warm, counter)

    assert counter.sent == [REFUND]
    assert counter.finding().state is State.CLEANED
    counter.holds()


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.parametrize("label", ["undo.planned", "undo.committed", *AROUND_THE_CALL])
def test_a_call_is_taken_back_once_wherever_its_process_is_killed(counter: Counter, warm: Warm, label: str) -> None:
    finding = proposed(counter)
    with closing(counter.open()) as application:
        application.decisions("ann").approve(finding)

    assert command(warm, counter, "undo", finding, faults=[Fault(label)]).killed
    finish(warm, counter)
    command(warm, counter, "undo", finding)  # a person asks again, for one that never began

    assert counter.sent == [REFUND, CHARGE]
    assert counter.finding().state is State.UNDONE
    counter.holds()


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.parametrize(("label", "sent"), [("target.before_commit", []), ("target.committed", [REFUND])])
def test_a_killed_call_that_nobody_can_tell_of_is_not_sent_again(
    counter: Counter, warm: Warm, label: str, sent: list[dict[str, str]]
) -> None:
    counter.write(remembers="false")
    finding = proposed(counter)

    assert command(warm, counter, "approve", finding, faults=[Fault(label)]).killed
    finish(warm, counter)

    assert counter.sent == sent
    assert counter.finding().state is State.QUARANTINED
    assert [plan.state for plan in counter.plans()] == [PlanState.QUARANTINED]


@pytest.mark.slow
@pytest.mark.chaos
def test_a_kill_leaves_one_call_with_an_unknown_outcome_however_many_are_due(counter: Counter, warm: Warm) -> None:
    counter.write(remembers="false")
    counter.pay(*PAYMENTS, {"id": "p4", "order": "B", "amount": "7.50"})
    with closing(counter.open()) as application:
        application.run("nightly")
        for plan in counter.plans():
            application.decisions("ann").approve(plan.finding, later=True)

    assert command(warm, counter, "run", "nightly", faults=[Fault("target.committed")]).killed
    finish(warm, counter)

    assert sorted(call["refund"] for call in counter.sent) == ["p2", "p4"]
    assert sorted(plan.state.value for plan in counter.plans()) == ["quarantined", "succeeded"]
