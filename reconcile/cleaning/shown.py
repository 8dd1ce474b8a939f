"""A plan for people and programs: every row, each field before and after, and the limits of its undo. Pure.

Personal values of the dataset are masked wherever they appear. Values of other tables are masked too, except keys and
references, and so is what calls send: nothing declares which of them are personal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from connectors.target import Cell, Change, RowName
from notifications.base import MASK
from reconcile.documents import JsonObject
from reconcile.findings.identity import id_of, public
from reconcile.findings.plan import Plan
from reconcile.masking.personal import Masking
from reconcile.plugins import verb_of
from rules.cleaning import Caps

_NOTHING = Masking()
Field = tuple[str, str | None, str | None, tuple[list[Any], ...]]


@dataclass(frozen=True)
class ShownRow:
    """One row of a plan as shown; `does` is insert, delete, update, stay, or call: it is what a call is about.

    `fields` are (column, before, after, the ids of the records that the value comes from); of a call, what it sends.
    `words` say what happens to it where the action has words of its own.
    """

    table: str
    key: tuple[tuple[str, str | None], ...]
    does: str
    role: str
    fields: tuple[Field, ...] = ()
    words: str = ""

    @property
    def row(self) -> str:
        """Return the key in words."""
        return ", ".join(f"{column} = {text}" for column, text in self.key)


def counts(plan: Plan) -> dict[str, int]:
    """Count rows by their change; `references` are re-pointed or cleared, `captured` are deleted with the surplus."""
    changes = [change for change in plan.changes if not change.is_guard]
    kinds = Counter(map(_does, changes))
    roles = Counter(change.role for change in changes)
    return {
        "records": len(plan.surplus),
        "rows": len(changes),
        "deleted": kinds["delete"],
        "updated": kinds["update"],
        "inserted": kinds["insert"],
        "references": roles["reference"],
        "captured": roles["captured"],
    } | ({"calls": len(plan.calls)} if plan.calls else {})


_FIRST = ("keeper", "surplus")


def for_people(plan: Plan, hidden: Masking = _NOTHING) -> list[ShownRow]:
    """Return every row of the plan, or its call: the keeper, the surplus, then all other rows."""
    plan_lines = [*lines(plan, hidden), *calls(plan, hidden)]
    return sorted(plan_lines, key=lambda line: _FIRST.index(line.role) if line.role in _FIRST else len(_FIRST))


def lines(plan: Plan, hidden: Masking = _NOTHING) -> Iterator[ShownRow]:
    """Yield every row of the plan in the order of execution, without those that `calls` shows."""
    hidden = _in(plan, hidden)
    linked = _linked(plan)
    called = {call.row for call in plan.calls}
    for change in plan.changes:
        if change.row in called:
            continue
        table = plan.table if change.role == "moved" else change.row.table
        readable = frozenset(name for name, _ in change.row.key) | linked.get(table, frozenset())
        show = _showing(plan, hidden, table, readable)
        fields = tuple(_fields(change, plan, show, hidden))
        yield ShownRow(change.row.table, _key(change.row, show), _does(change), change.role, fields)


def calls(plan: Plan, hidden: Masking = _NOTHING) -> Iterator[ShownRow]:
    """Yield the record of each call of the plan, with what is sent about it."""
    hidden = _in(plan, hidden)
    for call in plan.calls:
        key = _key(call.row, _showing(plan, hidden, call.row.table))
        masks = hidden.hides(None)
        sent = tuple((name, None, MASK if masks else hidden.text(text), ()) for name, text in call.sends.items())
        yield ShownRow(call.row.table, key, "call", "surplus", sent, verb_of(plan.action).past)


def _key(row: RowName, show: Callable[[str, Cell], str | None]) -> tuple[tuple[str, str | None], ...]:
    return tuple((column, show(column, cell)) for column, cell in row.key)


def _showing(
    plan: Plan, hidden: Masking, table: str, readable: frozenset[str] = frozenset()
) -> Callable[[str, Cell], str | None]:
    """Return the function that shows a cell of a table; of another than the plan's, only columns that are readable."""

    def show(column: str, cell: Cell) -> str | None:
        if cell is None:
            return None
        is_own = table == plan.table
        is_masked = hidden.hides(column) if is_own else column not in readable and hidden.hides(None)
        return MASK if is_masked else hidden.text(cell[1])

    return show


def _in(plan: Plan, hidden: Masking) -> Masking:
    """Return the masking that also knows the personal values of the plan's own rows."""
    images = [change.before for change in plan.changes if change.before and change.row.table == plan.table]
    return hidden.with_values_of({name: cell[1] for name, cell in row.items() if cell is not None} for row in images)


def to_json(plan: Plan, hidden: Masking = _NOTHING) -> JsonObject:
    """Return a plan as public JSON: ids are lists, cells are the target's texts. New versions only add names."""
    masking = _in(plan, hidden)
    uncounted = [{"record": _record(name, masking), "lacks": lacks} for name, lacks in sorted(plan.uncounted.items())]
    calling = [
        {"table": line.table, "row": dict(line.key), "sends": {name: text for name, _, text, _ in line.fields}}
        for line in calls(plan, hidden)
    ]
    return (
        ({"uncounted": uncounted} if uncounted else {})
        | ({"calls": calling} if calling else {})
        | {
            "finding": plan.finding,
            "plan_hash": plan.plan_hash,
            "rule": plan.rule,
            "dataset": plan.dataset,
            "source": plan.source,
            "table": plan.table,
            "action": plan.action,
            "undoes": plan.undoes,
            "keeper": _record(plan.keeper, masking) if plan.keeper else None,
            "surplus": [_record(record, masking) for record in plan.surplus],
            "counts": counts(plan),
            "money": dict(sorted(plan.money.items())),
            "reversible": plan.reversible,
            "reversible_while": list(plan.why),
            "triggers": list(plan.triggers),
            "ignore_drift": list(plan.ignore_drift),
            "references": [
                {
                    "table": guard.reference.table,
                    "columns": list(guard.reference.columns),
                    "to": list(guard.reference.to_columns),
                    "declared": guard.reference.soft,
                    "rows": len(guard.rows),
                }
                for guard in plan.references
            ],
            "changes": [
                {
                    "table": line.table,
                    "row": dict(line.key),
                    "does": line.does,
                    "role": line.role,
                    "fields": {
                        column: {"before": before, "after": after} | ({"from": list(origins)} if origins else {})
                        for column, before, after, origins in line.fields
                    },
                }
                for line in lines(plan, hidden)
            ],
        }
    )


def title(plan: Plan) -> str:
    """Summarize a plan in a few words."""
    totals = counts(plan)
    parts = [verb_of(plan.action).did(_counted(totals["records"], "record"))]
    parts += [f"{_counted(totals['references'], 'reference')} moved"] if totals["references"] else []
    parts += [f"{_counted(totals['captured'], 'other row')} deleted too"] if totals["captured"] else []
    return ", ".join(parts)


def _counted(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def _does(change: Change) -> str:
    if change.before is None:
        return "insert"
    if change.after is None:
        return "delete"
    return "update" if change.after else "stay"


def _fields(change: Change, plan: Plan, show: Callable[[str, Cell], str | None], hidden: Masking) -> Iterator[Field]:
    """Yield the changed fields; all fields if the row is inserted or deleted."""
    before, after = change.before or {}, change.after
    if change.is_guard:
        return
    for column in before if after is None else after:
        origins = plan.origins.get(column, "").splitlines() if change.role == "keeper" else ()
        new_value = None if after is None else show(column, after[column])
        yield column, show(column, before.get(column)), new_value, tuple(_record(name, hidden) for name in origins)


def uncounted(plan: Plan, hidden: Masking = _NOTHING) -> list[tuple[str, str]]:
    """Return the names of records whose amount limits cannot count, each with the reason."""
    masking = _in(plan, hidden)
    return [(named(_record(record, masking)), reason) for record, reason in sorted(plan.uncounted.items())]


def named(record: Sequence[Any]) -> str:
    """Return a record's id for people."""
    return " / ".join(map(str, record))


def _record(name: str, hidden: Masking) -> list[Any]:
    return hidden.record([public(part) for part in id_of(name)])


def _linked(plan: Plan) -> Mapping[str, frozenset[str]]:
    """Return the referring columns of other tables."""
    linked: dict[str, frozenset[str]] = {}
    for guard in plan.references:
        table, columns = guard.reference.table, guard.reference.columns
        linked[table] = linked.get(table, frozenset()) | set(columns)
    return linked


def limits_said(caps: Caps, *, rows: int, group: int, money: Mapping[str, Decimal]) -> tuple[str, str]:
    """Return the use of a rule's limits for one run, and the limits beyond which no approval is enough; both in words.

    A group that is larger than `group` only needs an approval.
    """
    used = [
        ("rows", rows, caps.records),
        ("rows (`share`)", rows, caps.share),
        ("records in one group", group, caps.group),
    ]
    parts = [f"{amount:,} of {cap:,} {label}" for label, amount, cap in used if cap is not None]
    exceeded = [label for label, amount, cap in used[:2] if cap is not None and amount > cap]
    for currency, amount in sorted(money.items()):
        cap = caps.money.get(currency, Decimal(0)) if caps.money else None
        if cap is not None:
            parts.append(f"{amount:,} of {cap:,} {currency}")
            exceeded += [currency] if amount > cap else []
    return ", ".join(parts), " and ".join(exceeded)
