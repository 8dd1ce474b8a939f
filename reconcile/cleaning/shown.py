"""A plan as people and programs see it: every row, every field before and after, and what limits its undo. Pure."""

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

_TELLING = 3
"""A text shorter than this says nothing about whom it is of, and would be found everywhere."""


@dataclass(frozen=True)
class Veil:
    """Which values are not shown: those of the dataset's `pii` columns, wherever in the plan they stand.

    Rows of other tables that go are hidden too, but for what they are known and linked by: nothing says what is
    personal there.
    """

    columns: frozenset[str]
    texts: frozenset[str]

    @classmethod
    def over(cls, bundle: Bundle, pii: Sequence[str]) -> Veil:
        """Without columns nothing is hidden."""
        images = [one.before for one in bundle.changes if one.before and one.row.table == bundle.table]
        cells = [image.get(name) for image in images for name in pii]
        return cls(frozenset(pii), frozenset(one[1] for one in cells if one is not None and len(one[1]) >= _TELLING))

    def said(self, table: str, of: Bundle, column: str, cell: Cell, known: frozenset[str] = frozenset()) -> str | None:
        """A cell as it is shown, None for null."""
        if cell is None:
            return None
        if not self.columns:
            return cell[1]
        hidden = column in self.columns if table == of.table else column not in known
        return MASK if hidden else self.over_text(cell[1])

    def over_text(self, text: str) -> str:
        """The text, unless what is hidden stands in it."""
        return MASK if any(one in text for one in self.texts) else text


@dataclass(frozen=True)
class Line:
    """What becomes of one row, known by `key`, as it is shown: `does` insert, delete, update or stay.

    `fields` are (column, before, after, the records that the value comes from).
    """

    table: str
    key: tuple[tuple[str, str | None], ...]
    does: str
    role: str
    fields: tuple[tuple[str, str | None, str | None, tuple[str, ...]], ...] = field(default=())

    @property
    def row(self) -> str:
        """The key in words."""
        return ", ".join(f"{column} = {text}" for column, text in self.key)


def counts(bundle: Bundle) -> dict[str, int]:
    """Rows by what becomes of them; `references` are re-pointed or cleared, `captured` are deleted with the surplus."""
    done = [one for one in bundle.changes if not one.is_guard]
    does = Counter(map(_does, done))
    roles = Counter(one.role for one in done)
    return {
        "records": len(bundle.surplus),
        "rows": len(done),
        "deleted": does["delete"],
        "updated": does["update"],
        "inserted": does["insert"],
        "references": roles["reference"],
        "captured": roles["captured"],
    }


_FIRST = ("keeper", "surplus")


def for_people(bundle: Bundle, pii: Sequence[str] = ()) -> list[Line]:
    """Every row of the plan: the records of the group, the one that stays first, then whatever follows from them."""
    told = list(lines(bundle, pii))
    return sorted(told, key=lambda one: _FIRST.index(one.role) if one.role in _FIRST else len(_FIRST))


def lines(bundle: Bundle, pii: Sequence[str] = ()) -> Iterator[Line]:
    """Every row of the plan in the order it is handled in; `pii` are columns whose values are hidden."""
    veil = Veil.over(bundle, pii)
    linked = _linked(bundle)
    for change in bundle.changes:
        table = bundle.table if change.role == "moved" else change.row.table
        known = frozenset(name for name, _ in change.row.key) | linked.get(table, frozenset())

        def said(column: str, cell: Cell, table: str = table, known: frozenset[str] = known) -> str | None:
            return veil.said(table, bundle, column, cell, known)

        fields = tuple(_fields(change, bundle, said))
        key = tuple((column, said(column, cell)) for column, cell in change.row.key)
        yield Line(change.row.table, key, _does(change), change.role, fields)


def to_json(bundle: Bundle, pii: Sequence[str] = ()) -> dict[str, Any]:
    """A plan as public JSON: ids are lists, cells texts as the database writes them. It only ever gains names."""
    uncounted = [
        {"record": _record(name, bundle, pii), "lacks": what} for name, what in sorted(bundle.uncounted.items())
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
        "surplus": [_record(one, bundle, pii) for one in bundle.surplus],
        "counts": counts(bundle),
        "money": dict(sorted(bundle.money.items())),
        "reversible": bundle.reversible,
        "reversible_while": list(bundle.why),
        "triggers": list(bundle.triggers),
        "ignore_drift": list(bundle.ignore_drift),
        "references": [
            {
                "table": one.reference.table,
                "columns": list(one.reference.columns),
                "to": list(one.reference.to_columns),
                "declared": one.reference.soft,
                "rows": len(one.rows),
            }
            for one in bundle.references
        ],
        "changes": [
            {
                "table": line.table,
                "row": dict(line.key),
                "does": line.does,
                "role": line.role,
                "fields": {
                    column: {"before": before, "after": after}
                    | ({"from": [_record(one, bundle, pii) for one in origins]} if origins else {})
                    for column, before, after, origins in line.fields
                },
            }
            for line in lines(bundle, pii)
        ],
    }


def title(bundle: Bundle) -> str:
    """What it comes to, in a few words."""
    many = counts(bundle)
    records = _counted(many["records"], "record")
    done = {"delete": "deleted", "set": "marked", "merge": "merged into the one that stays", "move": "moved away"}
    words = [f"{records} {done.get(bundle.action, 'changed')}"]
    words += [f"{_counted(many['references'], 'reference')} moved"] if many["references"] else []
    words += [f"{_counted(many['captured'], 'other row')} deleted with it"] if many["captured"] else []
    return ", ".join(words)


def _counted(many: int, what: str) -> str:
    return f"1 {what}" if many == 1 else f"{many:,} {what}s"


def _does(change: Change) -> str:
    if change.before is None:
        return "insert"
    if change.after is None:
        return "delete"
    return "update" if change.after else "stay"


def _fields(
    change: Change, bundle: Bundle, said: Callable[[str, Cell], str | None]
) -> Iterator[tuple[str, str | None, str | None, tuple[str, ...]]]:
    """Those that change; all of them of a row that comes or goes."""
    before, after = change.before or {}, change.after
    if change.is_guard:
        return
    for column in before if after is None else after:
        origins = bundle.origins.get(column, "") if change.role == "keeper" else ""
        gone = None if after is None else said(column, after[column])
        yield column, said(column, before.get(column)), gone, tuple(origins.splitlines())


def record_name(record: str, bundle: Bundle, pii: Sequence[str] = ()) -> str:
    """A record as people write it."""
    return " / ".join(map(str, _record(record, bundle, pii)))


def _record(name: str, bundle: Bundle, pii: Sequence[str]) -> list[Any]:
    """A record's id; hidden where its columns are personal data."""
    parts = [public(part) for part in id_of(name)]
    veil = Veil.over(bundle, pii)
    return [part if veil.over_text(str(part)) == str(part) else MASK for part in parts]


def _linked(bundle: Bundle) -> Mapping[str, frozenset[str]]:
    """The columns by which rows of other tables refer."""
    found: dict[str, frozenset[str]] = {}
    for one in bundle.references:
        found[one.reference.table] = found.get(one.reference.table, frozenset()) | set(one.reference.columns)
    return found


def limits_said(caps: Caps, *, rows: int, group: int, money: Mapping[str, Decimal]) -> tuple[str, str]:
    """How much of a rule's limits for one run this takes, and which of them are less than it; both in words."""
    used = [
        ("rows", rows, caps.records),
        ("rows by their share of all records", rows, caps.share),
        ("records in one group", group, caps.group),
    ]
    said = [f"{many:,} of {cap:,} {what}" for what, many, cap in used if cap is not None]
    over = [what for what, many, cap in used if cap is not None and many > cap]
    for currency, amount in sorted(money.items()):
        cap = caps.money.get(currency, Decimal(0)) if caps.money else None
        if cap is not None:
            said.append(f"{amount:,} of {cap:,} {currency}")
            over += [currency] if amount > cap else []
    return ", ".join(said), " and ".join(over)
