"""A plan for people and programs: every row, each field before and after, and the limits of its undo. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from connectors.target import Cell, Change
from notifications.base import MASK
from reconcile.findings.bundle import Bundle
from reconcile.findings.identity import id_of, public
from rules.cleaning import Caps

_IDENTIFYING = 3
"""A shorter text identifies nobody and would match everywhere."""


@dataclass(frozen=True)
class Veil:
    """Hides the values of the dataset's `pii` columns wherever they appear in the plan.

    Values of other tables are hidden too, except keys and references: nothing declares which of them are personal.
    """

    columns: frozenset[str]
    texts: frozenset[str]

    @classmethod
    def over(cls, bundle: Bundle, pii: Sequence[str]) -> Veil:
        """Return the veil for a plan; without `pii` columns it hides nothing."""
        images = [change.before for change in bundle.changes if change.before and change.row.table == bundle.table]
        cells = [image.get(name) for image in images for name in pii]
        texts = frozenset(cell[1] for cell in cells if cell is not None and len(cell[1]) >= _IDENTIFYING)
        return cls(frozenset(pii), texts)

    def show(self, table: str, of: Bundle, column: str, cell: Cell, plain: frozenset[str] = frozenset()) -> str | None:
        """Return a cell's text as shown; None for null."""
        if cell is None:
            return None
        if not self.columns:
            return cell[1]
        hidden = column in self.columns if table == of.table else column not in plain
        return MASK if hidden else self.masked(cell[1])

    def masked(self, text: str) -> str:
        """Return the text, masked if it contains a hidden value."""
        return MASK if any(hidden_text in text for hidden_text in self.texts) else text


@dataclass(frozen=True)
class Line:
    """One row of a plan as shown; `does` is insert, delete, update or stay.

    `fields` are (column, before, after, the records that the value comes from).
    """

    table: str
    key: tuple[tuple[str, str | None], ...]
    does: str
    role: str
    fields: tuple[tuple[str, str | None, str | None, tuple[str, ...]], ...] = field(default=())

    @property
    def row(self) -> str:
        """Return the key in words."""
        return ", ".join(f"{column} = {text}" for column, text in self.key)


def counts(bundle: Bundle) -> dict[str, int]:
    """Count rows by their change; `references` are re-pointed or cleared, `captured` are deleted with the surplus."""
    changes = [change for change in bundle.changes if not change.is_guard]
    kinds = Counter(map(_does, changes))
    roles = Counter(change.role for change in changes)
    return {
        "records": len(bundle.surplus),
        "rows": len(changes),
        "deleted": kinds["delete"],
        "updated": kinds["update"],
        "inserted": kinds["insert"],
        "references": roles["reference"],
        "captured": roles["captured"],
    }


_FIRST = ("keeper", "surplus")


def for_people(bundle: Bundle, pii: Sequence[str] = ()) -> list[Line]:
    """Return every row of the plan: the keeper, the surplus, then all other rows."""
    plan_lines = list(lines(bundle, pii))
    return sorted(plan_lines, key=lambda line: _FIRST.index(line.role) if line.role in _FIRST else len(_FIRST))


def lines(bundle: Bundle, pii: Sequence[str] = ()) -> Iterator[Line]:
    """Yield every row of the plan in the order of execution; values of `pii` columns are hidden."""
    veil = Veil.over(bundle, pii)
    linked = _linked(bundle)
    for change in bundle.changes:
        table = bundle.table if change.role == "moved" else change.row.table
        readable = frozenset(name for name, _ in change.row.key) | linked.get(table, frozenset())

        def show(column: str, cell: Cell, table: str = table, readable: frozenset[str] = readable) -> str | None:
            return veil.show(table, bundle, column, cell, readable)

        fields = tuple(_fields(change, bundle, show))
        key = tuple((column, show(column, cell)) for column, cell in change.row.key)
        yield Line(change.row.table, key, _does(change), change.role, fields)


def to_json(bundle: Bundle, pii: Sequence[str] = ()) -> dict[str, Any]:
    """Return a plan as public JSON: ids are lists, cells are the database's texts. New versions only add names."""
    uncounted = [
        {"record": _record(name, bundle, pii), "lacks": missing} for name, missing in sorted(bundle.uncounted.items())
    ]
    return ({"uncounted": uncounted} if uncounted else {}) | {
        "finding": bundle.finding,
        "plan": bundle.plan_hash,
        "rule": bundle.rule,
        "dataset": bundle.dataset,
        "source": bundle.source,
        "table": bundle.table,
        "action": bundle.action,
        "undoes": bundle.undoes,
        "keeper": _record(bundle.keeper, bundle, pii),
        "surplus": [_record(record, bundle, pii) for record in bundle.surplus],
        "counts": counts(bundle),
        "money": dict(sorted(bundle.money.items())),
        "reversible": bundle.reversible,
        "reversible_while": list(bundle.why),
        "triggers": list(bundle.triggers),
        "ignore_drift": list(bundle.ignore_drift),
        "references": [
            {
                "table": guard.reference.table,
                "columns": list(guard.reference.columns),
                "to": list(guard.reference.to_columns),
                "declared": guard.reference.soft,
                "rows": len(guard.rows),
            }
            for guard in bundle.references
        ],
        "changes": [
            {
                "table": line.table,
                "row": dict(line.key),
                "does": line.does,
                "role": line.role,
                "fields": {
                    column: {"before": before, "after": after}
                    | ({"from": [_record(record, bundle, pii) for record in origins]} if origins else {})
                    for column, before, after, origins in line.fields
                },
            }
            for line in lines(bundle, pii)
        ],
    }


def title(bundle: Bundle) -> str:
    """Summarize a plan in a few words."""
    totals = counts(bundle)
    records = _counted(totals["records"], "record")
    verbs = {"delete": "deleted", "set": "marked", "merge": "merged into the keeper", "move": "moved away"}
    parts = [f"{records} {verbs.get(bundle.action, 'changed')}"]
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


def _fields(
    change: Change, bundle: Bundle, show: Callable[[str, Cell], str | None]
) -> Iterator[tuple[str, str | None, str | None, tuple[str, ...]]]:
    """Yield the changed fields; all fields if the row is inserted or deleted."""
    before, after = change.before or {}, change.after
    if change.is_guard:
        return
    for column in before if after is None else after:
        origins = bundle.origins.get(column, "") if change.role == "keeper" else ""
        new_value = None if after is None else show(column, after[column])
        yield column, show(column, before.get(column)), new_value, tuple(origins.splitlines())


def record_name(record: str, bundle: Bundle, pii: Sequence[str] = ()) -> str:
    """Return a record's name for people."""
    return " / ".join(map(str, _record(record, bundle, pii)))


def _record(name: str, bundle: Bundle, pii: Sequence[str]) -> list[Any]:
    """Return a record's id; personal data in it is hidden."""
    parts = [public(part) for part in id_of(name)]
    veil = Veil.over(bundle, pii)
    return [part if veil.masked(str(part)) == str(part) else MASK for part in parts]


def _linked(bundle: Bundle) -> Mapping[str, frozenset[str]]:
    """Return the referring columns of other tables."""
    linked: dict[str, frozenset[str]] = {}
    for guard in bundle.references:
        table, columns = guard.reference.table, guard.reference.columns
        linked[table] = linked.get(table, frozenset()) | set(columns)
    return linked


def limits_said(caps: Caps, *, rows: int, group: int, money: Mapping[str, Decimal]) -> tuple[str, str]:
    """Return the use of a rule's limits for one run, and the limits it exceeds; both in words."""
    used = [
        ("rows", rows, caps.records),
        ("rows (`share`)", rows, caps.share),
        ("records in one group", group, caps.group),
    ]
    parts = [f"{amount:,} of {cap:,} {label}" for label, amount, cap in used if cap is not None]
    exceeded = [label for label, amount, cap in used if cap is not None and amount > cap]
    for currency, amount in sorted(money.items()):
        cap = caps.money.get(currency, Decimal(0)) if caps.money else None
        if cap is not None:
            parts.append(f"{amount:,} of {cap:,} {currency}")
            exceeded += [currency] if amount > cap else []
    return ", ".join(parts), " and ".join(exceeded)
