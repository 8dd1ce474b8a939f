"""What was done is taken back: field by field, newest first, and nothing that somebody else wrote since is lost."""

import datetime as dt
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.target import TargetError, TransactionOutcome
from reconcile import points
from reconcile.audit import log
from reconcile.cleaning.execution.execute import How, TransactionLimits, perform
from reconcile.cleaning.inverse import inverse, rows_of
from reconcile.cleaning.undo import Conflicts, NothingToUndo, TooLate
from reconcile.coordination import pauses
from reconcile.decisions import decide
from reconcile.decisions.refusals import NothingProposed
from reconcile.findings.plan import Plan
from reconcile.findings.states import PlanState
from tests.reconcile.cleaning.customer_shop import CustomerShop, job
from tests.support.chance import examples
from tests.support.cli import Project
from tests.support.shop import LOCAL, Shop
from tests.support.world import DELETE, TWO, World, commit_unanswered

pytestmark = pytest.mark.slow

MARK = {"clean": {"action": "set", "values": {"name": "twin"}}, "where": "name <> 'twin'"}
ALONE = {"approval": "none"}
FOUR = (*TWO, (4, "b@x", "Bo"))


def _cleaned(tmp_path: Path, *rows: tuple[Any, ...], **rules: Any) -> World:
    world = World.at(tmp_path / "w", *rows, **rules)
    world.run()
    world.run()
    return world


def test_a_deleted_record_is_there_again_as_it_was_and_its_finding_is_settled(tmp_path: Path) -> None:
    world = _cleaned(tmp_path, *TWO, twins=DELETE | ALONE)
    assert world.shop.ids() == [1, 3]

    undone = world.undo(world.only())
    world.run()

    assert undone.undone == (world.only(),)
    assert world.shop.rows() == list(TWO)
    assert world.findings() == {world.only(): "undone"}
    assert [plan.state for plan in world.plans()] == [PlanState.COMPENSATED, PlanState.SUCCEEDED]
    assert world.intact()


def test_undoing_twice_is_undoing_once(tmp_path: Path) -> None:
    world = _cleaned(tmp_path, *TWO, twins=DELETE | ALONE)
    world.undo(world.only())

    again = world.undo(world.only())

    assert (again.undone, again.undone_before) == ((), (world.only(),))
    assert world.shop.rows() == list(TWO)


def test_an_undo_of_what_was_never_cleaned_is_refused(tmp_path: Path) -> None:
    world = World.at(tmp_path, *TWO, twins=DELETE)
    world.run()

    with pytest.raises(NothingToUndo):
        world.undo(world.only())


def test_a_whole_run_is_taken_back(tmp_path: Path) -> None:
    world = _cleaned(tmp_path, *FOUR, twins=DELETE | ALONE)
    assert world.shop.ids() == [1, 3]
    run = world.plans()[0].run

    undone = world.undo(run=run)

    assert sorted(undone.undone) == sorted(world.findings())
    assert world.shop.rows() == list(FOUR)


def test_a_field_that_somebody_changed_since_stops_the_undo_and_is_named(tmp_path: Path) -> None:
    world = _cleaned(tmp_path, *FOUR, twins=MARK | ALONE)
    assert [row[2] for row in world.shop.rows()] == ["Anna", "twin", "Bob", "twin"]
    world.shop.sql("UPDATE customers SET name = 'theirs' WHERE id = 2")
    run = world.plans()[0].run

    with pytest.raises(Conflicts, match=r"a row of customers changed since \(name\)"):
        world.undo(run=run)
    assert [row[2] for row in world.shop.rows()] == ["Anna", "theirs", "Bob", "twin"]

    partly = world.undo(run=run, partial=True)
    assert [row[2] for row in world.shop.rows()] == ["Anna", "theirs", "Bob", "Bo"]
    assert len(partly.conflicts) == 1


def test_other_fields_of_the_row_keep_what_others_wrote(tmp_path: Path) -> None:
    world = _cleaned(tmp_path, *TWO, twins=MARK | ALONE)
    world.shop.sql("UPDATE customers SET email = 'new@x' WHERE id = 2")

    world.undo(world.only())

    assert world.shop.rows() == [(1, "a@x", "Anna"), (2, "new@x", "Ann"), (3, "b@x", "Bob")]


def test_an_id_that_somebody_took_since_is_a_conflict(tmp_path: Path) -> None:
    world = _cleaned(tmp_path, *TWO, twins=DELETE | ALONE)
    world.add((2, "z@x", "Zoe"))

    with pytest.raises(Conflicts, match="now has the id of a deleted row"):
        world.undo(world.only())
    assert (2, "z@x", "Zoe") in world.shop.rows()


def test_a_later_cleaning_of_the_same_rows_is_named_and_taken_back_first(tmp_path: Path) -> None:
    first = {"clean": {"action": "set", "values": {"name": "one"}}, "where": "name <> 'one' and name <> 'two'"}
    second = {
        "clean": {"action": "set", "values": {"name": "two"}},
        "where": "name = 'one' or id = 1",
        "severity": "low",
    }
    world = World.at(tmp_path / "w", *TWO, early=first | ALONE, late=second | ALONE)
    for _ in range(4):
        world.run()
    assert [row[2] for row in world.shop.rows()] == ["Anna", "two", "Bob"]
    early = next(plan.finding for plan in world.plans() if plan.rule == "early")
    late = next(plan.finding for plan in world.plans() if plan.rule == "late")

    with pytest.raises(Conflicts, match=f"{late}; `--with-later`"):
        world.undo(early)
    world.undo(early, with_later=True)

    assert world.shop.rows() == list(TWO)
    assert world.findings() == {early: "undone", late: "undone"}


def test_after_the_undo_window_it_is_too_late_and_says_so(tmp_path: Path) -> None:
    world = _cleaned(tmp_path, *TWO, twins=DELETE | ALONE)
    world.clock = dt.datetime.now(dt.UTC) + dt.timedelta(days=31)

    with pytest.raises(TooLate, match="deleted: after 30 days"):
        world.undo(world.only())
    assert world.shop.ids() == [1, 3]


def test_what_was_undone_can_be_opened_and_cleaned_again(tmp_path: Path) -> None:
    world = _cleaned(tmp_path, *TWO, twins=DELETE | ALONE)
    world.undo(world.only())
    with world.open() as application:
        decide.reopen(application.store, world.only(), actor="anna")
    world.run()

    assert world.approve(world.only()).ok
    assert world.shop.ids() == [1, 3]


def test_later_cleanings_are_told_by_the_order_they_were_done_in_though_the_clock_was_set_back(tmp_path: Path) -> None:
    first = {"clean": {"action": "set", "values": {"name": "one"}}, "where": "name <> 'one' and name <> 'two'"}
    second = {"clean": {"action": "set", "values": {"name": "two"}}, "where": "name = 'one' or id = 1"}
    world = World.at(tmp_path / "w", *TWO, early=first | ALONE, late=second)
    now = dt.datetime.now(dt.UTC)
    for ago in (0, 0, 2):  # the later one is done two hours before the earlier one, as the clock has it
        world.clock = now - dt.timedelta(hours=ago)
        world.run()
    [early] = [plan.finding for plan in world.plans() if plan.rule == "early"]
    [late] = [plan.finding for plan in world.plans() if plan.rule == "late"]
    assert world.approve(late).ok
    assert [row[2] for row in world.shop.rows()] == ["Anna", "two", "Bob"]
    [done, later] = [next(p.ended_at for p in world.plans(name)) for name in (early, late)]
    assert done is not None
    assert later is not None
    assert later < done

    with pytest.raises(Conflicts, match=f"{late}; `--with-later`"):
        world.undo(early)
    world.undo(early, with_later=True)

    assert world.shop.rows() == list(TWO)


# An undo that has to wait


def _pause(world: World, *, rule: str = "twins") -> None:
    with world.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_rule(rule), reason="a look", by="anna")


def _resume(world: World, *, rule: str = "twins") -> None:
    with world.open() as application, application.store.begin() as tx:
        pauses.resume(tx, pauses.of_rule(rule), by="anna")


def _waiting(tmp_path: Path, rule: dict[str, Any] = MARK) -> World:
    """A cleaning of which an undo was asked for, which a pause keeps from being done."""
    world = _cleaned(tmp_path, *TWO, twins=rule | ALONE)
    _pause(world)
    [(_, why)] = world.undo(world.only(), note="two people").failed
    assert "is paused" in why
    assert f"`reconcile retry {world.only()}` tries it now" in why
    assert f"`reconcile reject {world.only()}` withdraws it" in why
    return world


def _refuses(world: World) -> None:
    world.shop.sql(
        "CREATE TRIGGER no BEFORE UPDATE ON customers WHEN NEW.name = 'Ann' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )


def _changes(world: World) -> None:
    world.shop.sql("UPDATE customers SET name = 'theirs' WHERE id = 2")


UNTOLD = "1 undo did not complete."


@pytest.mark.parametrize("how", ["serve", "run"])
@pytest.mark.parametrize("happens", [_changes, _refuses])
def test_an_undo_that_waited_and_cannot_be_done_is_told_once_to_whoever_hears_of_the_rule(
    tmp_path: Path, happens: Callable[[World], None], how: str
) -> None:
    world = _waiting(tmp_path)
    happens(world)
    _resume(world)
    told = world.messages()

    if how == "serve":
        with world.open() as application:
            application.clean_due()
    first = world.run()
    second = world.run()

    news = world.messages().removeprefix(told)
    assert news.count(UNTOLD) == 1
    why = {_changes: "changed since it was planned (name)", _refuses: "A constraint of the target forbids it"}
    assert why[happens] in news
    assert f"reconcile show {world.only()}" in news
    assert world.findings() == {world.only(): "cleaned"}
    assert world.events("finding.not_undone") == ["finding.not_undone"]
    assert (first.refused, second.refused) == (how == "run", False)
    assert world.intact()


def test_a_finding_that_waits_for_somebody_is_not_told_again_because_an_undo_of_it_was_not_done(tmp_path: Path) -> None:
    """It came back while the undo waited, and its new plan was told already."""
    world = _waiting(tmp_path, {"clean": {"action": "set", "values": {"name": "twin"}}})
    world.rules["twins"] |= {"approval": "required"}
    world.add((9, "a@x", "Anne"))
    world.run()
    assert world.findings() == {world.only(): "awaiting_approval"}
    _changes(world)
    _resume(world)
    told = world.messages()

    with world.open() as application:
        application.clean_due()
    world.run()

    news = world.messages().removeprefix(told)
    assert news.count(UNTOLD) == 1
    assert "awaits approval" not in news


def test_a_rule_that_cannot_be_checked_tells_of_its_undo_all_the_same(tmp_path: Path) -> None:
    world = _waiting(tmp_path)
    _changes(world)
    _resume(world)
    with world.open() as application:
        application.clean_due()
    told = world.messages()

    world.shop.sql("ALTER TABLE customers RENAME TO elsewhere")
    world.run()
    world.shop.sql("ALTER TABLE elsewhere RENAME TO customers")
    world.run()

    assert world.messages().removeprefix(told).count(UNTOLD) == 1


def test_an_undo_of_which_nobody_knows_whether_it_was_done_is_told_too(tmp_path: Path) -> None:
    world = _waiting(tmp_path, DELETE)
    _resume(world)

    with commit_unanswered(), world.open() as application:
        application.clean_due()
    world.bury()
    staging = World.at(tmp_path / "staging", *TWO)
    world.config["sources"] = {"shop": {"type": "sql", "url": f"sqlite:///{staging.folder}/shop.db"}}
    with world.open() as application:
        application.clean_due()
    told = world.messages()
    world.config.clear()
    world.run()

    assert world.messages().removeprefix(told).count(UNTOLD) == 1
    undo = next(plan.id for plan in world.plans() if plan.undoes)
    with world.decisions() as decisions:
        assert "The undo of" in decisions.judge(undo, "done").sentence
    assert world.intact()


def test_an_undo_that_waits_can_be_withdrawn_and_asked_for_again(tmp_path: Path) -> None:
    world = _waiting(tmp_path)

    with world.decisions("ben") as decisions:
        decision = decisions.reject(world.only(), note="one person after all")
        with pytest.raises(NothingProposed):
            decisions.reject(world.only())
    _resume(world)
    with world.open() as application:
        application.clean_due()
        with application.store.read() as tx:
            [by] = [entry.actor for entry in log.entries(tx, finding=world.only(), event="plan.skipped")]

    assert "is withdrawn" in decision.sentence
    assert (world.findings(), by) == ({world.only(): "cleaned"}, "ben")
    assert [row[2] for row in world.shop.rows()] == ["Anna", "twin", "Bob"]
    assert world.events("finding.not_undone") == []
    assert world.undo(world.only()).undone == (world.only(),)
    assert world.intact()


def test_an_undo_that_waits_is_not_called_done_when_it_is_asked_for_again(tmp_path: Path) -> None:
    world = _waiting(tmp_path)

    again = world.undo(world.only())

    assert (again.undone_before, [finding for finding, _ in again.failed]) == ((), [world.only()])


def test_an_undo_that_was_tried_and_waits_for_its_next_attempt_can_be_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = _cleaned(tmp_path, *TWO, twins=MARK | ALONE | {"retry": "patient"})

    def fail(reached: str) -> None:
        if reached == "target.before_commit":
            raise TargetError("It was not done", TransactionOutcome.NOT_DONE)

    monkeypatch.setattr(points, "armed", fail)
    with world.decisions() as decisions:
        replace(decisions, patience=dt.timedelta(0)).undo(world.only())
    monkeypatch.setattr(points, "armed", None)
    with world.decisions() as decisions:
        decisions.reject(world.only())

    assert [plan.state for plan in world.plans()] == [PlanState.SUCCEEDED, PlanState.SKIPPED]
    assert world.findings() == {world.only(): "cleaned"}
    assert world.undo(world.only()).undone == (world.only(),)
    assert world.intact()


def test_an_undo_that_waited_and_is_tried_by_hand_says_what_became_of_it(tmp_path: Path) -> None:
    world = _waiting(tmp_path)
    with world.decisions() as decisions:
        waits = decisions.retry(world.only())
    _resume(world)
    with world.decisions() as decisions:
        done = decisions.retry(world.only())

    assert (waits.ok, done.ok) == (False, True)
    assert waits.sentence.startswith(f"The undo of {world.only()} waits: ")
    assert done.sentence.startswith(f"{world.only()} is undone: ")


@pytest.mark.parametrize("born", ["", " ON DELETE CASCADE"])
def test_who_may_refer_to_a_moved_record_since_the_undo_was_planned_stops_it(tmp_path: Path, born: str) -> None:
    """Nobody looked at these rows, which nobody planned to lose."""
    world = World.at(tmp_path / "w", *TWO, twins={"clean": {"action": "move", "to": "kept"}})
    world.shop.sql("CREATE TABLE kept (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))")
    world.run()
    world.approve(world.only())
    _pause(world)
    world.undo(world.only())
    world.shop.sql(
        f"CREATE TABLE notes (id INTEGER PRIMARY KEY, of INTEGER REFERENCES kept (id){born})",
        "INSERT INTO notes VALUES (1, 2)",
    )
    _resume(world)

    with world.open() as application:
        tally = application.clean_due()

    assert tally is not None
    assert "a reference to it, changed since it was planned" in tally.reasons[0]
    assert (world.shop.rows("kept"), world.shop.rows("notes")) == ([(2, "a@x", "Ann")], [(1, 2)])
    assert world.findings() == {world.only(): "cleaned"}


def test_another_table_that_is_made_while_an_undo_waits_does_not_stop_it(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins={"clean": {"action": "move", "to": "kept"}})
    world.shop.sql("CREATE TABLE kept (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))")
    world.run()
    world.approve(world.only())
    _pause(world)
    world.undo(world.only())
    world.shop.sql(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, of INTEGER)", "ALTER TABLE customers ADD COLUMN age INTEGER"
    )
    _resume(world)

    with world.open() as application:
        application.clean_due()

    assert (world.shop.ids(), world.shop.rows("kept")) == ([1, 2, 3], [])


@pytest.mark.parametrize("label", ["undo.planned", "undo.committed", "store.sent.committed", "target.committed"])
def test_an_undo_that_is_killed_anywhere_is_finished_once(tmp_path: Path, label: str) -> None:
    world = _cleaned(tmp_path, *TWO, twins=DELETE | ALONE)

    with world.killed_at(label):
        world.undo(world.only())

    for pause in (0, 1.1):  # what the target was asked about is tried again after a moment
        time.sleep(pause)
        with world.open() as application:
            application.clean_due()
    if label == "undo.planned":
        world.undo(world.only())

    assert world.shop.rows() == list(TWO)
    assert world.findings() == {world.only(): "undone"}
    assert world.intact()


def test_the_run_after_an_undo_that_was_killed_finishes_it_and_tells_it_once(tmp_path: Path) -> None:
    world = _cleaned(tmp_path, *TWO, twins=DELETE | ALONE)
    messages = world.messages()

    with world.killed_at("target.committed"):
        world.undo(world.only())

    report = world.run()

    assert world.findings() == {world.only(): "undone"}
    told = world.messages().removeprefix(messages)
    assert (world.cleaning(report), told.count("── notice"), told.count("twins: 1 undone")) == ({}, 1, 1)
    assert world.shop.rows() == list(TWO)
    assert world.cleaning(world.run()) == {}
    assert (world.messages(), world.intact()) == (messages + told, True)


# Any rows, any plan, any edits by others

NAMES = st.sampled_from(["Anna", "anna", "Ann ", "", "Ä"])
EDITS = st.lists(
    st.tuples(st.sampled_from(["name", "email", "status", "delete", "order"]), st.integers(1, 5), NAMES), max_size=5
)
LIMITS = TransactionLimits(lambda: 20.0)


@settings(max_examples=examples(60))
@given(
    names=st.lists(NAMES, min_size=5, max_size=5),
    action=st.sampled_from(["delete", "mark", "repoint"]),
    orders=st.lists(st.integers(1, 5), max_size=4),
    edits=EDITS,
)
def test_undo_of_apply_restores_every_field_nobody_touched_and_reports_every_other(
    names: list[str], action: str, orders: list[int], edits: list[tuple[str, int, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shop = CustomerShop.at(LOCAL, Path(folder))
        try:
            for number, name in enumerate(names, 1):
                shop.add(number, name=name)
            for number, customer in enumerate(orders, 1):
                shop.order(number, customer)
            _undo_of_apply(shop, _plan(shop, action, orders), edits)
        finally:
            shop.close()


def _plan(shop: CustomerShop, action: str, orders: list[int]) -> Plan:
    mine = [number for number, customer in enumerate(orders, 1) if customer == 2]
    if action == "mark":
        return shop.marking(1, 2, 3, status="twin", name="gone")
    if action == "repoint" or mine:
        return shop.repointing(1, 2, *mine)
    return shop.deletion(1, 2)


def _undo_of_apply(shop: CustomerShop, plan: Plan, edits: list[tuple[str, int, str]]) -> None:
    assert shop.target.remembers()
    before = _cells(shop)
    [result] = perform(shop.target, [job(plan, "a")], LIMITS)
    assert result.how is How.DONE
    assert result.images is not None
    done = _cells(shop)
    for what, number, name in edits:
        _edit(shop, what, number, name)
    edited = _cells(shop)

    names = rows_of(result.images)
    with shop.target.work(20.0) as work:
        now = {name: dict(row.cells) for name, row in work.lock(names).items()}
    undo = inverse("a", plan, result.images, now)
    if undo.plan is not None:
        [undone] = perform(shop.target, [job(undo.plan, "b")], LIMITS)
        assert undone.how in (How.DONE, How.CONFLICT)
        if undone.how is How.CONFLICT:  # somebody deleted a record that a restored one refers to
            assert _cells(shop) == edited
            return
    after = _cells(shop)

    for cell in before.keys() | done.keys() | edited.keys():
        touched = done.get(cell) != edited.get(cell)
        assert after.get(cell) == (edited.get(cell) if touched else before.get(cell)) or undo.conflicts, cell
        if touched and cell in done:
            assert after.get(cell) == edited.get(cell), "what others wrote stays"


def _cells(shop: CustomerShop) -> dict[tuple[str, int, str], Any]:
    """Every field of every row, by table, id and column."""
    result = {}
    for table, columns in (("customers", ("email", "name", "status", "touched")), ("orders", ("customer", "total"))):
        for row in shop.sql(f"SELECT id, {', '.join(columns)} FROM {table}"):
            result |= {(table, row[0], name): value for name, value in zip(columns, row[1:], strict=True)}
    return result


def _edit(shop: CustomerShop, what: str, number: int, name: str) -> None:
    if what == "delete":
        shop.sql(f"DELETE FROM orders WHERE customer = {number}", f"DELETE FROM customers WHERE id = {number}")
    elif what == "order":
        shop.sql(f"INSERT OR IGNORE INTO orders SELECT 90 + {number}, id, 5 FROM customers WHERE id = {number}")
    else:
        shop.sql(f"UPDATE customers SET {what} = '{name}' WHERE id = {number}")


# On the other databases, by example


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgres_url", "mariadb_url"])
def test_what_was_deleted_marked_and_moved_comes_back_on_every_database(
    request: pytest.FixtureRequest, tmp_path: Path, server: str
) -> None:
    shop = CustomerShop.at(request.getfixturevalue(server), tmp_path)
    shop.add(1, 2, 3, 4, name="Änne ")
    shop.order(7, 2)
    assert shop.target.remembers()
    before = (shop.customers(), shop.sql("SELECT * FROM orders"))
    plans = {"a": shop.repointing(1, 2, 7), "b": shop.marking(3, 4, status="twin")}
    results = perform(shop.target, [job(plan, name) for name, plan in plans.items()], LIMITS)
    assert {item.how for item in results} == {How.DONE}

    for result in results:
        assert result.images is not None
        with shop.target.work(20.0) as work:
            now = {name: dict(row.cells) for name, row in work.lock(rows_of(result.images)).items()}
        undo = inverse(result.job.id, result.job.plan, result.images, now)
        assert undo.plan is not None
        assert not undo.conflicts
        [undone] = perform(shop.target, [job(undo.plan)], LIMITS)
        assert undone.how is How.DONE, undone.why

    assert (shop.customers(), shop.sql("SELECT * FROM orders")) == before
    shop.close()


@pytest.mark.parametrize(
    "key",
    [["email", "name"], [{"email": ["mailbox"]}], ["name"]],
    ids=["one column more", "another normaliser", "another column"],
)
def test_what_was_taken_back_is_not_cleaned_again_when_the_key_of_its_rule_was_edited(
    tmp_path: Path, key: list[Any]
) -> None:
    twins = ((1, "a@x.org", "Ann"), (2, "a@x.org", "Ann"), (3, "b@x.org", "Bob"))
    world = _cleaned(tmp_path, *twins, twins=DELETE | ALONE)
    world.undo(world.only())

    world.rules["twins"] |= {"key": key}
    for _ in range(3):
        world.run()

    assert world.shop.rows() == list(twins)
    assert "awaiting_approval" not in world.findings().values()


def test_what_was_taken_back_is_proposed_under_the_edited_key_when_a_person_reopens_it(tmp_path: Path) -> None:
    twins = ((1, "a@x", "Ann"), (2, "a@x", "Ann"))
    world = _cleaned(tmp_path, *twins, twins=DELETE | ALONE)
    undone = world.only()
    world.undo(undone)
    world.rules["twins"] |= {"key": ["name"]}
    world.run()

    with world.open() as application:
        decide.reopen(application.store, undone, actor="anna")
    world.run()
    [new] = [name for name in world.findings() if name != undone]

    assert world.findings()[new] == "awaiting_approval"


ROUNDED = """\
version: 1
sources: {shop: {type: sql, url: "URL"}}
datasets: {customers: {source: shop, table: customers, id: id}}
rules:
  twins: {kind: duplicates, dataset: customers, key: [email], clean: {action: delete}, limits: {share: 100%}}
"""


@pytest.mark.server
@pytest.mark.parametrize(
    ("column", "value", "narrow"),
    [
        ("numeric(10,4)", "2.5001", "numeric(10,2)"),
        ("numeric(10,4)[]", "{2.5001}", "numeric(10,2)[]"),
        ("timestamp", "2026-01-02 03:04:05.6", "timestamp(0)"),
        ("timestamptz", "2026-01-02 03:04:05.6+00", "timestamptz(0)"),
        ("time", "03:04:05.6", "time(0)"),
        ("interval", "1 day 00:00:05.6", "interval(0)"),
        ("interval", "1 mon 2 days", "interval year to month"),
    ],
)
def test_a_column_that_was_narrowed_since_stops_the_undo_instead_of_rounding_its_value(
    postgres_url: str, tmp_path: Path, column: str, value: str, narrow: str
) -> None:
    """A wider column takes the value; in a narrower one, nothing is undone and the sentence names the column."""
    shop = Shop(postgres_url, tmp_path)
    shop.sql(
        f"CREATE TABLE customers (id int PRIMARY KEY, email text, amount {column})",
        f"INSERT INTO customers VALUES (1, 'a@x', NULL), (2, 'a@x', '{value}')",
    )
    here = Project(tmp_path).write(ROUNDED.replace("URL", postgres_url))
    here("run")
    [finding] = here("findings", "--json").json
    assert here("approve", finding["id"]).code == 0
    shop.sql(f"ALTER TABLE customers ALTER amount TYPE {narrow}")

    refused = here("undo", finding["id"])
    shop.sql(f"ALTER TABLE customers ALTER amount TYPE {column}")
    undone = here("undo", finding["id"])

    assert (refused.code, undone.code) == (4, 0)
    assert "does not hold what was written (amount)" in refused.said
    assert shop.sql(f"SELECT amount::text = '{value}' FROM customers WHERE id = 2") == [(True,)]
    shop.close()
