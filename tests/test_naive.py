"""Each naive design of cleaning, and the test that catches it.

NAIVE names them all, with the tests that would fail if we did it so; they are wherever they belong. Those that concern
the whole way from the configuration to the row stand here.
"""

from __future__ import annotations

import ast
import json
import sqlite3
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from chaos_support import Places, hold_everything, warmed
from naive_support import DAY, Desk, rule

from reconcile.findings.operations import BundleState
from reconcile.store import tables
from reconcile.testing.fork import Warm
from reconcile.testing.points import Fault

TESTS = Path(__file__).parent
HERE = "test_naive"

NAIVE: Mapping[str, tuple[str, ...]] = {}


@cache
def _tests_of(module: str) -> frozenset[str]:
    tree = ast.parse((TESTS / f"{module}.py").read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize("design", NAIVE)
def test_each_naive_design_has_a_test(design: str) -> None:
    assert NAIVE[design], "no test is named"
    for named in NAIVE[design]:
        module, _, name = named.partition("::")
        assert module.startswith("test_"), named
        assert name in _tests_of(module), f"{named} is not there"


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with warmed() as server:
        yield server


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    made = Places(tmp_path)
    yield made
    made.close()


def _desk(places: Places, warm: Warm, rules: Mapping[str, Any], kind: str = "sqlite") -> Desk:
    """A world with this rule which ran once, over empty tables."""
    desk = Desk(places.world(kind, kind, rules=rules), warm)
    desk.run()
    return desk


@pytest.fixture
def desk(places: Places, warm: Warm) -> Desk:
    """Events with the same code are deleted but for the first, nobody is asked."""
    return _desk(places, warm, rule("copies"))


# Keys


def test_a_group_that_grows_never_repeats_the_effects_already_made(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("doubles"))
    for _ in range(2):
        desk.world.add("orders", ref="A-17", status="ok", amount=1)
    desk.edit(where=None)
    desk.run()
    desk.run()
    assert desk.effects == 1

    desk.world.add("orders", ref="A-17", status="ok", amount=1)
    desk.run()
    desk.run()

    assert desk.effects == 2
    hold_everything(desk.world)


def test_editing_a_rule_in_what_it_does_not_do_repeats_no_effect(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("doubles"))
    for _ in range(3):
        desk.world.add("orders", ref="A-17", status="ok", amount=1)
    desk.run()
    done = desk.effects

    for severity in ("low", "critical"):
        desk.edit(severity=severity, owner="somebody")
        desk.run()
    desk.edit(where=None)
    desk.run()
    desk.run()

    assert done == 2
    assert desk.effects == done


def test_the_same_work_has_the_same_keys_however_often_it_is_begun_anew(desk: Desk) -> None:
    desk.twice(times=4)
    keys = set()
    for number in range(12):
        label = ("store.sent.committed", "target.received", "target.before_commit")[number % 3]
        desk.run(faults=(Fault(label),))
        with desk.world.opened() as store, store.read() as tx:
            keys |= set(tx.connection.execute(sa.select(tables.effects.c.key)).scalars())
    desk.world.settle(desk.warm, desk.world.all_rows())

    with sqlite3.connect(desk.world.target.removeprefix("sqlite:///")) as target:
        receipts = {key for (key,) in target.execute("select key from reconcile_receipts")}
    target.close()
    assert len(keys) == 3
    assert receipts == keys
    hold_everything(desk.world)


def test_a_cleaning_of_months_ago_is_not_done_again(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("doubles"))
    for _ in range(3):
        desk.world.add("orders", ref="A-17", status="ok", amount=1)
    desk.run()
    assert desk.effects == 2

    for days in (31, 90, 400):
        desk.ahead = days * DAY
        desk.edit(where=None)
        desk.run()

    assert desk.effects == 2


def test_an_id_that_another_record_got_is_cleaned_and_a_record_that_came_back_is_a_persons(desk: Desk) -> None:
    first, second = desk.twice("a")
    desk.run()
    assert desk.effects == 1

    desk.world.insert({"events": [{"id": second, "code": "b", "body": "new"}]})
    desk.world.insert({"events": [{"id": second - 100, "code": "b", "body": "newer"}]})
    desk.run()
    assert desk.world.rows("events").keys() == {first, second - 100}
    assert desk.effects == 2

    desk.world.insert({"events": [{"id": second, "code": "b", "body": "new"}]})
    desk.run()
    assert desk.effects == 2, "what somebody restored was deleted again without a question"
    assert second in desk.world.rows("events")


def test_a_merge_into_the_keeper_of_an_earlier_merge_is_one_of_its_own(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("twins"))
    for phone in ("1", "22", None):
        desk.world.add("customers", email="a@x.example", phone=phone, city="here")
    desk.run()
    for phone in ("333", "4444", "55555"):
        desk.world.add("customers", email="a@x.example", phone=phone, city="there")
        desk.ahead += 31 * DAY
        desk.run()

    [left] = desk.world.rows("customers").values()
    assert (left["id"], left["phone"]) == (1, "55555")
    hold_everything(desk.world)


# Leases


@pytest.mark.server
def test_a_worker_that_is_stopped_past_its_lease_does_nothing_when_it_wakes_up(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("copies"), "postgres")
    desk.twice(times=3)
    slow = desk.begin("run", "nightly", faults=(Fault("store.sent.committed", how="stop"),))
    slow.stopped()

    desk.ahead = DAY
    desk.run()
    desk.run()
    assert desk.effects == 2
    slow.go_on()
    slow.wait()

    assert desk.effects == 2
    hold_everything(desk.world)


@pytest.mark.server
def test_a_worker_that_is_stopped_inside_its_transaction_is_ended_before_another_goes_on(
    places: Places, warm: Warm
) -> None:
    desk = _desk(places, warm, rule("copies"), "postgres")
    desk.twice(times=3)
    slow = desk.begin("run", "nightly", faults=(Fault("target.before_commit", how="stop"),))
    slow.stopped()

    desk.ahead = DAY
    desk.world.settle(warm, desk.world.all_rows())
    for hours in range(1, 4):
        desk.ahead = DAY + hours * 3600
        desk.run()
    slow.go_on()
    slow.wait()

    assert desk.effects == 2
    hold_everything(desk.world)


def test_a_worker_that_takes_long_but_lives_is_left_alone(desk: Desk) -> None:
    desk.twice(times=3)
    slow = desk.begin("run", "nightly", faults=(Fault("store.sent.committed", how="stop"),))
    slow.stopped()

    other = desk.run(codes=(0, 1, 3, 4))

    assert desk.effects == 0, other.out
    slow.go_on()
    assert slow.wait().code in (0, 1)
    assert desk.effects == 2
    hold_everything(desk.world)


# Approval


@pytest.fixture
def asked(places: Places, warm: Warm) -> Desk:
    """Two events with one code, found; the rule asks before it deletes."""
    desk = _desk(places, warm, rule("copies", approval="required"))
    desk.twice()
    desk.run()
    assert len(desk.ids("awaiting_approval")) == 1
    assert desk.effects == 0
    return desk


def test_an_approval_is_of_what_was_shown_and_void_once_the_record_changed(asked: Desk) -> None:
    asked.world.alter("events", 2, body="changed since")

    asked.command("approve", *asked.ids("awaiting_approval"))
    asked.run()

    assert asked.effects == 0
    assert asked.world.rows("events")[2]["body"] == "changed since"


def test_an_approval_is_void_once_the_rule_does_something_else(asked: Desk) -> None:
    [waiting] = asked.ids("awaiting_approval")
    asked.command("approve", waiting, "--later")
    asked.edit(approval="required", keep=[{"last": "id"}])

    asked.run()

    assert asked.effects == 0
    assert asked.ids("awaiting_approval") != []


def test_an_approval_pressed_many_times_at_one_moment_acts_once(asked: Desk) -> None:
    [waiting] = asked.ids("awaiting_approval")

    together = [asked.begin("approve", waiting) for _ in range(8)]
    codes = [one.wait().code for one in together]
    late = asked.command("approve", waiting, codes=(0, 1, 2, 3, 4))

    assert 70 not in codes, codes
    assert asked.effects == 1, late.err
    hold_everything(asked.world)


def test_an_approval_expires(asked: Desk) -> None:
    [waiting] = asked.ids("awaiting_approval")
    asked.ahead = 8 * DAY

    asked.command("approve", waiting, codes=(0, 1, 2, 3, 4))

    assert asked.effects == 0


def test_a_plan_approved_for_one_database_is_not_carried_out_in_another(asked: Desk, tmp_path: Path) -> None:
    [waiting] = asked.ids("awaiting_approval")
    asked.command("approve", waiting, "--later")
    production = tmp_path / "production.db"
    production.write_bytes(Path(asked.world.target.removeprefix("sqlite:///")).read_bytes())
    asked.world.config["sources"]["shop"]["url"] = f"sqlite:///{production}"
    asked.world.write()

    asked.run(codes=(0, 1, 3, 4))

    with sqlite3.connect(production) as other:
        assert other.execute("select count(*) from events").fetchone() == (2,)
    other.close()
    assert asked.effects == 0


def test_a_second_store_cleans_nothing_in_a_target_that_has_an_owner(desk: Desk, places: Places, warm: Warm) -> None:
    desk.twice("a")
    desk.run()
    assert desk.effects == 1
    folder = places.folder()
    folder.mkdir()
    config = desk.world.config | {"state": "sqlite:///another.db"}
    (folder / "reconcile.yaml").write_text(json.dumps(config))
    assert warm.cli("run", "nightly", cwd=folder).wait().code == 0

    desk.twice("b")
    ended = warm.cli("run", "nightly", cwd=folder).wait()

    assert desk.effects == 1
    assert ended.code == 4, ended.out


# Limits


def test_limits_hold_over_many_runs_of_a_day(places: Places, warm: Warm) -> None:
    limits = {"records": 3, "share": "100%", "group": 10}
    desk = _desk(places, warm, rule("copies", limits=limits))
    for number in range(6):
        desk.twice(f"code {number}")
        desk.ahead += 600
        desk.run()
    assert desk.effects <= 3

    before = desk.effects
    desk.ahead += 2 * DAY
    desk.twice("another day")
    desk.run()
    assert desk.effects <= before + 3


# One bad record


def test_one_record_the_database_does_not_let_go_does_not_block_the_others(desk: Desk) -> None:
    desk.world.sql(
        "create trigger stays before delete on events when old.body = 'stays' "
        "begin select raise(abort, 'it stays'); end"
    )
    desk.world.add("events", code="poison", body="keeper")
    desk.world.add("events", code="poison", body="stays")
    for number in range(30):
        desk.twice(f"code {number}")

    desk.run()
    desk.ahead += DAY
    desk.run()

    left = desk.world.rows("events").values()
    assert len(left) == 32
    assert [one["body"] for one in left if one["code"] == "poison"] == ["keeper", "stays"]
    assert desk.effects == 30
    hold_everything(desk.world)


# Undo


def test_an_undo_leaves_alone_what_somebody_edited_since(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("doubles"))
    for _ in range(2):
        desk.world.add("orders", ref="A-17", status="ok", amount=1)
    desk.run()
    [cleaned] = desk.ids("cleaned")
    desk.world.alter("orders", 2, status="by hand")

    ended = desk.command("undo", cleaned, codes=(0, 1, 2, 3, 4))

    assert ended.code not in (0,), ended.out
    assert desk.world.rows("orders")[2]["status"] == "by hand"
    assert desk.effects == 1


def test_an_undo_gives_back_every_row_as_it_was_and_once(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("twins"))
    ids = [desk.world.add("customers", email="a@x.example", phone=phone, city="c") for phone in ("1", "22", "333")]
    for number in ids:
        desk.world.add("notes", customer_id=number, body="n")
    before = desk.world.all_rows()
    desk.run()
    [cleaned] = desk.ids("cleaned")

    desk.command("undo", cleaned)
    done = desk.effects
    desk.command("undo", cleaned, codes=(0, 1, 2, 3, 4))
    desk.run()

    assert desk.world.all_rows() == before
    assert desk.effects == done
    hold_everything(desk.world)


def test_an_undo_under_a_later_cleaning_is_refused_and_names_it(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("twins"))
    for phone in ("1", "22"):
        desk.world.add("customers", email="a@x.example", phone=phone, city="c")
    desk.run()
    first = desk.bundles(BundleState.SUCCEEDED)[0]
    desk.world.add("customers", email="a@x.example", phone="333", city="c")
    desk.run()
    assert [one["phone"] for one in desk.world.rows("customers").values()] == ["333"]
    done = desk.effects

    ended = desk.command("undo", "--bundle", first.id, codes=(0, 1, 2, 3, 4))

    assert ended.code not in (0,), ended.out
    assert desk.effects == done
    assert [one["phone"] for one in desk.world.rows("customers").values()] == ["333"]
