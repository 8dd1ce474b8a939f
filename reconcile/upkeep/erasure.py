"""Erase personal data from the whole state; the audit log names the entries whose bodies were erased.

Erased data is identified by HMACs under the store's key. They are kept, so a restored backup that still holds the data
is erased again. Erased records leave tombstones, so decisions and cleanings of them stay. Data elsewhere (sent
messages, the sources themselves, backups) is not reached, and the result says so.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Any, get_args, get_type_hints

import sqlalchemy as sa

from notifications.base import MASK, OURS, Notice
from reconcile.audit import facts
from reconcile.audit import log as audit
from reconcile.audit.verifier import ERASED, RESTORED
from reconcile.findings.identity import decode, erased_name, id_of, public, record_of
from reconcile.findings.results import RunSummary
from reconcile.findings.states import OVER, BundleState
from reconcile.messages import outbox
from reconcile.store import Store, Transaction, bundles, tables
from reconcile.store.bundles import BundleError, Stored
from reconcile.store.columns import Document, Json, json_text
from reconcile.store.sealing import NotSealed, SealBroken

NOT_REACHED = (
    "messages already sent",
    "the records in their source",
    "existing backups and exports (a backup is erased when it is restored here)",
    "configurations that ran, and names of people who act",
)
_SHORTEST = 3
"""The shortest text searched for outside records: shorter ones appear in half of all sentences."""

_BATCH = 1_000
_TEXTS = ("note",)
"""Fields of an entry written by people."""

_REPORTS = ((tables.runs, "summary"), (tables.run_rules, "outcome"))
_BY_THEMSELVES = {
    *(("findings", "key"), ("finding_members", "values"), ("not_same", "values_a"), ("not_same", "values_b")),
    *(("bundles", "content"), ("bundles", "outcome"), ("outbox", "notice"), ("audit_bodies", "body")),
    *(("releases", "config"), ("releases", "files"), ("erasures", "subjects"), ("erasures", "reached")),
}
"""Columns that are erased by other code, or hold configurations and HMACs."""
_OF_OURS = {"money", "day_money", "run_money", "owner", "requests", "sources", "channels", "receipt", "facts"}
"""Columns with sums, addresses of processes and the like, which never hold data of records."""
TEXTS = tuple(
    (table, column.name)
    for table in tables.metadata.sorted_tables
    for column in table.c
    if isinstance(column.type, sa.Text | Json | Document)
    if (table.name, column.name) not in _BY_THEMSELVES and column.name not in _OF_OURS
)
"""Every other column with free text or JSON, of any finding: the data is masked in it."""

_KEPT = ("finding", "bundle", "bundles", "from", "to", "plan_hash", "by", "decision", "was", audit.FACTS)
"""The fields that the erasure's entry keeps of an erased body: states and digests, so the log still adds up."""


_OF_ROWS = {"table", "effects", "span", "change", "settled_key"}
"""Fields with our words or the configuration's in the JSON of findings and plans, which has no type."""


def own_fields(*kinds: type) -> frozenset[str]:
    """Return the names of fields that are `Ours` wherever these types, or their parts, have a field of that name.

    Masking leaves these fields, so the rest is readable; a field that is not marked is masked.
    """
    ours, others, todo = set[str](), set[str](), list(kinds)
    for kind in todo:
        for name, hint in get_type_hints(kind, include_extras=True).items():
            is_ours = OURS in getattr(hint, "__metadata__", ())
            (ours if is_ours else others).add(name)
            todo += [part for part in _parts(hint) if part not in todo]
    return frozenset(ours - others)


def _parts(hint: Any) -> Iterator[type]:
    if is_dataclass(hint) and isinstance(hint, type):
        yield hint
    for part in get_args(hint):
        yield from _parts(part)


_OWN = own_fields(Notice, RunSummary) | _OF_ROWS


class ErasureWaits(Exception):
    """A cleaning of these records is in progress; nothing was erased."""

    def __init__(self, bundles: Sequence[str]) -> None:
        listed = ", ".join(bundles[:3]) + (f" and {len(bundles) - 3} more" if len(bundles) > 3 else "")
        super().__init__(
            f"A cleaning of these records waits or is in progress ({listed}); nothing was erased. Wait for it, or "
            "reject it, then erase again"
        )


@dataclass(frozen=True)
class Wanted:
    """The data to erase, as HMACs. `columns` hold personal data: their values are searched for in texts."""

    dataset: str
    records: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {name: list(getattr(self, name)) for name in ("records", "values", "columns")}
        return {"dataset": self.dataset} | fields

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Wanted:
        return cls(fields["dataset"], *(tuple(fields[name]) for name in ("records", "values", "columns")))


@dataclass(frozen=True)
class Erased:
    """The number of erased items by kind. `left`: cleanings that still hold the data (only after a restore)."""

    id: str
    reached: Mapping[str, int]
    left: tuple[str, ...] = ()

    @property
    def anything(self) -> bool:
        return any(self.reached.values())


def of_record(store: Store, dataset: str, record: str, columns: Collection[str]) -> Wanted:
    """A record by its canonical name; `columns` are those with personal data."""
    return Wanted(dataset, records=(_of_record(store, dataset, record),), columns=tuple(sorted(columns)))


def of_value(store: Store, dataset: str, column: str, value: str) -> Wanted:
    """Every record of a dataset with this value in a column, ignoring case and surrounding blanks."""
    return Wanted(dataset, values=(_of_value(store, dataset, column, value),), columns=(column,))


def named(tx: Transaction, dataset: str, typed: Sequence[str]) -> str:
    """The known record with this displayed id; if there is none, a record with the id as text."""
    members, finding_columns = tables.finding_members.c, tables.findings.c
    joined = sa.join(tables.finding_members, tables.findings, finding_columns.id == members.finding)
    query = sa.select(members.record).select_from(joined).where(finding_columns.dataset == dataset).distinct()
    for record in tx.connection.execute(query.execution_options(yield_per=_BATCH)).scalars():
        if [str(public(part)) for part in id_of(record)] == list(typed):
            return str(record)
    return record_of(tuple(typed))


def erase(
    store: Store, wanted: Wanted, *, texts: Collection[str] = (), actor: str = "reconcile", dry_run: bool = False
) -> Erased:
    """Erase in one transaction, with its log entry; `texts` are also searched for. `dry_run` only counts.

    Raises ErasureWaits, StoreError.
    """
    if dry_run:
        with store.read() as tx:
            work = _Work(tx, wanted, texts, writes=False)
            return Erased("", work.reached(), tuple(work.waiting()))
    with store.begin() as tx:
        _overwrite(tx)
        work = _Work(tx, wanted, texts, writes=True)
        if waiting := work.waiting():
            raise ErasureWaits(waiting)
        return _finish(tx, work, f"er_{secrets.token_hex(8)}", actor, is_repeated=False)


def recorded(tx: Transaction) -> list[dict[str, Any]]:
    """Every recorded erasure, as `repeat` takes it."""
    table = tables.erasures
    return [dict(row) for row in tx.connection.execute(sa.select(table).order_by(table.c.seq)).mappings()]


def repeat(tx: Transaction, erasures: Sequence[Mapping[str, Any]]) -> list[Erased]:
    """Repeat erasures that the restored state lacks; cleanings in progress are left, and named in the result."""
    known_ids = {row["id"] for row in recorded(tx)}
    _overwrite(tx)
    repeated = []
    for row in erasures:
        if row["id"] not in known_ids:
            work = _Work(tx, Wanted.of(row["subjects"]), (), writes=True)
            repeated.append(_finish(tx, work, row["id"], row["by"], is_repeated=True))
    return repeated


def _finish(tx: Transaction, work: _Work, name: str, actor: str, *, is_repeated: bool) -> Erased:
    waiting = tuple(work.waiting())
    erased = Erased(name, work.reached(), waiting)
    body: dict[str, Any] = {
        "erasure": name,
        "dataset": work.wanted.dataset,
        "reached": dict(erased.reached),
        "entries": work.entries,
    }
    body |= {"again": is_repeated, "left": list(waiting)}
    audit.append(tx, actor, ERASED, f"erasure:{name}", body)
    row = {"id": name, "at": tx.now, "by": actor, "subjects": work.wanted.to_json(), "reached": dict(erased.reached)}
    tx.finisher(_Rows).rows.append(row)
    return erased


def _overwrite(tx: Transaction) -> None:
    """On SQLite, overwrite deleted data with zeros instead of only marking it as free."""
    if not tx.store.is_shared:
        tx.connection.exec_driver_sql("PRAGMA secure_delete = ON").close()


class _Rows:
    """The rows of `erasures`, written after their entries have numbers."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def finish(self, tx: Transaction) -> None:
        for row in self.rows:
            subject = audit.subject_of(tx.store, f"erasure:{row['id']}")
            newest = sa.select(sa.func.max(tables.audit.c.seq)).where(tables.audit.c.subject == subject)
            tx.connection.execute(sa.insert(tables.erasures).values(row | {"seq": newest.scalar_subquery()}))


# HMACs


def _of_record(store: Store, dataset: str, record: str) -> str:
    return _hmac(store, ["record", dataset, record])


def _of_value(store: Store, dataset: str, column: str, value: str) -> str:
    return _hmac(store, ["value", dataset, column, value.strip().casefold()])


def _hmac(store: Store, parts: list[str]) -> str:
    return hmac.digest(store.key, f"reconcile/erasure/1|{json_text(parts)}".encode(), "sha256").hex()


def _texts(pairs: Any) -> Iterator[tuple[str, str]]:
    """Column and text of each value of a finding."""
    for column, value in pairs:
        text = public(decode(value))
        if text is not None:
            yield column, str(text)


def _rows_of(plan: Stored) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each row of the dataset in a plan, before and after: its record, and column and text of its cells.

    The record's name is empty for a row that is not a record of the plan.
    """
    bundle = plan.bundle
    surplus = iter(bundle.surplus)
    outcomes = iter(plan.outcome_json() or ())
    for change in bundle.changes:
        outcome: dict[str, Any] = {} if change.is_guard else next(outcomes, {})
        if change.row.table != bundle.table:
            continue
        record = bundle.keeper if change.role == "keeper" else next(surplus, "") if change.role == "surplus" else ""
        for cells in (change.before, change.after, outcome.get("before"), outcome.get("after")):
            yield record, [(name, cell[1]) for name, cell in (cells or {}).items() if cell is not None]


# The work


@dataclass
class _Work:
    """One erasure in one transaction; without `writes` it only counts. `entries` lost their bodies."""

    tx: Transaction
    wanted: Wanted
    texts: Collection[str]
    writes: bool
    entries: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._needles = {text for text in self.texts if len(text) >= _SHORTEST}
        self._records: dict[str, set[str]] = defaultdict(set)
        self._findings: set[str] = set()
        self._near: set[str] = set()
        """Findings that only list such a record as near to their group."""
        self._plans: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._counted = False
        self._find_records()
        self._escaped = [json.dumps(needle)[1:-1] for needle in sorted(self._needles)]
        self._find_plans()
        self._find_same_person()
        self._needles |= {written for n in self._needles for written in (n.casefold(), n.upper())}
        self._escaped = [json.dumps(needle)[1:-1] for needle in sorted(self._needles)]

    def _find_records(self) -> None:
        """Find the records and findings, and the texts of their personal data."""
        member, table = tables.finding_members.c, tables.findings.c
        members = sa.select(member.finding, member.record, member["values"]).join_from(
            tables.finding_members, tables.findings, table.id == member.finding
        )
        for finding, record, values in self._rows(members.where(table.dataset == self.wanted.dataset)):
            texts = list(_texts(values))
            if self._is_wanted(record, texts):
                self._records[finding].add(record)
                self._add_needles(texts)
        shown = sa.select(table.id, table.key, table.payload).where(table.dataset == self.wanted.dataset)
        for finding, key, payload in self._rows(shown):
            if finding in self._records or self._is_wanted("", list(_texts(key))):
                self._findings.add(finding)
            nearest = payload.get("nearby", {}).get("nearest", ())
            if any(self._is_wanted(record, list(_texts(values))) for record, values, _ in nearest):
                self._near.add(finding)

    def _add_needles(self, texts: Sequence[tuple[str, str]]) -> None:
        self._needles |= {text for name, text in texts if name in self.wanted.columns and len(text) >= _SHORTEST}

    def _find_plans(self) -> None:
        """Find the plans: findings hold only the columns of their rule, but plans hold all columns."""
        table = tables.bundles.c
        query = sa.select(*bundles.COLUMNS).where(table.dataset == self.wanted.dataset, table.content.is_not(None))
        self._plans = {plan.id for row in self._rows(query) if self._holds(plan := bundles.stored(self.tx, row))}

    def _find_same_person(self) -> None:
        """Find other findings of the dataset with the same personal data: the same person under another record."""
        member, table = tables.finding_members.c, tables.findings.c
        members = sa.select(member.finding, member["values"]).join_from(
            tables.finding_members, tables.findings, table.id == member.finding
        )
        keys = sa.select(table.id, table.key)
        for query in (members, keys):
            for finding, values in self._rows(query.where(table.dataset == self.wanted.dataset)):
                if any(column in self.wanted.columns and text in self._needles for column, text in _texts(values)):
                    self._findings.add(finding)

    def _holds(self, plan: Stored) -> bool:
        """Return True if the plan has rows of the person; their personal data is then also searched for in texts."""
        try:
            rows = [texts for record, texts in _rows_of(plan) if self._is_wanted(record, texts)]
            for texts in rows:
                self._add_needles(texts)
            return bool(rows)
        except (BundleError, NotSealed, SealBroken):  # unreadable except as text
            return self._is_in(f"{plan.content} {plan.outcome}")

    def _is_wanted(self, record: str, texts: Sequence[tuple[str, str]]) -> bool:
        store, wanted = self.tx.store, self.wanted
        if wanted.records and record and _of_record(store, wanted.dataset, record) in wanted.records:
            return True
        return bool(wanted.values) and any(
            column in wanted.columns and _of_value(store, wanted.dataset, column, text) in wanted.values
            for column, text in texts
        )

    def waiting(self) -> list[str]:
        """Cleanings that hold the data, or belong to these findings, and are not over."""
        plan_columns = tables.bundles.c
        live = plan_columns.state.not_in([state.value for state in OVER if state is not BundleState.COMPENSATING])
        return sorted(row.id for row in self._of_plans(sa.select(plan_columns.id).where(live)))

    def reached(self) -> Mapping[str, int]:
        """Erase at the first call; return the number of erased items by kind."""
        if not self._counted:
            self._counted = True
            self._bundles()
            self._pairs()
            self._in_findings()
            self._in_members()
            self._messages()
            self._bodies()
            self._other_texts()
        return {name: count for name, count in sorted(self._counts.items()) if count}

    # Findings

    def _in_findings(self) -> None:
        table = tables.findings
        self._touch(facts.FINDING, self._findings | self._near)
        for row in list(self._of_findings(sa.select(table), table.c.id, self._findings | self._near)):
            is_mine = row.id in self._findings
            values: dict[str, Any] = {"note": None} if is_mine and row.note is not None else {}
            if "nearby" in row.payload:
                values["payload"] = {name: value for name, value in row.payload.items() if name != "nearby"}
            if is_mine and self._is_personal(row.key):
                shortened = {name: row.payload[name] for name in ("change", "summary") if name in row.payload}
                values |= {"key": [], "payload": shortened | {"reason": None, "span": None}}
                values["fingerprint"] = self._tombstone(row.fingerprint)
                self._aliases(row.id)
            if values:
                self._change("findings", sa.update(table).where(table.c.id == row.id).values(values))

    def _is_personal(self, key: Any) -> bool:
        return any(column in self.wanted.columns or text in self._needles for column, text in _texts(key))

    def _aliases(self, finding: str) -> None:
        table = tables.finding_aliases
        for alias in list(self._rows(sa.select(table.c.fingerprint).where(table.c.finding == finding))):
            update = sa.update(table).where(table.c.fingerprint == alias.fingerprint)
            self._run(update.values(fingerprint=self._tombstone(alias.fingerprint)))

    def _tombstone(self, text: str) -> str:
        return _hmac(self.tx.store, ["tombstone", text])

    def _in_members(self) -> None:
        table = tables.finding_members
        for finding, records in sorted(self._records.items()):
            for record in sorted(records):
                update = sa.update(table).where(table.c.finding == finding, table.c.record == record)
                self._change("records", update.values({"record": self._erased_name(record), "values": []}))
        for row in list(self._of_findings(sa.select(table), table.c.finding)):
            values = [[column, None if self._is_personal([[column, value]]) else value] for column, value in row.values]
            if row.record not in self._records[row.finding] and values != row.values:
                update = sa.update(table).where(table.c.finding == row.finding, table.c.record == row.record)
                self._change("values", update.values({"values": values}))

    def _erased_name(self, record: str) -> str:
        """The tombstone of a record: an id with the same number of columns."""
        return erased_name(self._tombstone(record), columns=len(id_of(record)))

    def _pairs(self) -> None:
        """Delete judgements of these records, or with a personal key."""
        table = tables.not_same
        personal = {
            row.id
            for row in self._of_findings(sa.select(tables.findings), tables.findings.c.id)
            if self._is_personal(row.key)
        }
        for row in list(self._of_findings(sa.select(table), table.c.finding)):
            records = self._records.get(row.finding, set())
            if row.finding in personal or row.record_a in records or row.record_b in records:
                pair = (table.c.rule == row.rule, table.c.record_a == row.record_a, table.c.record_b == row.record_b)
                self._touch(facts.FINDING, [row.finding])
                self._change("judgements", sa.delete(table).where(*pair))

    def _bundles(self) -> None:
        """Delete before-images and after-images: these plans can no longer be undone."""
        table = tables.bundles
        waiting = set(self.waiting())
        for row in self._of_plans(sa.select(table.c.id, table.c.content, table.c.outcome, table.c.summary)):
            if row.id in waiting:
                continue
            self._touch(facts.PLAN, [row.id])
            summary = self._masked(row.summary)
            if row.content is not None or row.outcome is not None or summary != row.summary:
                erased = {"content": None, "outcome": None, "summary": summary}
                self._change("plans", sa.update(table).where(table.c.id == row.id).values(erased))
            notes = sa.update(tables.approvals).where(tables.approvals.c.bundle == row.id)
            self._run(notes.values(note=None))

    # Texts

    def _messages(self) -> None:
        """Shrink delivered messages to a proof of their content; mask the data in waiting ones."""
        table = tables.outbox
        for row in list(self._rows(sa.select(table.c.message, table.c.status, table.c.notice))):
            text = json_text(row.notice)
            if not (self._is_in(text) or any(f'"{finding}"' in text for finding in self._findings | self._near)):
                continue
            over = row.status in ("sent", "failed")
            if over and set(row.notice) == {"blanked"}:
                continue
            notice = outbox.blanked(self.tx, row.notice) if row.status == "sent" else self._masked(row.notice)
            if notice != row.notice:
                self._change("messages", sa.update(table).where(table.c.message == row.message).values(notice=notice))

    def _other_texts(self) -> None:
        """Mask the data in all other texts: notes, reasons, reports, sentences."""
        for table, name in TEXTS:
            column, names = table.c[name], table.primary_key.columns
            kind, name_column = next(
                ((kind, part.of) for kind, parts in facts.KINDS.items() for part in parts if part.table is table),
                (None, None),
            )
            about = sa.literal(None) if name_column is None else table.c[name_column].label("about")
            rows = self._rows(sa.select(*names, about, column).where(column.is_not(None)))
            for *key, thing, content in [row for row in rows if self._is_in(json_text(row[-1]))]:
                if (masked := self._masked(content)) == content:
                    continue
                this_row = [key_column == value for key_column, value in zip(names, key, strict=True)]
                self._counts["reports"] += (table, name) in _REPORTS
                if kind is not None:
                    self._touch(kind, [thing])
                self._run(sa.update(table).where(*this_row).values({name: masked}))

    def _bodies(self) -> None:
        """Delete the bodies of entries that hold the data, or notes about these findings."""
        log, texts = tables.audit, tables.audit_bodies
        text = sa.type_coerce(texts.c.body, sa.Text).label("text")
        query = sa.select(log.c.seq, log.c.event, texts.c.finding, text).join_from(log, texts, texts.c.seq == log.c.seq)
        for row in self._rows(query.order_by(log.c.seq)):
            # neither holds data, and the chain cannot be verified without them
            if row.event in (ERASED, RESTORED) or not (self._is_in(row.text) or row.finding in self._findings):
                continue
            body = json.loads(row.text)
            if self._is_in(row.text) or any(body.get(name) for name in _TEXTS):
                states = {name: body[name] for name in _KEPT if name in body}
                self.entries.append({"seq": row.seq, "event": row.event, **states})
        for entry in self.entries:
            self._change("entries", sa.delete(texts).where(texts.c.seq == entry["seq"]))

    def _is_in(self, text: str) -> bool:
        """Return True if JSON text contains one of the needles."""
        return any(needle in text for needle in self._escaped)

    def _masked(self, data: Any, own: Collection[str] = _OWN) -> Any:
        """Mask the data in JSON: the findings' groups, and every text with a needle outside our own fields.

        Columns of a key may have the names of our fields.
        """
        match data:
            case dict():
                masked = {
                    name: value if name in own else self._masked(value, () if name == "key" else own)
                    for name, value in data.items()
                }
                if data.get("finding") in self._findings and "keeper" in data:
                    masked["key"] = dict.fromkeys(data.get("key") or {}, MASK)
                    masked |= {"keeper": MASK, "surplus": [MASK for _ in data.get("surplus") or ()]}
                if data.get("nearby") and data.get("finding") in self._findings | self._near:
                    masked["nearby"] = [MASK for _ in data["nearby"]]
                return masked
            case list():
                return [self._masked(item, own) for item in data]
            case str() if any(needle in data for needle in self._needles):
                return MASK
        return data

    # Statements

    def _rows(self, query: sa.Select[Any]) -> Iterator[Any]:
        return iter(self.tx.connection.execute(query.execution_options(yield_per=_BATCH)))

    def _of_plans(self, query: sa.Select[Any]) -> list[Any]:
        """The plans of these findings, and plans whose rows hold the data."""
        plan_columns, ids = tables.bundles.c, sorted(self._plans)
        rows = {row.id: row for row in self._of_findings(query, plan_columns.finding)}
        for at in range(0, len(ids), _BATCH):
            batch = query.where(plan_columns.id.in_(ids[at : at + _BATCH]))
            rows |= {row.id: row for row in self.tx.connection.execute(batch)}
        return list(rows.values())

    def _of_findings(
        self, query: sa.Select[Any], column: sa.ColumnElement[str], findings: Collection[str] | None = None
    ) -> Iterator[Any]:
        names = sorted(self._findings if findings is None else findings)
        for at in range(0, len(names), _BATCH):
            yield from self.tx.connection.execute(query.where(column.in_(names[at : at + _BATCH]))).all()

    def _touch(self, kind: str, names: Collection[str]) -> None:
        if self.writes:
            audit.touch(self.tx, kind, names)

    def _change(self, kind: str, statement: sa.Update | sa.Delete) -> None:
        self._counts[kind] += 1
        self._run(statement)

    def _run(self, statement: sa.Update | sa.Delete) -> None:
        if self.writes:
            self.tx.connection.execute(statement)
