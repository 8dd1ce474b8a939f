"""Whatever the tables, references and groups are: a plan loses nothing, leaves nothing dangling, can be undone."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import sqlalchemy as sa
from hypothesis import event, given, settings
from plan_support import Shop, rule_of

from connectors.target import Cell, Reference, Row
from reconcile.clean import plan
from reconcile.config.settings import LinkEntry
from reconcile.findings.bundle import Bundle, from_json, to_json
from reconcile.findings.shown import Finding
from rules.kinds.duplicates import DuplicatesRule

TABLES = ("customers", "orders", "lines", "clubs", "notes", "gone")
EMAILS = ("ann@x", "ann@x", "ann@x", "bob@x", None)


CUSTOMER = "id integer primary key, email text, phone text, code text unique, rank integer, status text, parent integer"


def schema(on_delete: Sequence[str]) -> list[str]:
    """Customers with parents, orders with lines, a link table whose key is made of references, and a soft link."""
    customers, orders, lines, clubs = (f"on delete {one}" for one in on_delete)
    of_customer = "customer integer references customers(id)"
    return [
        f"create table customers ({CUSTOMER} references customers(id) {customers})",
        f"create table orders (id integer primary key, {of_customer} {orders}, ref text, unique (customer, ref))",
        f"create table lines (id integer primary key, owner integer references orders(id) {lines}, what text)",
        f"create table clubs ({of_customer} {clubs}, club text, since integer, primary key (customer, club))",
        "create table notes (id integer primary key, about integer, said text)",
        f"create table gone ({CUSTOMER}, reconcile_finding text)",
    ]


def nullable(one: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | one


@st.composite
def contents(draw: st.DrawFn) -> dict[str, list[tuple[Any, ...]]]:
    """Rows that the constraints allow."""
    ids = list(range(1, draw(st.integers(2, 6)) + 1))
    some_id = st.sampled_from(ids)
    word = st.sampled_from(["x", "y"])
    customers = []
    for n in ids:
        parent = draw(nullable(st.sampled_from(ids[:n]))) if draw(st.booleans()) else None
        code = f"code{n}" if draw(st.booleans()) else None
        phone, rank = draw(nullable(st.sampled_from(["1", "22"]))), draw(nullable(st.integers(0, 3)))
        customers.append((n, draw(st.sampled_from(EMAILS)), phone, code, rank, None, parent))
    owners = draw(st.lists(st.tuples(nullable(some_id), nullable(word)), max_size=6))
    seen: set[Any] = set()
    orders = [
        (10 + n, owner, ref)
        for n, (owner, ref) in enumerate(owners)
        if None in (owner, ref) or not ((owner, ref) in seen or seen.add((owner, ref)))
    ]
    of_orders = st.sampled_from([one[0] for one in orders]) if orders else st.none()
    lines = [(30 + n, *one) for n, one in enumerate(draw(st.lists(st.tuples(nullable(of_orders), word), max_size=4)))]
    clubs = draw(st.lists(st.tuples(some_id, word, st.integers(0, 1)), max_size=5, unique_by=lambda one: one[:2]))
    notes = [(50 + n, *one) for n, one in enumerate(draw(st.lists(st.tuples(nullable(some_id), word), max_size=4)))]
    return {"customers": customers, "orders": orders, "lines": lines, "clubs": clubs, "notes": notes}


ACTIONS: dict[str, dict[str, Any]] = {
    "delete": {"action": "delete"},
    "set": {"action": "set", "values": {"status": "twin of {{ keeper.id }}"}},
    "merge and delete": {
        "action": "merge",
        "fields": {"phone": "longest", "code": {"last": "rank"}},
        "linked": [["status", "rank"]],
        "surplus": "delete",
    },
    "merge and mark": {
        "action": "merge",
        "fields": {"phone": "most_frequent", "rank": {"max": "rank"}},
        "surplus": {"set": {"status": "merged", "code": None}},
    },
    "move": {"action": "move", "to": "gone"},
}
rules = st.builds(
    lambda action, references, keep: rule_of(ACTIONS[action] | {"references": references}, key=["email"], keep=keep),
    st.sampled_from(sorted(ACTIONS)),
    st.sampled_from(["refuse", "repoint", "repoint", "capture"]),
    st.sampled_from([["most_complete"], [{"last": "rank"}], []]),
)
on_deletes = st.lists(
    st.sampled_from(["no action", "restrict", "cascade", "set null", "set default"]), min_size=4, max_size=4
).map(lambda four: [*four[:3], "cascade" if four[3].startswith("set") else four[3]])


@contextmanager
def shop_with(tables: dict[str, list[tuple[Any, ...]]], on_delete: Sequence[str]) -> Iterator[Shop]:
    with tempfile.TemporaryDirectory() as folder:
        links = (LinkEntry(table="notes", columns=("about",), to=("id",)),)
        shop = Shop(f"sqlite:///{folder}/shop.db", Path(folder), links=links)
        try:
            shop.run(*schema(on_delete))
            with shop.engine.begin() as connection:
                connection.exec_driver_sql("pragma defer_foreign_keys = on")
                for name, rows in tables.items():
                    for row in rows:
                        connection.exec_driver_sql(f"insert into {name} values ({', '.join('?' * len(row))})", row)
            yield shop
        finally:
            shop.close()


class Shuffled:
    """The same target, whose answers come in another order."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        return list(reversed(self._target.referring(reference, to)))


def expected(before: dict[str, list[tuple[Any, ...]]], shop: Shop, bundle: Bundle) -> dict[str, list[tuple[Any, ...]]]:
    """What the tables look like when exactly the changes of the plan are made, and no others."""
    with shop.engine.connect() as connection:
        columns = {one: [row[1] for row in connection.exec_driver_sql(f"pragma table_info({one})")] for one in TABLES}
    after = {name: [dict(zip(columns[name], row, strict=True)) for row in rows] for name, rows in before.items()}
    for change in bundle.changes:
        rows, key = after[change.row.table], {name: plain(cell) for name, cell in change.row.key}
        at = [n for n, row in enumerate(rows) if key.items() <= row.items()]
        cells = {name: plain(cell) for name, cell in (change.after or {}).items()}
        if change.before is None:
            rows.append(dict.fromkeys(columns[change.row.table]) | cells)
        elif change.after is None:
            rows.pop(*at)
        else:
            rows[at[0]].update(cells)
    return {name: sorted((tuple(row.values()) for row in rows), key=repr) for name, rows in after.items()}


def plain(cell: Cell) -> Any:
    return None if cell is None else int(cell[1]) if cell[0] == "i" else cell[1]


def planned(shop: Shop, rule: DuplicatesRule, finding: Finding) -> Bundle | None:
    """The plan as the findings are now, the same in whatever order the target answers."""
    tools = shop.tools(rule)
    others = replace(tools, target=Shuffled(tools.target))
    [(_, made)], [(_, again)] = plan.make_many([finding], tools), plan.make_many([finding], others)
    event(f"{tools.settings.action}, {tools.settings.references}: {'planned' if isinstance(made, Bundle) else 'none'}")
    if not isinstance(made, Bundle):
        assert str(again) == str(made)
        return None
    assert isinstance(again, Bundle)
    assert again.plan_hash == made.plan_hash
    assert from_json(to_json(made)) == made
    return made


@settings(max_examples=120)
@given(contents(), rules, on_deletes)
def test_a_plan_does_what_it_says_and_nothing_else_and_its_inverse_restores_every_row(
    tables: dict[str, list[tuple[Any, ...]]], rule: DuplicatesRule, on_delete: Sequence[str]
) -> None:
    with shop_with(tables, on_delete) as shop:
        for finding in shop.findings(rule):
            before = shop.rows(*TABLES)
            bundle = planned(shop, rule, finding)
            if bundle is None:
                continue

            back = shop.carry_out(bundle)

            after = shop.rows(*TABLES)
            assert after == expected(before, shop, bundle)
            assert finding.keeper is not None
            assert finding.keeper.id[0] in {row[0] for row in after["customers"]}
            nothing_dangles(shop, before, after)
            if bundle.action != "set" or rule.clean.references == "repoint":  # type: ignore[union-attr]
                nobody_refers_to_the_surplus(after, [one.id[0] for one in finding.surplus])
            if rule.clean.references == "repoint":  # type: ignore[union-attr]
                no_reference_is_lost(before, after, bundle)
            shop.do(back)
            assert shop.rows(*TABLES) == before
            shop.carry_out(bundle)


def nothing_dangles(shop: Shop, before: dict[str, Any], after: dict[str, Any]) -> None:
    with shop.engine.connect() as connection:
        assert connection.exec_driver_sql("pragma foreign_key_check").all() == []
    known, was = ({row[0] for row in one["customers"]} for one in (after, before))
    assert all(about is None or about in known for _, about, _ in after["notes"] if about in was)


def nobody_refers_to_the_surplus(after: dict[str, Any], surplus: Sequence[Any]) -> None:
    referring = [*(row[6] for row in after["customers"] if row[0] not in surplus), *(row[1] for row in after["orders"])]
    referring += [*(row[0] for row in after["clubs"]), *(row[1] for row in after["notes"])]
    assert not set(referring) & set(surplus)


def no_reference_is_lost(before: dict[str, Any], after: dict[str, Any], bundle: Bundle) -> None:
    """Rows only go that say what another one says that stays."""
    captured = [one for one in bundle.changes if one.role == "captured"]
    for table in ("orders", "lines", "clubs", "notes"):
        assert len(after[table]) == len(before[table]) - sum(one.row.table == table for one in captured)
    assert {row[1] for row in after["orders"]} | {None} >= {row[1] for row in before["orders"] if row[1] is None}
    assert {row[1] for row in before["clubs"]} == {row[1] for row in after["clubs"]}


edits = st.one_of(
    st.tuples(st.just("update customers set phone = '{1}' where id = {0}"), st.integers(1, 6), st.integers(1, 3)),
    st.tuples(st.just("update customers set rank = {1} where id = {0}"), st.integers(1, 6), st.integers(0, 3)),
    st.tuples(
        st.just("insert or ignore into orders values (900 + {0} + {1} * 10, {0}, 'z')"), st.integers(1, 6), st.just(1)
    ),
    st.tuples(st.just("insert or ignore into notes values (900 + {0}, {0}, 'z')"), st.integers(1, 6), st.just(0)),
)


@settings(max_examples=60)
@given(contents(), rules, rules, st.lists(st.none() | edits, max_size=5), st.randoms(use_true_random=False))
def test_whatever_plans_of_two_rules_and_edits_of_others_meet_somebody_survives_and_nothing_dangles(
    tables: dict[str, list[tuple[Any, ...]]],
    one: DuplicatesRule,
    other: DuplicatesRule,
    between: list[tuple[str, int, int] | None],
    random: Any,
) -> None:
    """All plans are made first; then they are carried out in any order, while others write."""
    other = other.model_copy(update={"key": rule_of({"action": "delete"}, key=["phone"]).key})
    with shop_with(tables, ["no action"] * 4) as shop:
        groups = [
            {member.id[0] for member in finding.members} for rule in (one, other) for finding in shop.findings(rule)
        ]
        planned = [made for rule in (one, other) for made in shop.plans(rule) if isinstance(made, Bundle)]
        random.shuffle(planned)
        for bundle, edit in itertools.zip_longest(planned, between):
            was = shop.rows(*TABLES)
            if edit is not None:
                a_third_party(shop, *edit)
            if bundle is not None:
                carried = shop.carried_out(bundle)
                event(f"{bundle.action}: {'done' if carried else 'drifted'}")
                before, after = was, shop.rows(*TABLES)
                nothing_dangles(shop, before, after)

        left = {row[0] for row in shop.rows("customers")["customers"]}
        assert all(group & left for group in joined(groups))


def a_third_party(shop: Shop, statement: str, one: int, other: int) -> None:
    with contextlib.suppress(sa.exc.IntegrityError):
        shop.run(statement.format(one, other))


def joined(groups: list[set[int]]) -> list[set[int]]:
    """Groups that share a record as one: who was merged into a record that was merged on survives in the last one."""
    found: list[set[int]] = []
    for group in groups:
        touching = [one for one in found if one & group]
        found = [one for one in found if not one & group] + [group.union(*touching)]
    return found
