"""Random rules, random changes between a run and an approval: the approval cleans nothing that a fresh run would keep.

The oracle is a first run of another state over a copy of the changed data: what it would clean, and what it would keep.
"""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconcile.cleaning.planning import nearby
from reconcile.findings.identity import id_of
from reconcile.findings.states import PlanState
from rules.values import Value
from tests.support.world import DELETE, World

SEEDS = range(12)
_TABLE = "CREATE TABLE {} (id INTEGER PRIMARY KEY, card VARCHAR(9), phone VARCHAR(9), at TIMESTAMP, ends TIMESTAMP)"
_LEFT_ONLY = {"dataset": "charges", "forms": ["left_only"], "action": "delete"}
_SQL = (
    "select c.card as group_key, c.id from charges c where not exists (select 1 from payments p where p.card = c.card)"
)
RULES: dict[str, dict[str, Any]] = {
    "key": {"kind": "duplicates", "key": ["card"], "keep": [{"first": "at"}]},
    "normalised key": {"kind": "duplicates", "key": [{"card": ["trim"]}], "keep": [{"last": "at"}]},
    "any key": {"kind": "duplicates", "key": {"any": [["card"], ["phone"]]}},
    "window": {"kind": "duplicates", "key": ["card"], "window": {"at": "15m"}},
    "gap": {"kind": "duplicates", "key": ["card"], "gap": {"at": "15m"}},
    "overlap": {"kind": "duplicates", "key": ["card"], "overlap": {"from": "at", "to": "ends"}},
    "except": {"kind": "duplicates", "key": ["card"], "except": {"dataset": "different"}},
    "sides": {"kind": "reconciliation", "left": "charges", "right": "payments", "key": ["card"], "clean": _LEFT_ONLY},
    "query": {"kind": "sql", "query": _SQL, "minimum": 2},
}
Row = tuple[int, str, str, str, str]


class Charges:
    """Charges and payments in one database, a rule over them, and any number of states beside it."""

    def __init__(self, folder: Path, rule: dict[str, Any], draw: random.Random) -> None:
        self.folder, self.draw = folder, draw
        named = {} if rule["kind"] == "reconciliation" else {"dataset": "charges"}
        limits = {"limits": {"records": 1000, "share": "100%", "group": 100}}
        tables = {name: {"source": "shop", "table": name, "id": "id"} for name in ("charges", "payments")}
        self.config = {
            "datasets": tables | {"different": {"source": "shop", "table": "different"}},
            "rules": {"twins": DELETE | limits | named | rule},
        }
        self.world = self.at(folder)
        self.world.shop.sql(*map(_TABLE.format, ("charges", "payments")))
        self.world.shop.sql("CREATE TABLE different (first_id INTEGER, second_id INTEGER)")
        for table, number in (("charges", 9), ("payments", 6)):
            self.add(table, *range(1, number + 1))
        self.world.shop.sql("INSERT INTO different VALUES (101, 102), (1, 2)")

    def at(self, folder: Path) -> World:
        folder.mkdir(parents=True, exist_ok=True)
        return World(folder, {}, self.config)

    def add(self, table: str, *ids: int) -> None:
        self.world.shop.sql(*(f"INSERT INTO {table} VALUES {self.row(number)}" for number in ids))

    def row(self, number: int) -> Row:
        draw = self.draw
        begins = draw.randrange(0, 40)
        at, ends = (f"2026-11-02 10:{minute:02}:00" for minute in (begins, begins + draw.randrange(1, 15)))
        return number, f"c{draw.randrange(4)}", f"p{draw.randrange(5)}", at, ends

    def change(self) -> None:
        """Change something that some plan may rely on."""
        draw, number = self.draw, self.draw.randrange(1, 10)
        table = draw.choice(("charges", "charges", "payments"))
        changes: list[Callable[[], object]] = [
            lambda: self.add(table, draw.choice((0, 50, 51))),
            lambda: self.world.shop.sql(f"DELETE FROM {table} WHERE id = {number}"),
            lambda: self.world.shop.sql(f"UPDATE {table} SET card = 'c{draw.randrange(4)}' WHERE id = {number}"),
            lambda: self.world.shop.sql(f"UPDATE {table} SET phone = 'p{draw.randrange(5)}' WHERE id = {number}"),
            lambda: self.world.shop.sql(f"INSERT INTO different VALUES ({number}, {draw.randrange(1, 10)})"),
            lambda: self.world.shop.sql("DELETE FROM payments"),
            lambda: self.world.shop.sql("DELETE FROM different"),
        ]
        draw.choice(changes)()

    def would_clean(self, name: str) -> set[tuple[Value, str]]:
        """Each record that a first run of a new state would clean now, with its keeper."""
        copied = self.folder.parent / name
        copied.mkdir()
        shutil.copy(self.folder / "shop.db", copied / "shop.db")
        world = self.at(copied)
        world.run()
        return planned(world)


def planned(world: World, finding: str | None = None) -> set[tuple[Value, str]]:
    plans = [plan for plan in world.plans(finding) if plan.state is PlanState.AWAITING]
    return {
        (id_of(operation.record)[0], plan.content.keeper) for plan in plans for operation in plan.content.operations
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_an_approval_cleans_only_what_a_fresh_run_would_clean(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    name = list(RULES)[seed % len(RULES)]
    if draw.random() < 0.5:
        monkeypatch.setattr(nearby, "LARGE", 0)  # every table is a large one
    charges = Charges(tmp_path / "w", RULES[name], draw)
    charges.world.run()
    findings = [each for each, state in sorted(charges.world.findings().items()) if state == "awaiting_approval"]
    for _ in range(draw.randrange(0, 3)):
        charges.change()
    expected = charges.would_clean("fresh")

    for finding in draw.sample(findings, min(2, len(findings))):
        before = set(charges.world.shop.ids("charges"))
        plan = planned(charges.world, finding)
        charges.world.command("approve", finding)
        cleaned = before - set(charges.world.shop.ids("charges"))

        assert not cleaned or plan <= expected, (name, finding)
        assert cleaned in (set(), {record for record, _ in plan})
