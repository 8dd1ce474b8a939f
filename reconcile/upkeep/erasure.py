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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Any, TypeVarTuple, get_args, get_type_hints

from connectors.target import Cells, Change
from notifications.base import MASK, OURS, Notice
from reconcile.audit import facts
from reconcile.audit import log as audit
from reconcile.audit.verifier import ERASED, RESTORED
from reconcile.documents import JsonObject
from reconcile.errors import Refused
from reconcile.findings import payload as stored_parts
from reconcile.findings.identity import (
    compared_name,
    dataset_of,
    decode,
    erased_name,
    id_of,
    public,
    record_of,
    without_dataset,
)
from reconcile.findings.plan import Plan
from reconcile.findings.results import RunSummary
from reconcile.findings.states import Event, PlanState
from reconcile.journal import effects
from reconcile.messages import outbox
from reconcile.store import Store, Transaction, audit_log, erasing, record_names, remembered, watermarks
from reconcile.store import plans as stored_plans
from reconcile.store.columns import json_text
from reconcile.store.plans import PlanDamaged, PlanPurged, StoredPlan
from reconcile.store.sealing import NotSealed, SealBroken
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition

NOT_REACHED = (
    "messages already sent",
    "the records in their source, and what another program saved beside a cleaned file (`.saved-1`)",
    "existing backups and exports (a backup is erased when it is restored here)",
    "configurations that ran, and names of people who act",
)
_SHORTEST = 3
"""The shortest text searched for outside records: shorter ones appear in half of all sentences."""

_TEXTS = ("note",)
"""Fields of an entry written by people."""

_REPORTS = (("runs", "summary"), ("run_rules", "outcome"), ("unchanged_runs", "summary"))
_BY_THEMSELVES = {
    *(("findings", "key"), ("finding_members", "values"), ("not_same", "values_a"), ("not_same", "values_b")),
    *(("plans", "content"), ("plans", "outcome"), ("outbox", "notice"), ("audit_bodies", "body")),
    *(("releases", "config"), ("releases", "files"), ("erasures", "subjects"), ("erasures", "reached")),
    *(("uncertain_pairs", "values_a"), ("uncertain_pairs", "values_b"), ("uncertain_pairs", "evidence")),
}
"""Columns that are erased by other code, or hold configurations and HMACs."""
_OF_OURS = {
    *("money", "day_money", "run_money", "owner", "requests", "sources", "channels", "receipt", "facts", "mark"),
    *("slots", "columns", "types"),
}
"""Columns with sums, times, addresses of processes and the like, which never hold data of records."""
TEXTS = tuple(
    (table, column)
    for table, column in erasing.text_columns()
    if (table, column) not in _BY_THEMSELVES and column not in _OF_OURS
)
"""Every other column with free text or JSON, of any finding: the data is masked in it."""
_OF_RECORDS = {("findings", "payload"), ("finding_members", "gives")}
"""Those of them that hold values of the records that a row is about: a value that an erased record shares with others,
such as a city, is theirs there."""

_KEPT = ("finding", "plan", "plans", "from", "to", "plan_hash", "by", "decision", "was", audit.ALSO, audit.FACTS)
"""The fields that the erasure's entry keeps of an erased body: states and digests, so the log still adds up."""


_OF_ROWS = {"table", "effects", "span", "change", "settled_key", "differing", "judged"}
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


_KEPT_OF_PAYLOAD = ("change", "summary", "form", "datasets")
"""The parts of a finding's payload that never hold data of records."""


_OWN = own_fields(Notice, RunSummary) | _OF_ROWS


class ErasureWaits(Refused):
    """A cleaning of these records is in progress; nothing was erased."""

    def __init__(self, plans: Sequence[str]) -> None:
        listed = ", ".join(plans[:3]) + (f" and {len(plans) - 3} more" if len(plans) > 3 else "")
        super().__init__(
            f"A cleaning of these records waits or is in progress ({listed}); nothing was erased. Wait for it, or "
            "reject it, then erase again"
        )


@dataclass(frozen=True)
class ErasureRequest:
    """The data to erase, as HMACs. `columns` hold personal data: their values are searched for in texts."""

    dataset: str
    records: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def to_json(self) -> JsonObject:
        fields: JsonObject = {name: list(getattr(self, name)) for name in ("records", "values", "columns")}
        return {"dataset": self.dataset} | fields

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ErasureRequest:
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


def of_record(store: Store, dataset: str, record: str, columns: Collection[str]) -> ErasureRequest:
    """A record by its canonical name; `columns` are those with personal data."""
    return ErasureRequest(dataset, records=(_of_record(store, dataset, record),), columns=tuple(sorted(columns)))


def of_value(store: Store, dataset: str, column: str, value: str) -> ErasureRequest:
    """Every record of a dataset with this value in a column, ignoring case and surrounding blanks."""
    return ErasureRequest(dataset, values=(_of_value(store, dataset, column, value),), columns=(column,))


def named(tx: Transaction, dataset: str, typed: Sequence[str]) -> str:
    """The known record with this displayed id; if there is none, a record with the id as text."""
    for record in record_names.records(tx, dataset):
        if [str(public(part)) for part in id_of(record)] == list(typed):
            return without_dataset(record)
    return record_of(tuple(typed))


def erase(
    store: Store,
    wanted: ErasureRequest,
    *,
    texts: Collection[str] = (),
    actor: str = "reconcile",
    dry_run: bool = False,
    beside: Mapping[str, int] | None = None,
) -> Erased:
    """Erase in one transaction, with its log entry; `texts` are also searched for. `dry_run` only counts.

    `beside` are the numbers of what was erased beside files, for the log. Raises ErasureWaits, StoreError.
    """
    if dry_run:
        with store.read() as tx:
            work = _Erasure(tx, wanted, texts, writes=False)
            return Erased("", work.reached(), tuple(work.waiting()))
    with store.begin() as tx:
        erasing.overwrite_deleted(tx)
        work = _Erasure(tx, wanted, texts, writes=True)
        if waiting := work.waiting():
            raise ErasureWaits(waiting)
        return _finish(tx, work, f"er_{secrets.token_hex(8)}", actor, is_repeated=False, beside=beside)


def removed_rows(store: Store, wanted: ErasureRequest, texts: Collection[str] = ()) -> list[tuple[str, Cells]]:
    """Return the rows, by table, that the cleanings removed whose rows `erase` deletes. Raises a StoreError.

    A cleaning that cannot be read has none.
    """
    with store.read() as tx:
        return list(_Erasure(tx, wanted, texts, writes=False).removed_rows())


def repeat(tx: Transaction, erasures: Sequence[erasing.RecordedErasure]) -> list[Erased]:
    """Repeat erasures that the restored state lacks, and withdraw plans of what they erase that wait for approval.

    Cleanings in progress are left, and named in the result.
    """
    known_ids = {erasure.id for erasure in erasing.recorded(tx)}
    erasing.overwrite_deleted(tx)
    repeated = []
    for erasure in erasures:
        if erasure.id not in known_ids:
            wanted = ErasureRequest.of(erasure.subjects)
            _withdraw(tx, _Erasure(tx, wanted, (), writes=False).waiting(), erasure.by)
            work = _Erasure(tx, wanted, (), writes=True)
            repeated.append(_finish(tx, work, erasure.id, erasure.by, is_repeated=True))
    return repeated


def _withdraw(tx: Transaction, plans: Sequence[str], by: str) -> None:
    """Withdraw those of these plans that wait for approval; their findings are open again."""
    waiting = [name for name in plans if stored_plans.get(tx, name).state is PlanState.AWAITING]
    reason = "Records of it were erased."
    for plan in effects.withdraw(tx, waiting, reason, by):
        progress.move(tx, [Transition(plan.finding, Event.VOIDED, plan.id, reason)], by=by)


def _finish(
    tx: Transaction,
    work: _Erasure,
    name: str,
    actor: str,
    *,
    is_repeated: bool,
    beside: Mapping[str, int] | None = None,
) -> Erased:
    waiting = tuple(work.waiting())
    for rule in remembered.rules_of(tx, work.wanted.dataset):
        watermarks.forget(tx, rule)
    erased = Erased(name, {**work.reached(), **(beside or {})}, waiting)
    body: JsonObject = {
        "erasure": name,
        "dataset": work.wanted.dataset,
        "reached": dict(erased.reached),
        "entries": work.entries,
    }
    body |= {"again": is_repeated, "left": list(waiting)}
    audit.append(tx, actor, ERASED, f"erasure:{name}", body)
    recorded = erasing.RecordedErasure(name, tx.now, actor, work.wanted.to_json(), dict(erased.reached))
    tx.finisher(_Rows).rows.append(recorded)
    return erased


class _Rows:
    """The rows of `erasures`, written after their entries have numbers."""

    def __init__(self) -> None:
        self.rows: list[erasing.RecordedErasure] = []

    def finish(self, tx: Transaction) -> None:
        for row in self.rows:
            erasing.record(tx, row, audit.subject_of(tx.store, f"erasure:{row.id}"))


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


def _without(pairs: Sequence[Any], texts: Collection[str]) -> list[Any]:
    """Return the columns and values without those of these texts."""
    return [pair for pair in pairs if not any(text in texts for _, text in _texts([pair]))]


def holds_erased(tx: Transaction, plan: Plan) -> bool:
    """Return True if the plan has a record or a value that was erased: what people decided about it is not known."""
    wanted = [ErasureRequest.of(erasure.subjects) for erasure in erasing.recorded(tx)]
    wanted = [request for request in wanted if request.dataset == plan.dataset]
    return bool(wanted) and any(
        _is_wanted(tx.store, request, record, texts)
        for records, texts in _rows_of(plan, ())
        for record in records or ("",)
        for request in wanted
    )


def _is_wanted(store: Store, wanted: ErasureRequest, record: str, texts: Sequence[tuple[str, str]]) -> bool:
    if wanted.records and record and _of_record(store, wanted.dataset, without_dataset(record)) in wanted.records:
        return True
    return bool(wanted.values) and any(
        column in wanted.columns and _of_value(store, wanted.dataset, column, text) in wanted.values
        for column, text in texts
    )


def _rows_of(content: Plan, images: Iterable[JsonObject]) -> Iterator[tuple[Sequence[str], list[tuple[str, str]]]]:
    """Each row of the dataset in a plan, before and after: its record, and column and text of its cells.

    A row that is not a record of the plan has none; one that may be any of several has all of them.
    """
    outcomes = iter(images)
    for change in content.changes:
        outcome: JsonObject = {} if change.is_guard else next(outcomes, {})
        if change.row.table != content.table:
            continue
        records = _records_of(change, content)
        for cells in (change.before, change.after, outcome.get("before"), outcome.get("after")):
            yield records, [(name, cell[1]) for name, cell in (cells or {}).items() if cell is not None]
    for call in content.calls:
        if call.row.table == content.table:
            yield content.surplus, [*call.sends.items(), *(call.answer or {}).items()]


def _records_of(change: Change, plan: Plan) -> Sequence[str]:
    """Return the record that a row is: by its key, or else by its cells. Changes are in another order than records."""
    if change.role == "keeper":
        return [plan.keeper]
    if change.role != "surplus":
        return []
    ids = {record: sorted(str(public(part)) for part in id_of(record)) for record in plan.surplus}
    key = sorted(cell[1] for _, cell in change.row.key if cell is not None)
    texts = {cell[1] for cell in (change.before or {}).values() if cell is not None}
    by_key = [record for record, parts in ids.items() if parts == key]
    return by_key or [record for record, parts in ids.items() if texts.issuperset(parts)] or list(ids)


# The work

Values = TypeVarTuple("Values")


@dataclass
class _Erasure:
    """One erasure in one transaction; without `writes` it only counts. `entries` lost their bodies."""

    tx: Transaction
    wanted: ErasureRequest
    texts: Collection[str]
    writes: bool
    entries: list[JsonObject] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._needles = {text for text in self.texts if len(text) >= _SHORTEST}
        self._records: dict[str, set[str]] = defaultdict(set)
        self._findings: set[str] = set()
        self._near: set[str] = set()
        """Findings that only list such a record as near to their group."""
        self._beside: set[str] = set()
        """Findings whose key shows values of such a record under other names."""
        self._plans: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._counted = False
        self._find_records()
        self._escaped = [json.dumps(needle)[1:-1] for needle in sorted(self._needles)]
        self._find_plans()
        self._needles |= {written for n in self._needles for written in (n.casefold(), n.upper())}
        self._escaped = [json.dumps(needle)[1:-1] for needle in sorted(self._needles)]

    def _find_records(self) -> None:
        """Find the records and findings, and the texts of their personal data."""
        for name, record, values in erasing.members(self.tx, self.wanted.dataset):
            texts = list(_texts(values))
            if self._is_wanted(record, texts):
                self._records[name].add(record)
                self._add_needles(texts)
        for finding in erasing.findings_of(self.tx, self.wanted.dataset):
            if finding.id in self._records or self._is_wanted("", list(_texts(finding.key))):
                self._findings.add(finding.id)
            nearest = finding.payload.get("nearby", {}).get("nearest", ())
            if any(self._is_wanted(record, list(_texts(values))) for record, values, _ in nearest):
                self._near.add(finding.id)
            beside = finding.payload.get("beside", ())
            if any(self._is_wanted(record, list(_texts(values))) for record, values in beside):
                self._findings.add(finding.id)
                self._beside.add(finding.id)
        for pair in erasing.uncertain_pairs_of(self.tx, self.wanted.dataset):
            for record, texts in self._own_texts(pair):
                if self._is_wanted(record, texts):
                    self._add_needles(texts)

    def _own_texts(self, pair: erasing.PairData) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the records of the dataset in a pair, each with column and text of its values."""
        for record, values in ((pair.record_a, pair.values_a), (pair.record_b, pair.values_b)):
            if (dataset_of(record) or pair.dataset) == self.wanted.dataset:
                yield record, [(compared_name(column), text) for column, text in _texts(values)]

    def _add_needles(self, texts: Sequence[tuple[str, str]]) -> None:
        self._needles |= {text for name, text in texts if name in self.wanted.columns and len(text) >= _SHORTEST}

    def _find_plans(self) -> None:
        """Find the plans: findings hold only the columns of their rule, but plans hold all columns."""
        self._plans = {plan.id for plan in erasing.plans_with_rows(self.tx, self.wanted.dataset) if self._holds(plan)}

    def _holds(self, plan: StoredPlan) -> bool:
        """Return True if the plan has rows of the person; their personal data is then also searched for in texts."""
        try:
            rows = [
                texts
                for records, texts in _rows_of(plan.content, plan.outcome_json() or ())
                if any(self._is_wanted(record, texts) for record in records or ("",))
            ]
            for texts in rows:
                self._add_needles(texts)
            return bool(rows)
        except (PlanDamaged, PlanPurged, NotSealed, SealBroken):  # unreadable except as text
            return self._is_in(f"{plan.sealed_content} {plan.outcome}")

    def removed_rows(self) -> Iterator[tuple[str, Cells]]:
        """Yield the rows that cleanings of the person removed, by table."""
        ids = [plan for plan, *_ in erasing.plans_of(self.tx, self._findings, self._plans)]
        for plan in stored_plans.some(self.tx, ids):
            try:
                content, outcomes = plan.content, iter(plan.outcome_json() or ())
            except (PlanDamaged, PlanPurged, NotSealed, SealBroken):
                continue  # its rows are unknown, so nothing can be compared with them
            for change in content.changes:
                outcome: JsonObject = {} if change.is_guard else next(outcomes, {})
                if change.after is None:
                    yield from ((change.row.table, cells) for cells in (change.before, outcome.get("before")) if cells)

    def _is_wanted(self, record: str, texts: Sequence[tuple[str, str]]) -> bool:
        return _is_wanted(self.tx.store, self.wanted, record, texts)

    def waiting(self) -> list[str]:
        """Cleanings that hold the data, or belong to these findings, and are not over."""
        return sorted(erasing.live_plans_of(self.tx, self._findings, self._plans))

    def reached(self) -> Mapping[str, int]:
        """Erase at the first call; return the number of erased items by kind."""
        if not self._counted:
            self._counted = True
            self._erase_from_plans()
            self._pairs()
            self._in_findings()
            self._in_members()
            self._messages()
            self._bodies()
            self._other_texts()
        return {name: count for name, count in sorted(self._counts.items()) if count}

    # Findings

    def _in_findings(self) -> None:
        self._touch(facts.FINDING, self._findings | self._near)
        self._run(erasing.forget_digests, self._findings | self._near)
        for finding in erasing.some_findings(self.tx, self._findings | self._near):
            is_mine, payload = finding.id in self._findings, finding.payload
            values: dict[str, Any] = {"note": None} if is_mine and finding.note is not None else {}
            personal = stored_parts.PERSONAL if is_mine and "judged" in payload else ("nearby",)
            if any(name in payload for name in personal):
                values["payload"] = {name: value for name, value in payload.items() if name not in personal}
            is_beside = finding.id in self._beside
            if is_mine and (is_beside or self._is_personal(finding.key) or self._is_of_another_dataset(finding.id)):
                shortened = {name: payload[name] for name in _KEPT_OF_PAYLOAD if name in payload}
                values |= {"key": [], "payload": shortened | {"reason": None, "span": None}}
                values["fingerprint"] = self._tombstone(finding.fingerprint)
                for alias in erasing.aliases_of(self.tx, finding.id):
                    self._run(erasing.set_text, "finding_aliases", "fingerprint", [alias], self._tombstone(alias))
            if values:
                self._change("findings", erasing.set_finding, finding.id, values)

    def _is_of_another_dataset(self, finding: str) -> bool:
        """Return True if an erased record is not of its rule's first dataset, whose columns name those of the key."""
        return any(dataset_of(record) is not None for record in self._records.get(finding, ()))

    def _is_personal(self, key: Any) -> bool:
        return any(column in self.wanted.columns or text in self._needles for column, text in _texts(key))

    def _tombstone(self, text: str) -> str:
        return _hmac(self.tx.store, ["tombstone", text])

    def _in_members(self) -> None:
        for finding, records in sorted(self._records.items()):
            for record in sorted(records):
                self._change("records", erasing.set_member, finding, record, self._erased_name(record), [])
        for finding, record, pairs in erasing.members_of(self.tx, self._findings):
            values = [[column, None if self._is_personal([[column, value]]) else value] for column, value in pairs]
            if record not in self._records[finding] and values != pairs:
                self._change("values", erasing.set_member, finding, record, record, values)

    def _erased_name(self, record: str) -> str:
        """The tombstone of a record: an id with the same number of columns."""
        return erased_name(self._tombstone(record), record)

    def _pairs(self) -> None:
        """Delete judgements and uncertain pairs of these records, or about an erased value.

        Judgements of other records stay, without what only an erased record of their finding held.
        """
        about_value = self._judged_by_value()
        alone = self._held_alone()
        for pair in erasing.judgements_of(self.tx, self._findings):
            records = self._records.get(pair.finding, set())
            if pair.finding in about_value or pair.record_a in records or pair.record_b in records:
                self._touch(facts.FINDING, [pair.finding])
                self._change("judgements", erasing.delete_judgement, pair)
                continue
            values_a, values_b = (_without(values, alone[pair.finding]) for values in (pair.values_a, pair.values_b))
            if (values_a, values_b) != (pair.values_a, pair.values_b):
                self._touch(facts.FINDING, [pair.finding])
                self._run(erasing.set_judged_values, pair, values_a, values_b)
        for judged_pair in list(filter(self._is_personal_pair, erasing.judged_pairs_of(self.tx, self.wanted.dataset))):
            self._touch(facts.PAIR, [judged_pair.pair])
            self._change("judgements", erasing.delete_judgement, judged_pair)
        for uncertain in list(filter(self._is_personal_pair, erasing.uncertain_pairs_of(self.tx, self.wanted.dataset))):
            self._change("pairs", erasing.delete_uncertain, uncertain.pair)

    def _judged_by_value(self) -> set[str]:
        """Return the findings whose judgements are about an erased value, whatever the records."""
        if not self.wanted.values:
            return set()
        findings = erasing.some_findings(self.tx, self._findings)
        judged = ((finding.id, [*finding.key, *finding.payload.get("judged", ())]) for finding in findings)
        return {finding for finding, values in judged if self._is_personal(values)}

    def _held_alone(self) -> Mapping[str, set[str]]:
        """Return the texts that only erased records of a finding hold, by finding."""
        erased, others = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        for finding, record, values in erasing.members_of(self.tx, self._records.keys()):
            holders = erased if record in self._records[finding] else others
            holders[finding] |= {text for _, text in _texts(values)}
        return defaultdict(set, {finding: texts - others[finding] for finding, texts in erased.items()})

    def _is_personal_pair(self, pair: erasing.PairData) -> bool:
        """Return True if a pair has an erased record, or an erased value."""
        return any(
            self._is_wanted(record, texts) or (self.wanted.values and any(text in self._needles for _, text in texts))
            for record, texts in self._own_texts(pair)
        )

    def _erase_from_plans(self) -> None:
        """Delete before-images and after-images: these plans can no longer be undone."""
        waiting = set(self.waiting())
        for plan, content, outcome, summary in erasing.plans_of(self.tx, self._findings, self._plans):
            if plan in waiting:
                continue
            self._touch(facts.PLAN, [plan])
            masked = self._masked({name: value for name, value in summary.items() if name != stored_plans.RENAMED})
            if content is not None or outcome is not None or masked != summary:
                self._change("plans", erasing.empty_plan, plan, masked)
            self._run(erasing.delete_notes, plan)

    # Texts

    def _messages(self) -> None:
        """Shrink delivered messages to a proof of their content; mask the data in waiting ones."""
        for message, status, notice in erasing.messages(self.tx):
            text = json_text(notice)
            if not (self._is_in(text) or any(f'"{finding}"' in text for finding in self._findings | self._near)):
                continue
            over = status in ("sent", "failed")
            if over and set(notice) == {"blanked"}:
                continue
            erased = outbox.blanked(self.tx, notice) if status == "sent" else self._masked(notice)
            if erased != notice:
                self._change("messages", erasing.set_text, "outbox", "notice", [message], erased)

    def _other_texts(self) -> None:
        """Mask the data in all other texts: notes, reasons, reports, sentences."""
        for table, column in TEXTS:
            things = [(kind, part.of) for kind, parts in facts.KINDS.items() for part in parts if part.table == table]
            texts = erasing.texts(self.tx, table, column, [of for _, of in things])
            for key, names, content in [text for text in texts if self._is_in(json_text(text[-1]))]:
                if (table, column) in _OF_RECORDS and self._is_about_others(names):
                    continue
                if (masked := self._masked(content)) == content:
                    continue
                self._counts["reports"] += (table, column) in _REPORTS
                for (kind, _), name in zip(things, names, strict=True):
                    self._touch(kind, [name] if name else [])
                self._run(erasing.set_text, table, column, key, masked)

    def _is_about_others(self, findings: Collection[str | None]) -> bool:
        """Return True if only a record is erased, and these findings are not about it."""
        return not self.wanted.values and (self._findings | self._near).isdisjoint(findings)

    def _bodies(self) -> None:
        """Delete the bodies of entries that hold the data, or notes about these findings."""
        for seq, event, finding, text in audit_log.bodies(self.tx):
            # neither holds data, and the chain cannot be verified without them
            if event in (ERASED, RESTORED) or not (self._is_in(text) or finding in self._findings):
                continue
            body = json.loads(text)
            if self._is_in(text) or any(body.get(name) for name in _TEXTS):
                states = {name: body[name] for name in _KEPT if name in body}
                self.entries.append({"seq": seq, "event": event, **states})
        for entry in self.entries:
            self._change("entries", audit_log.delete_body, entry["seq"])

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
                    masked |= {name: [MASK for _ in data[name]] for name in ("left", "right") if name in data}
                    masked |= {"differences": []} if "differences" in data else {}
                if data.get("nearby") and data.get("finding") in self._findings | self._near:
                    masked["nearby"] = [MASK for _ in data["nearby"]]
                return masked
            case list():
                return [self._masked(item, own) for item in data]
            case str() if any(needle in data for needle in self._needles):
                return MASK
        return data

    # Changes

    def _touch(self, kind: str, names: Collection[str]) -> None:
        if self.writes:
            audit.touch(self.tx, kind, names)

    def _change(self, kind: str, change: Callable[[Transaction, *Values], None], *values: *Values) -> None:
        self._counts[kind] += 1
        self._run(change, *values)

    def _run(self, change: Callable[[Transaction, *Values], None], *values: *Values) -> None:
        if self.writes:
            change(self.tx, *values)
