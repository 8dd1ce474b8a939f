"""Queries on findings for people and channels, and the versions each channel was sent."""

from __future__ import annotations

import datetime as dt
import difflib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from reconcile.errors import Wrong
from reconcile.findings import chosen_values
from reconcile.findings import payload as stored_parts
from reconcile.findings.identity import dataset_of, id_of, read_id
from reconcile.findings.judgement import FindingChange
from reconcile.findings.keeper import as_chosen
from reconcile.findings.known import NotSame
from reconcile.findings.shown import Finding, FindingMember
from reconcile.findings.states import PlanState, State
from reconcile.store.bulk import insert_for, is_one_of
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import CHUNK, FORMER, chunks, decode_key
from reconcile.store.judgements import load_pairs
from reconcile.store.tables import (
    LEAST_PROBABLE_FIRST,
    WORST_FIRST,
    audit_bodies,
    finding_members,
    findings,
    notified,
    outbox,
    plans,
)
from rules import values as sums
from rules.document.mistakes import listed
from rules.models import Severity

_PREFIXES_SHOWN = 5


class FindingUnknown(Wrong):
    """No finding has that id, or that beginning of an id."""

    def __init__(self, name: str, similar: Sequence[str], *, is_any: bool = True) -> None:
        hint = f"did you mean {listed(similar)}? " if similar else ""
        see = "`reconcile findings` lists them" if is_any else "there are none yet: `reconcile run` looks for some"
        super().__init__(f"There is no finding `{name}`; {hint}{see}.")


class FindingAmbiguous(Wrong):
    """The beginning of an id fits several findings."""

    def __init__(self, name: str, fitting: Sequence[str]) -> None:
        shown = listed(fitting[:_PREFIXES_SHOWN])
        more = " and more" if len(fitting) > _PREFIXES_SHOWN else ""
        super().__init__(f"`{name}` is the beginning of {shown}{more}; write one more character.")


@dataclass(frozen=True)
class AmountRange:
    """A range of amounts at risk, without signs; of several currencies the largest number counts, as in the order.

    `hidden` are the rules and datasets whose amounts the person may not see: these findings are in no range, because
    answers about ranges would tell the amounts.
    """

    at_least: Decimal | None = None
    at_most: Decimal | None = None
    hidden: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class FindingFilter:
    """A filter for findings; fields that are None or empty do not filter. `severity` means that or worse.

    `assigned_to` is a person; empty: nobody. `ids` are the only findings that fit.
    """

    rules: tuple[str, ...] = ()
    states: tuple[State, ...] = ()
    severity: Severity | None = None
    dataset: str | None = None
    assigned_to: str | None = None
    forms: tuple[str, ...] = ()
    amount: AmountRange | None = None
    ids: tuple[str, ...] | None = None
    probability: tuple[Decimal | None, Decimal | None] = (None, None)  # at least, at most; with one, only those with it
    by_probability: bool = False  # only findings with a probability, the least probable first
    run: str | None = None  # last seen by this run
    changed_in: str | None = None  # new in this run, or changed by it
    since: dt.datetime | None = None  # in its state since then, or later
    known_by: dt.datetime | None = None  # first seen then, or earlier
    known_since: dt.datetime | None = None  # first seen then, or later
    seen_since: dt.datetime | None = None  # last seen then, or later
    limit: int | None = None


def find(tx: Transaction, criteria: FindingFilter | None = None, *, members: bool = True) -> list[Finding]:
    """Return findings in the order of the filter. Without `members` their records are left out."""
    return list(each(tx, criteria, members=members))


def each(tx: Transaction, criteria: FindingFilter | None = None, *, members: bool = True) -> Iterator[Finding]:
    """Yield the same in bounded memory. Nothing may be written before the last one was read."""
    return _shown(tx, _streamed(filtered(sa.select(findings), criteria or FindingFilter())), members=members)


def in_states(tx: Transaction, rules: Sequence[str], states: Sequence[State]) -> Iterator[Finding]:
    """Yield the findings of these rules in these states; none without rules. As `each`."""
    return each(tx, FindingFilter(rules=tuple(rules), states=tuple(states))) if rules else iter(())


_ONE_SLIP = 0.75
"""Similarity of an id and a mistyped one: of six characters one is wrong or missing, or two are swapped."""


def count(tx: Transaction, criteria: FindingFilter) -> int:
    """Count the findings, ignoring the limit."""
    matching = filtered(sa.select(findings.c.id), replace(criteria, limit=None)).order_by(None).subquery()
    return int(tx.connection.execute(sa.select(sa.func.count()).select_from(matching)).scalar_one())


def worst(tx: Transaction, criteria: FindingFilter) -> Severity | None:
    """Return the gravest severity of the findings; None if there are none."""
    matching = filtered(sa.select(findings.c.severity), criteria).order_by(None).subquery()
    gravest = tx.connection.execute(sa.select(sa.func.max(matching.c.severity))).scalar()
    return None if gravest is None else Severity(gravest)


@dataclass(frozen=True)
class Count:
    """The number of findings of a rule with a state and a severity."""

    rule: str
    state: State
    severity: Severity
    findings: int


def counts(tx: Transaction) -> list[Count]:
    """Count all findings; combinations without any are missing."""
    columns = (findings.c.rule, findings.c.state, findings.c.severity)
    rows = tx.connection.execute(sa.select(*columns, sa.func.count()).group_by(*columns))
    return [Count(rule, State(state), Severity(severity), number) for rule, state, severity, number in rows]


def names(tx: Transaction, criteria: FindingFilter | None = None) -> list[str]:
    """Return the ids of findings, in the order of `find`."""
    return list(tx.connection.execute(filtered(sa.select(findings.c.id), criteria or FindingFilter())).scalars())


def currencies(tx: Transaction, criteria: FindingFilter) -> list[tuple[str, tuple[str, ...]]]:
    """Return the ids of findings with the currencies of their money, in the order of `find`."""
    rows = tx.connection.execute(filtered(sa.select(findings.c.id, findings.c.money), criteria))
    return [(name, tuple(money)) for name, money in rows]


def some(tx: Transaction, ids: Sequence[str], *, members: bool = True) -> list[Finding]:
    """Return these findings, in this order, without missing ones."""
    shown = _shown(tx, sa.select(findings).where(findings.c.id.in_(list(ids))), members=members)
    by_id = {finding.id: finding for finding in shown}
    return [by_id[name] for name in ids if name in by_id]


def filtered(query: sa.Select[Any], criteria: FindingFilter) -> sa.Select[Any]:
    """Return a query on findings with the filter, the order and the limit."""
    order = LEAST_PROBABLE_FIRST if criteria.by_probability else WORST_FIRST
    return query.order_by(*order).limit(criteria.limit).where(*conditions(criteria))


def conditions(criteria: FindingFilter) -> Iterator[sa.ColumnElement[bool]]:
    """Yield the conditions of a filter on findings."""
    equal = {findings.c.dataset: criteria.dataset, findings.c.last_run: criteria.run}
    equal[findings.c.assigned_to] = criteria.assigned_to or None
    yield from (column == value for column, value in equal.items() if value is not None)
    if criteria.assigned_to == "":
        yield findings.c.assigned_to.is_(None)
    if criteria.rules:
        yield findings.c.rule.in_(criteria.rules)
    if criteria.states:
        yield findings.c.state.in_([state.value for state in criteria.states])
    if criteria.severity is not None:
        yield findings.c.severity >= int(criteria.severity)
    if criteria.ids is not None:
        yield is_one_of(findings.c.id, criteria.ids)
    if criteria.forms:
        yield _form().in_([f'"{form}"' for form in criteria.forms])
    if criteria.amount is not None:
        yield from _in_range(criteria.amount)
    yield from _probable(criteria)
    yield from _in_time(criteria)
    if criteria.changed_in is not None:
        recorded = sa.select(audit_bodies.c.finding).where(
            audit_bodies.c.run == criteria.changed_in, audit_bodies.c.finding.is_not(None)
        )
        yield sa.or_(findings.c.first_run == criteria.changed_in, findings.c.id.in_(recorded))


def _probable(criteria: FindingFilter) -> Iterator[sa.ColumnElement[bool]]:
    least, most = criteria.probability
    if criteria.by_probability:
        yield findings.c.probability.is_not(None)
    if least is not None:
        yield findings.c.probability >= float(least)
    if most is not None:
        yield findings.c.probability <= float(most)


def _in_time(criteria: FindingFilter) -> Iterator[sa.ColumnElement[bool]]:
    if criteria.since is not None:
        yield findings.c.state_since >= criteria.since
    if criteria.known_by is not None:
        yield findings.c.first_seen <= criteria.known_by
    if criteria.known_since is not None:
        yield findings.c.first_seen >= criteria.known_since
    if criteria.seen_since is not None:
        yield findings.c.last_seen >= criteria.seen_since


def _form() -> sa.ColumnElement[str]:
    """Return the form, which a duplicate lacks, as JSON text."""
    from reconcile.store.json_parts import json_part  # noqa: PLC0415 - most lists need no part

    return sa.func.coalesce(json_part(findings.c.payload, "form"), f'"{stored_parts.DUPLICATE}"')


def _in_range(amount: AmountRange) -> Iterator[sa.ColumnElement[bool]]:
    from reconcile.store.json_parts import largest_of, number_of  # noqa: PLC0415 - see above

    largest = largest_of(findings.c.money)
    if amount.at_least is not None:
        yield largest >= number_of(amount.at_least)
    if amount.at_most is not None:
        yield largest <= number_of(amount.at_most)
    if amount.hidden:
        yield sa.not_(_of_hidden(amount))


def _of_hidden(amount: AmountRange) -> sa.ColumnElement[bool]:
    of_rules = defaultdict[str, list[str]](list)
    for rule, dataset in sorted(amount.hidden):
        of_rules[dataset].append(rule)
    return sa.or_(
        sa.false(),
        *(sa.and_(findings.c.dataset == name, findings.c.rule.in_(rules)) for name, rules in of_rules.items()),
    )


def with_hidden_amount(tx: Transaction, criteria: FindingFilter) -> int:
    """Count the findings with an amount that the range of the filter left out because the person does not see it."""
    if criteria.amount is None or not criteria.amount.hidden:
        return 0
    others = replace(criteria, amount=None, limit=None)
    query = sa.select(sa.func.count()).select_from(findings)
    query = query.where(*conditions(others), _of_hidden(criteria.amount), findings.c.money != {})
    return int(tx.connection.execute(query).scalar_one())


def kinds_of(tx: Transaction) -> list[tuple[str, str]]:
    """Return each pair of a rule and a dataset that findings have."""
    rows = tx.connection.execute(sa.select(findings.c.rule, findings.c.dataset).distinct())
    return [(rule, dataset) for rule, dataset in rows]


def assignees(tx: Transaction) -> list[str]:
    """Return the people whom findings are assigned to."""
    query = sa.select(findings.c.assigned_to).where(findings.c.assigned_to.is_not(None)).distinct()
    return sorted(tx.connection.execute(query).scalars())


def get(tx: Transaction, text: str) -> Finding:
    """Return a finding by its id or a unique beginning of it.

    Raises FindingUnknown with the nearest ids, FindingAmbiguous.
    """
    return _by_id(tx, name_of(tx, text))


def name_of(tx: Transaction, text: str) -> str:
    """Return the id of the finding for a text; raises like `get`."""
    name = read_id(text)
    fitting = list(tx.connection.execute(_BEGINS, {"name": name, "end": f"{name}~"}).scalars()) if name != "F-" else []
    if name in fitting or len(fitting) == 1:
        return name if name in fitting else str(fitting[0])
    if fitting:
        raise FindingAmbiguous(text, fitting)
    ids = tx.connection.execute(_RECENT_IDS).scalars().all()
    raise FindingUnknown(text, _similar_ids(name, ids), is_any=bool(ids))


def _similar_ids(name: str, ids: Iterable[str]) -> list[str]:
    """Return up to three ids that differ from this one by a typing error."""
    ends = (finding_id.removeprefix("F-") for finding_id in ids)
    matches = difflib.get_close_matches(name.removeprefix("F-"), ends, n=3, cutoff=_ONE_SLIP)
    return [f"F-{end}" for end in matches]


def lock(tx: Transaction, name: str) -> Finding:
    """Lock a finding for a decision until the transaction ends, and return it."""
    tx.connection.execute(sa.select(findings.c.id).where(findings.c.id == name).with_for_update())
    return _by_id(tx, name)


def _by_id(tx: Transaction, name: str) -> Finding:
    [finding] = _shown(tx, sa.select(findings).where(findings.c.id == name), members=True)
    return finding


# What channels were sent


ASKING = (State.AWAITING, State.QUARANTINED, State.FAILED)
"""States in which a cleaning waits for a person."""


def unnotified(
    tx: Transaction,
    channel: str,
    rules: Sequence[str],
    *,
    states: Sequence[State] = (State.OPEN, State.STALE),
    fits: Callable[[Mapping[str, Decimal]], bool] = lambda _money: True,
) -> Iterator[Finding]:
    """Yield findings of these rules with news for the channel; as `each`.

    `fits` gets the money at risk of a finding, and leaves out those for which it is False.

    It reads the store, not one run: findings of a killed run that were never sent are included. News about undos is
    sent separately: see `not_undone`.
    """
    query = _since(_last_notified(channel), findings.c.state.in_([state.value for state in states]), rules)
    query = query.add_columns(_last_at(channel))

    def is_news(row: sa.RowMapping) -> bool:
        return row["version"] - row["last"] > _of_undo(row) and fits(_money(row))

    return _shown(tx, _streamed(query), members=True, keep=is_news)


def not_undone(tx: Transaction, rules: Sequence[str], channel: str | None = None) -> Iterator[Finding]:
    """Yield findings of these rules, in any state, with a requested undo that was not done; with `channel` only those
    whose channel has not been sent that. As `each`."""
    ended = sa.select(plans.c.finding).where(
        plans.c.undoes > "", plans.c.state.in_([state.value for state in _UNDO_NOT_DONE])
    )
    last = sa.literal(0).label("last") if channel is None else _last_notified(channel)
    query = _since(last, findings.c.id.in_(ended), rules)
    return _shown(tx, _streamed(query), members=True, keep=lambda row: _undo_news(row) > row["last"])


_UNDO_NOT_DONE = (PlanState.SKIPPED, PlanState.FAILED, PlanState.QUARANTINED)


def _last_notified(channel: str) -> sa.Label[int]:
    of_channel = (notified.c.finding == findings.c.id, notified.c.channel == channel)
    last = sa.select(notified.c.version).where(*of_channel).scalar_subquery()
    return sa.func.coalesce(last, 0).label("last")


def _last_at(channel: str) -> sa.Label[dt.datetime]:
    """Return when the channel was last sent the finding, as a column."""
    of_channel = (notified.c.finding == findings.c.id, notified.c.channel == channel)
    return sa.select(notified.c.at).where(*of_channel).scalar_subquery().label("notified_at")


def _since(last: sa.Label[int], which: sa.ColumnElement[bool], rules: Sequence[str]) -> sa.Select[Any]:
    query = sa.select(findings, last).where(which, findings.c.rule.in_(rules), findings.c.version > last)
    return query.order_by(*WORST_FIRST)


def _of_undo(row: sa.RowMapping) -> int:
    """Return how many of the unsent versions are about an undo."""
    return int(_undo_news(row) > row["last"])


def _undo_news(row: sa.RowMapping) -> int:
    """Return the version that reported an undo as not done; 0 without one."""
    version, _ = row["payload"].get("not_undone") or (0, None)
    return int(version)


UNDECIDED = (State.OPEN, State.STALE, *ASKING)
"""States in which a finding waits for a person's decision."""


@dataclass(frozen=True)
class Unanswered:
    """Undecided findings of some rules: reported to `channel` until `before`, and not reported to `to`."""

    channel: str
    to: str
    before: dt.datetime
    rules: tuple[str, ...]
    severity: Severity | None = None


def unanswered(tx: Transaction, criteria: Unanswered) -> Iterator[Finding]:
    """Yield these findings; as `each`."""
    return _shown(tx, _streamed(_unanswered(criteria)), members=True)


def any_unanswered(tx: Transaction, criteria: Unanswered) -> bool:
    return tx.connection.execute(_unanswered(criteria).limit(1)).first() is not None


def _unanswered(criteria: Unanswered) -> sa.Select[Any]:
    told = notified.alias("told")
    query = _since(
        _last_notified(criteria.to), findings.c.state.in_([state.value for state in UNDECIDED]), criteria.rules
    )
    query = query.join(told, sa.and_(told.c.finding == findings.c.id, told.c.channel == criteria.channel))
    query = query.join(outbox, outbox.c.message == told.c.message)
    query = query.where(
        outbox.c.status == "sent", outbox.c.sent_at <= criteria.before, findings.c.assigned_to.is_(None)
    )
    return query if criteria.severity is None else query.where(findings.c.severity >= int(criteria.severity))


@dataclass(frozen=True)
class FindingState:
    """The state of a finding, and who put it there."""

    id: str
    state: State
    version: int
    state_since: dt.datetime
    snoozed_until: dt.datetime | None
    decided_by: str | None
    assigned_to: str | None
    note: str | None


def standing(tx: Transaction, ids: Sequence[str]) -> Iterator[FindingState]:
    """Yield the states of these findings, without missing ones."""
    columns = [findings.c[name] for name in FindingState.__dataclass_fields__]
    for chunk in chunks(ids):
        for row in tx.connection.execute(sa.select(*columns).where(findings.c.id.in_(chunk))):
            yield FindingState(**row._asdict() | {"state": State(row.state)})


def with_choice(tx: Transaction, ids: Sequence[str]) -> set[str]:
    """Return those of these findings whose keeper a person chose."""
    is_chosen = finding_members.c.chosen_by.is_not(None)
    query = sa.select(finding_members.c.finding).where(is_chosen)
    return {
        name
        for chunk in chunks(ids)
        for name in tx.connection.execute(query.where(finding_members.c.finding.in_(chunk))).scalars()
    }


def mark_notified(tx: Transaction, channel: str, message: str, shown: Mapping[str, int]) -> None:
    """Record that the message contains these findings (id: version), in the transaction that writes the message."""
    insert = insert_for(tx, notified)
    newer = {name: insert.excluded[name] for name in ("version", "message", "at")}
    newer |= {f"before_{name}": notified.c[name] for name in ("version", "message", "at")}
    keep_newest = notified.c.version < insert.excluded.version
    statement = insert.on_conflict_do_update(index_elements=["finding", "channel"], set_=newer, where=keep_newest)
    common = {"channel": channel, "message": message, "at": tx.now}
    for chunk in chunks(shown):
        tx.connection.execute(statement, [{"finding": name, "version": shown[name]} | common for name in chunk])


def forget_notified(tx: Transaction, message: str, rules: Sequence[str] | None = None) -> None:
    """Make the findings of an undelivered message news again, for the next run's message; all, or of some rules."""
    lost = [notified.c.message == message]
    if rules is not None:
        lost.append(notified.c.finding.in_(sa.select(findings.c.id).where(findings.c.rule.in_(list(rules)))))
    before = {name: notified.c[f"before_{name}"] for name in ("version", "message", "at")}
    kept = sa.select(outbox.c.message).where(outbox.c.message == notified.c.before_message).exists()
    restore = sa.update(notified).where(*lost, notified.c.before_version.is_not(None), kept)
    tx.connection.execute(restore.values({**before, **_NOTHING_BEFORE}))
    tx.connection.execute(sa.delete(notified).where(*lost))
    tx.connection.execute(sa.update(notified).where(notified.c.before_message == message).values(_NOTHING_BEFORE))


_NOTHING_BEFORE: Mapping[str, None] = dict.fromkeys(("before_version", "before_message", "before_at"))


def keep_notified(tx: Transaction, finding: str, *, version: int) -> None:
    """Let channels that were sent the previous version count as sent this one: it is nothing to tell them."""
    same = (notified.c.finding == finding, notified.c.version == version - 1)
    tx.connection.execute(sa.update(notified).where(*same).values(version=version))


def move_notified(tx: Transaction, message: str, to: str) -> None:
    """Let a later message stand for an undelivered one that it contains."""
    tx.connection.execute(sa.update(notified).where(notified.c.message == message).values(message=to))


# From rows to findings


def _streamed(query: sa.Select[Any]) -> sa.Select[Any]:
    return query.execution_options(yield_per=CHUNK)


def _shown(
    tx: Transaction, query: sa.Select[Any], *, members: bool, keep: Callable[[sa.RowMapping], bool] | None = None
) -> Iterator[Finding]:
    for partition in tx.connection.execute(query).mappings().partitions(CHUNK):
        rows = [row for row in partition if keep is None or keep(row)]
        held = _members(tx, [row["id"] for row in rows]) if members else {}
        not_same = _not_same(tx, rows, held)
        for row in rows:
            yield _finding(row, held.get(row["id"], ()), not_same.get((row["rule"], row["kind"]), NotSame()))


def _not_same(
    tx: Transaction, rows: Sequence[sa.RowMapping], held: Mapping[str, Sequence[sa.RowMapping]]
) -> Mapping[tuple[str, str], NotSame]:
    """Return the judged pairs of these records by rule and kind: they are few of the rule."""
    records = defaultdict[tuple[str, str], list[str]](list)
    for row in rows:
        records[row["rule"], row["kind"]] += [member["record"] for member in held.get(row["id"], ())]
    return {(rule, kind): load_pairs(tx, rule, kind, names) for (rule, kind), names in records.items() if names}


def _members(tx: Transaction, names: list[str]) -> Mapping[str, Sequence[sa.RowMapping]]:
    held: dict[str, list[sa.RowMapping]] = defaultdict(list)
    for row in tx.connection.execute(_PRESENT, {"names": names}).mappings().all():
        held[row["finding"]].append(row)
    return held


def _finding(row: sa.RowMapping, members: Sequence[sa.RowMapping], not_same: NotSame) -> Finding:
    payload, key = row["payload"], decode_key(row["key"])
    _, not_undone = payload.get("not_undone") or (0, None)
    plain = {name: row[name] for name in _PLAIN}
    judged = decode_key(payload.get("judged", row["key"]))
    records = {member["record"]: _member(member) for member in members}
    pairs = [(pair, (records[pair[0]], records[pair[1]])) for pair in not_same.within(records, judged)]
    detected = Finding(
        **plain,
        state=State(row["state"]),
        severity=Severity(row["severity"]),
        change=_change(row),
        key=key,
        members=tuple(records.values()),
        money=_money(row),
        settled_pairs=tuple(members for pair, members in pairs if pair not in not_same.handled),
        handled_pairs=tuple(members for pair, members in pairs if pair in not_same.handled),
        summary=payload["summary"],
        reason=payload.get("reason"),
        not_undone=not_undone,
        notified_at=row.get("notified_at"),
        **vars(stored_parts.read(payload)),
    )
    return as_chosen(detected)


def _money(row: sa.RowMapping) -> dict[str, Decimal]:
    return sums.sizes({currency: Decimal(amount) for currency, amount in row["money"].items()})


def _change(row: sa.RowMapping) -> FindingChange:
    """Return its change; for a channel that was never sent it, a grown finding is new.

    An ignored finding that existed before its rule is no news until it grows: that is its first version.
    """
    change = FindingChange(row["payload"]["change"])
    missed = row.get("last") == 0 and row["version"] > 1
    return FindingChange.NEW if change is FindingChange.GROWN and missed else change


def _member(row: sa.RowMapping) -> FindingMember:
    record = row["record"]
    values = decode_key(row["values"])
    dataset = dataset_of(record)
    stored = row["role"], id_of(record), values, row["first_seen"], row["settled_at"]
    return FindingMember(*stored, dataset, row["chosen_by"], row["chosen_at"], chosen_values.read(row["gives"]))


_PLAIN = (
    *("id", "fingerprint", "rule", "kind", "dataset", "version", "records", "first_run", "first_seen", "last_run"),
    *("last_seen", "state_since", "snoozed_until", "assigned_to", "decided_by", "note", "merged_into"),
)
_BEGINS = (
    sa.select(findings.c.id)
    .where(findings.c.id >= sa.bindparam("name"), findings.c.id < sa.bindparam("end"))
    .order_by(findings.c.id)
    .limit(_PREFIXES_SHOWN + 1)
)
_RECENT_IDS = sa.select(findings.c.id).order_by(findings.c.last_seen.desc(), findings.c.id).limit(1_000)
_PRESENT = (
    sa.select(finding_members)
    .where(
        finding_members.c.finding.in_(sa.bindparam("names", expanding=True)),
        finding_members.c.role != FORMER,
    )
    .order_by(finding_members.c.finding, finding_members.c.position)
)
