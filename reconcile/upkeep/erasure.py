"""Personal data is taken out of everything the state holds; the audit log names the entries whose bodies went.

What is erased is named by HMACs under the store's key, which are kept so that a backup that still holds it can be
treated again when it is restored. Erased records leave tombstones, so that what was decided and done about them still
stands. What lies elsewhere (messages sent, the sources themselves, backups) is not reached, and is said.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from notifications.base import MASK
from reconcile.audit import facts
from reconcile.audit import log as audit
from reconcile.audit.verifier import ERASED, RESTORED
from reconcile.findings.identity import decode, erased_name, id_of, public, record_of
from reconcile.findings.operations import OVER, BundleState
from reconcile.messages import outbox
from reconcile.store import Store, Transaction, bundles, tables
from reconcile.store.bundles import BundleError, Stored
from reconcile.store.columns import Document, Json, json_text
from reconcile.store.sealing import NotSealed, SealBroken

NOT_REACHED = (
    "messages that were sent already",
    "the records in their source",
    "backups and exports made before (a backup is treated when it is restored here)",
    "configurations that ran, and names of people who act",
)
_SHORTEST = 3
"""A shorter text is looked for in the records only: it would stand in half of all sentences."""

_BATCH = 1_000
_TEXTS = ("note",)
"""What people wrote in an entry."""

_REPORTS = ((tables.runs, "summary"), (tables.run_rules, "outcome"))
_BY_THEMSELVES = {
    *(("findings", "key"), ("finding_members", "values"), ("not_same", "values_a"), ("not_same", "values_b")),
    *(("bundles", "content"), ("bundles", "outcome"), ("outbox", "notice"), ("audit_bodies", "body")),
    *(("releases", "config"), ("releases", "files"), ("erasures", "subjects"), ("erasures", "reached")),
}
"""Columns that are treated in another way, or hold configurations and HMACs."""
_OF_OURS = {"money", "day_money", "run_money", "owner", "requests", "sources", "channels", "receipt", "facts"}
"""Columns with sums, addresses of processes and the like, which no record's data gets into."""
TEXTS = tuple(
    (table, column.name)
    for table in tables.metadata.sorted_tables
    for column in table.c
    if isinstance(column.type, sa.Text | Json | Document)
    if (table.name, column.name) not in _BY_THEMSELVES and column.name not in _OF_OURS
)
"""Every other column with free text or JSON, of any finding: the data is masked there."""

_KEPT = ("finding", "bundle", "bundles", "from", "to", "plan_hash", "by", "decision", "was", audit.FACTS)
"""What the erasure's own entry goes on saying of an entry whose body it took: states and digests, so that they add up.
"""


_OWN = {
    *("id", "run", "job", "slot", "since", "created", "timezone", "first", "last", "release", "status", "messages"),
    *("checked", "rule", "severity", "dataset", "kind", "finding", "state", "engine", "money", "owner", "runbook"),
    *("link", "undo", "subject", "column", "table", "effects", "span", "change", "settled_key"),
}
"""What we or the configuration say in messages and reports: it stays whole, or nobody could read the rest."""


class ErasureWaits(Exception):
    """A cleaning of these records is under way; nothing was erased."""

    def __init__(self, bundles: Sequence[str]) -> None:
        shown = ", ".join(bundles[:3]) + (f" and {len(bundles) - 3} more" if len(bundles) > 3 else "")
        super().__init__(
            f"A cleaning of these records waits or is under way ({shown}); nothing was erased. Let it end, or reject "
            "it, and erase then"
        )


@dataclass(frozen=True)
class Wanted:
    """What is to be erased, without saying it. `columns` hold personal data: their values are looked for in texts."""

    dataset: str
    records: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {name: list(getattr(self, name)) for name in ("records", "values", "columns")}
        return {"dataset": self.dataset} | said

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Wanted:
        return cls(said["dataset"], *(tuple(said[name]) for name in ("records", "values", "columns")))


@dataclass(frozen=True)
class Erased:
    """What was reached, by kind. `left`: cleanings under way that still hold it (after a restore only)."""

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
    """Every record of a dataset that has this value in a column, however it is written (case, blanks around)."""
    return Wanted(dataset, values=(_of_value(store, dataset, column, value),), columns=(column,))


def named(tx: Transaction, dataset: str, typed: Sequence[str]) -> str:
    """The record that a person names by its id as it is shown; where none is known, its id as text."""
    mine, of = tables.finding_members.c, tables.findings.c
    joined = sa.join(tables.finding_members, tables.findings, of.id == mine.finding)
    query = sa.select(mine.record).select_from(joined).where(of.dataset == dataset).distinct()
    for record in tx.connection.execute(query.execution_options(yield_per=_BATCH)).scalars():
        if [str(public(part)) for part in id_of(record)] == list(typed):
            return str(record)
    return record_of(tuple(typed))


def erase(
    store: Store, wanted: Wanted, *, texts: Collection[str] = (), actor: str = "reconcile", dry_run: bool = False
) -> Erased:
    """Erase in one transaction, with its entry; `texts` are looked for as well. `dry_run` only counts.

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
        return _done(tx, work, f"er_{secrets.token_hex(8)}", actor, again=False)


def standing(tx: Transaction) -> list[dict[str, Any]]:
    """Every erasure there was, as `again` takes it."""
    mine = tables.erasures
    return [dict(row) for row in tx.connection.execute(sa.select(mine).order_by(mine.c.seq)).mappings()]


def again(tx: Transaction, before: Sequence[Mapping[str, Any]]) -> list[Erased]:
    """Do those anew that the restored state does not know of; cleanings under way are left, and said."""
    known = {one["id"] for one in standing(tx)}
    _overwrite(tx)
    done = []
    for one in before:
        if one["id"] not in known:
            work = _Work(tx, Wanted.of(one["subjects"]), (), writes=True)
            done.append(_done(tx, work, one["id"], one["by"], again=True))
    return done


def _done(tx: Transaction, work: _Work, name: str, actor: str, *, again: bool) -> Erased:
    left = tuple(work.waiting())
    done = Erased(name, work.reached(), left)
    body: dict[str, Any] = {
        "erasure": name,
        "dataset": work.wanted.dataset,
        "reached": dict(done.reached),
        "entries": work.entries,
    }
    body |= {"again": again, "left": list(left)}
    audit.append(tx, actor, ERASED, f"erasure:{name}", body)
    row = {"id": name, "at": tx.now, "by": actor, "subjects": work.wanted.to_json(), "reached": dict(done.reached)}
    tx.finisher(_Rows).rows.append(row)
    return done


def _overwrite(tx: Transaction) -> None:
    """On SQLite what goes is overwritten with zeros, and not only marked as free."""
    if not tx.store.is_shared:
        tx.connection.exec_driver_sql("PRAGMA secure_delete = ON").close()


class _Rows:
    """The rows of `erasures`, written when their entries have their numbers."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def finish(self, tx: Transaction) -> None:
        for row in self.rows:
            subject = audit.subject_of(tx.store, f"erasure:{row['id']}")
            mine = sa.select(sa.func.max(tables.audit.c.seq)).where(tables.audit.c.subject == subject)
            tx.connection.execute(sa.insert(tables.erasures).values(row | {"seq": mine.scalar_subquery()}))


# HMACs


def _of_record(store: Store, dataset: str, record: str) -> str:
    return _named(store, ["record", dataset, record])


def _of_value(store: Store, dataset: str, column: str, value: str) -> str:
    return _named(store, ["value", dataset, column, value.strip().casefold()])


def _named(store: Store, what: list[str]) -> str:
    return hmac.digest(store.key, f"reconcile/erasure/1|{json_text(what)}".encode(), "sha256").hex()


def _texts(pairs: Any) -> Iterator[tuple[str, str]]:
    """Column and text of each value, as findings hold them."""
    for column, value in pairs:
        shown = public(decode(value))
        if shown is not None:
            yield column, str(shown)


def _rows_of(plan: Stored) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each row of the dataset in a plan, as it was and as it became: its record, and column and text of its cells.

    A row that is no record of the plan has no record's name.
    """
    bundle = plan.bundle
    surplus = iter(bundle.surplus)
    seen = iter(plan.outcome_json() or ())
    for one in bundle.changes:
        done: dict[str, Any] = {} if one.is_guard else next(seen, {})
        if one.row.table != bundle.table:
            continue
        record = bundle.keeper if one.role == "keeper" else next(surplus, "") if one.role == "surplus" else ""
        for cells in (one.before, one.after, done.get("before"), done.get("after")):
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
        """Findings that only name such a record as near to their group."""
        self._plans: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._counted = False
        self._look()
        self._escaped = [json.dumps(needle)[1:-1] for needle in sorted(self._needles)]
        self._look_into_plans()
        self._look_again()
        self._needles |= {written for n in self._needles for written in (n.casefold(), n.upper())}
        self._escaped = [json.dumps(needle)[1:-1] for needle in sorted(self._needles)]

    def _look(self) -> None:
        """Which records of which findings these are, and what their personal data reads like."""
        mine, of = tables.finding_members.c, tables.findings.c
        members = sa.select(mine.finding, mine.record, mine["values"]).join_from(
            tables.finding_members, tables.findings, of.id == mine.finding
        )
        for finding, record, values in self._rows(members.where(of.dataset == self.wanted.dataset)):
            said = list(_texts(values))
            if self._is_wanted(record, said):
                self._records[finding].add(record)
                self._needles |= {t for c, t in said if c in self.wanted.columns and len(t) >= _SHORTEST}
        shown = sa.select(of.id, of.key, of.payload).where(of.dataset == self.wanted.dataset)
        for finding, key, payload in self._rows(shown):
            if finding in self._records or self._is_wanted("", list(_texts(key))):
                self._findings.add(finding)
            nearest = payload.get("nearby", {}).get("nearest", ())
            if any(self._is_wanted(record, list(_texts(values))) for record, values, _ in nearest):
                self._near.add(finding)

    def _look_into_plans(self) -> None:
        """Findings hold the columns that their rule names; the rows of their plans hold all of them."""
        mine = tables.bundles.c
        query = sa.select(*bundles.COLUMNS).where(mine.dataset == self.wanted.dataset, mine.content.is_not(None))
        self._plans = {plan.id for row in self._rows(query) if self._holds(plan := bundles.stored(self.tx, row))}

    def _look_again(self) -> None:
        """Other findings of the dataset that hold the same personal data: of the same person, under another record."""
        mine, of = tables.finding_members.c, tables.findings.c
        members = sa.select(mine.finding, mine["values"]).join_from(
            tables.finding_members, tables.findings, of.id == mine.finding
        )
        keys = sa.select(of.id, of.key)
        for query in (members, keys):
            for finding, said in self._rows(query.where(of.dataset == self.wanted.dataset)):
                if any(c in self.wanted.columns and text in self._needles for c, text in _texts(said)):
                    self._findings.add(finding)

    def _holds(self, plan: Stored) -> bool:
        """Whether its rows are of the person; what they hold in columns with personal data is looked for in texts."""
        try:
            mine = [said for record, said in _rows_of(plan) if self._is_wanted(record, said)]
            self._needles |= {t for said in mine for c, t in said if c in self.wanted.columns and len(t) >= _SHORTEST}
            return bool(mine)
        except (BundleError, NotSealed, SealBroken):  # nobody can read it any more but as text
            return self._says(f"{plan.content} {plan.outcome}")

    def _is_wanted(self, record: str, said: Sequence[tuple[str, str]]) -> bool:
        store, wanted = self.tx.store, self.wanted
        if wanted.records and record and _of_record(store, wanted.dataset, record) in wanted.records:
            return True
        return bool(wanted.values) and any(
            column in wanted.columns and _of_value(store, wanted.dataset, column, text) in wanted.values
            for column, text in said
        )

    def waiting(self) -> list[str]:
        """Cleanings that hold it, or are of these findings, and are not over."""
        mine = tables.bundles.c
        live = mine.state.not_in([state.value for state in OVER if state is not BundleState.COMPENSATING])
        return sorted(row.id for row in self._of_plans(sa.select(mine.id).where(live)))

    def reached(self) -> Mapping[str, int]:
        """How much of each there was to erase; it is erased the first time this is asked."""
        if not self._counted:
            self._counted = True
            self._bundles()
            self._pairs()
            self._in_findings()
            self._in_members()
            self._messages()
            self._bodies()
            self._written_elsewhere()
        return {name: count for name, count in sorted(self._counts.items()) if count}

    # Findings

    def _in_findings(self) -> None:
        mine = tables.findings
        self._touch(facts.FINDING, self._findings | self._near)
        for row in list(self._of_findings(sa.select(mine), mine.c.id, self._findings | self._near)):
            is_mine = row.id in self._findings
            values: dict[str, Any] = {"note": None} if is_mine and row.note is not None else {}
            if "nearby" in row.payload:
                values["payload"] = {name: said for name, said in row.payload.items() if name != "nearby"}
            if is_mine and self._is_personal(row.key):
                kept = {name: row.payload[name] for name in ("change", "summary") if name in row.payload}
                values |= {"key": [], "payload": kept | {"reason": None, "span": None}}
                values["fingerprint"] = self._tombstone(row.fingerprint)
                self._aliases(row.id)
            if values:
                self._change("findings", sa.update(mine).where(mine.c.id == row.id).values(values))

    def _is_personal(self, key: Any) -> bool:
        return any(column in self.wanted.columns or text in self._needles for column, text in _texts(key))

    def _aliases(self, finding: str) -> None:
        mine = tables.finding_aliases
        for mark in list(self._rows(sa.select(mine.c.fingerprint).where(mine.c.finding == finding))):
            one = sa.update(mine).where(mine.c.fingerprint == mark.fingerprint)
            self._run(one.values(fingerprint=self._tombstone(mark.fingerprint)))

    def _tombstone(self, text: str) -> str:
        return _named(self.tx.store, ["tombstone", text])

    def _in_members(self) -> None:
        mine = tables.finding_members
        for finding, records in sorted(self._records.items()):
            for record in sorted(records):
                one = sa.update(mine).where(mine.c.finding == finding, mine.c.record == record)
                self._change("records", one.values({"record": self._erased_name(record), "values": []}))
        for row in list(self._of_findings(sa.select(mine), mine.c.finding)):
            values = [[c, None if self._is_personal([[c, value]]) else value] for c, value in row.values]
            if row.record not in self._records[row.finding] and values != row.values:
                one = sa.update(mine).where(mine.c.finding == row.finding, mine.c.record == row.record)
                self._change("values", one.values({"values": values}))

    def _erased_name(self, record: str) -> str:
        """The tombstone of a record: an id of as many columns."""
        return erased_name(self._tombstone(record), columns=len(id_of(record)))

    def _pairs(self) -> None:
        """A judgement holds the key it was about: it goes with the records, or with a key that is personal."""
        mine = tables.not_same
        personal = {
            row.id
            for row in self._of_findings(sa.select(tables.findings), tables.findings.c.id)
            if self._is_personal(row.key)
        }
        for row in list(self._of_findings(sa.select(mine), mine.c.finding)):
            gone = self._records.get(row.finding, set())
            if row.finding in personal or row.record_a in gone or row.record_b in gone:
                pair = (mine.c.rule == row.rule, mine.c.record_a == row.record_a, mine.c.record_b == row.record_b)
                self._touch(facts.FINDING, [row.finding])
                self._change("judgements", sa.delete(mine).where(*pair))

    def _bundles(self) -> None:
        """Before-images and after-images go: what was done cannot be undone any more."""
        mine = tables.bundles
        waiting = set(self.waiting())
        for row in self._of_plans(sa.select(mine.c.id, mine.c.content, mine.c.outcome, mine.c.summary)):
            if row.id in waiting:
                continue
            self._touch(facts.PLAN, [row.id])
            summary = self._masked(row.summary)
            if row.content is not None or row.outcome is not None or summary != row.summary:
                gone = {"content": None, "outcome": None, "summary": summary}
                self._change("plans", sa.update(mine).where(mine.c.id == row.id).values(gone))
            notes = sa.update(tables.approvals).where(tables.approvals.c.bundle == row.id)
            self._run(notes.values(note=None))

    # Texts

    def _messages(self) -> None:
        """What was delivered shrinks to a proof of what it was; what waits is delivered without the data."""
        mine = tables.outbox
        for row in list(self._rows(sa.select(mine.c.message, mine.c.status, mine.c.notice))):
            text = json_text(row.notice)
            if not (self._says(text) or any(f'"{finding}"' in text for finding in self._findings | self._near)):
                continue
            over = row.status in ("sent", "failed")
            if over and set(row.notice) == {"blanked"}:
                continue
            shown = outbox.blanked(self.tx, row.notice) if row.status == "sent" else self._masked(row.notice)
            if shown != row.notice:
                self._change("messages", sa.update(mine).where(mine.c.message == row.message).values(notice=shown))

    def _written_elsewhere(self) -> None:
        """Whatever else is text, of whatever finding, run or person: notes, reasons, reports, sentences."""
        for table, name in TEXTS:
            column, names = table.c[name], table.primary_key.columns
            kind, of = next(
                ((kind, part.of) for kind, parts in facts.KINDS.items() for part in parts if part.table is table),
                (None, None),
            )
            about = sa.literal(None) if of is None else table.c[of].label("about")
            found = self._rows(sa.select(*names, about, column).where(column.is_not(None)))
            for *key, thing, said in [row for row in found if self._says(json_text(row[-1]))]:
                if (shown := self._masked(said)) == said:
                    continue
                mine = [one == value for one, value in zip(names, key, strict=True)]
                self._counts["reports"] += (table, name) in _REPORTS
                if kind is not None:
                    self._touch(kind, [thing])
                self._run(sa.update(table).where(*mine).values({name: shown}))

    def _bodies(self) -> None:
        """The bodies of entries that hold the data, or what people wrote about these findings."""
        log, mine = tables.audit, tables.audit_bodies
        text = sa.type_coerce(mine.c.body, sa.Text).label("text")
        query = sa.select(log.c.seq, log.c.event, mine.c.finding, text).join_from(log, mine, mine.c.seq == log.c.seq)
        for row in self._rows(query.order_by(log.c.seq)):
            # neither holds data, and the chain cannot be followed without what they say
            if row.event in (ERASED, RESTORED) or not (self._says(row.text) or row.finding in self._findings):
                continue
            body = json.loads(row.text)
            if self._says(row.text) or any(body.get(name) for name in _TEXTS):
                kept = {name: body[name] for name in _KEPT if name in body}
                self.entries.append({"seq": row.seq, "event": row.event, **kept})
        for one in self.entries:
            self._change("entries", sa.delete(mine).where(mine.c.seq == one["seq"]))

    def _says(self, text: str) -> bool:
        """Whether JSON text holds one of the needles."""
        return any(needle in text for needle in self._escaped)

    def _masked(self, said: Any, own: Collection[str] = _OWN) -> Any:
        """The same JSON without the data: the findings' groups, and every text that holds a needle but what is our own.

        The columns of a key may be called as anything of ours is.
        """
        match said:
            case dict():
                shown = {
                    name: value if name in own else self._masked(value, () if name == "key" else own)
                    for name, value in said.items()
                }
                if said.get("finding") in self._findings and "keeper" in said:
                    shown["key"] = dict.fromkeys(said.get("key") or {}, MASK)
                    shown |= {"keeper": MASK, "surplus": [MASK for _ in said.get("surplus") or ()]}
                if said.get("nearby") and said.get("finding") in self._findings | self._near:
                    shown["nearby"] = [MASK for _ in said["nearby"]]
                return shown
            case list():
                return [self._masked(one, own) for one in said]
            case str() if any(needle in said for needle in self._needles):
                return MASK
        return said

    # Statements

    def _rows(self, query: sa.Select[Any]) -> Iterator[Any]:
        return iter(self.tx.connection.execute(query.execution_options(yield_per=_BATCH)))

    def _of_plans(self, query: sa.Select[Any]) -> list[Any]:
        """The plans of these findings, and those whose rows hold what is erased."""
        mine, ids = tables.bundles.c, sorted(self._plans)
        found = {row.id: row for row in self._of_findings(query, mine.finding)}
        for at in range(0, len(ids), _BATCH):
            some = query.where(mine.id.in_(ids[at : at + _BATCH]))
            found |= {row.id: row for row in self.tx.connection.execute(some)}
        return list(found.values())

    def _of_findings(
        self, query: sa.Select[Any], column: sa.ColumnElement[str], findings: Collection[str] | None = None
    ) -> Iterator[Any]:
        names = sorted(self._findings if findings is None else findings)
        for at in range(0, len(names), _BATCH):
            yield from self.tx.connection.execute(query.where(column.in_(names[at : at + _BATCH]))).all()

    def _touch(self, kind: str, names: Collection[str]) -> None:
        if self.writes:
            audit.touch(self.tx, kind, names)

    def _change(self, what: str, statement: sa.Update | sa.Delete) -> None:
        self._counts[what] += 1
        self._run(statement)

    def _run(self, statement: sa.Update | sa.Delete) -> None:
        if self.writes:
            self.tx.connection.execute(statement)
