"""The audit log: append-only, gapless, every entry bound to all earlier ones by a hash.

An entry is {seq, at, actor, event, subject, body commitment}. Its hash is the leaf, and head n = SHA-256(head n-1 |
leaf n); head 0 is derived from the store's id, so that a chain cannot be moved to another store. The subject is an
HMAC under the store's key. Bodies are kept apart under salted commitments, so personal data can be erased while the
chain stays whole; they hold ids, counts and hashes, never cell values.

Entries are written at the very end of the transaction of the change they record, the head's row last: that row puts
writers in order and is locked as briefly as possible.

Every hundredth head is signed in the same transaction (reconcile.audit.checkpoints), and reconcile.audit.anchoring
writes signed heads to places outside. docs/audit.md says what that can prove and what it cannot.
"""

from __future__ import annotations

import datetime as dt
import hmac
import json
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reconcile.audit import checkpoints, facts
from reconcile.audit.verifier import Broken, Chain, Row, WrongEntry, commitment, first, genesis, next_head
from reconcile.documents import JsonObject
from reconcile.store import Store, Transaction, audit_log, evidence, heads
from reconcile.store.audit_log import EntryFilter, LogEntry
from reconcile.store.columns import json_text
from rules.values import canonical_instant
from rules.values.packed import Packed

CHANGED = "state.changed"
"""The event of an entry that records only changed digests."""
FACTS = "facts"
"""The key of the changed digests in a body."""
ALSO = "also"
"""The key of what moved with a plan, in the body of the plan's entry: [kind, name, from, to] of each."""
STORY = "story"
"""The key of the event of the finding that moved with a plan."""
_UNSHOWN = frozenset({FACTS, "money"})
"""Fields of a body that no door shows: entries of earlier versions hold the money of a plan, which may be personal."""
_BATCH = 1_000
_AT_ONCE = 100

Named = tuple[str, str]
"""A kind of `facts.KINDS` and a name."""
Moved = tuple[str, str, str, str]
"""A kind (`facts.FINDING` or `facts.PLAN`), a name, and the state before and after."""


@dataclass(frozen=True)
class VerifyResult:
    """The first `entries` entries are right; if `problem` is set, the entry `seq` is the first wrong one."""

    entries: int
    head: str
    seq: int | None = None
    problem: str | None = None

    @property
    def intact(self) -> bool:
        return self.problem is None


class _Pending:
    """The entries of one transaction until its end. `seals`: the last one is signed, whatever its number."""

    def __init__(self) -> None:
        self.entries: Packed[tuple[str, str, str, str, dict[str, str | None]]] = Packed()
        """Actor, event, subject, body as canonical JSON, and the finding and run to search it by."""
        self.seals = False
        self.touched: dict[str, set[str]] = defaultdict(set)
        """Kind and names of the things the transaction changed, as `facts` has them."""
        self.about: set[Named] = set()
        """The things the entries are about."""
        self.moves: dict[str, tuple[int, str, str]] = {}
        """The position of the newest entry that moves a plan, with its actor and event, by the plan."""
        self.added: dict[int, JsonObject] = {}
        """Fields that were added to an entry later, by its position."""

    def _changes(self, tx: Transaction) -> dict[Named | None, list[facts.Changed]]:
        """The changed digests, by the thing whose first entry will record them; None: any entry will."""
        by_thing: dict[Named | None, list[facts.Changed]] = defaultdict(list)
        for change in facts.changes(tx, self.touched):
            by_thing[change[:2] if change[:2] in self.about else None].append(change)
        rest = by_thing.get(None, [])
        if rest and (not self.entries or len(rest) > _AT_ONCE):
            for at in range(0, len(rest), _AT_ONCE):
                text = json_text({"facts": rest[at : at + _AT_ONCE]})
                subject = subject_of(tx.store, f"store:{tx.store.id}")
                self.entries.append(("reconcile", CHANGED, subject, text, _search_keys({})))
            del by_thing[None]
        return by_thing

    def finish(self, tx: Transaction) -> None:
        last, head = audit_log.end(tx, lock=True)
        head = head or genesis(tx.store.id)
        changes = self._changes(tx) if self.touched else {}
        rows: list[Mapping[str, Any]] = []
        bodies: list[Mapping[str, Any]] = []
        signed = []
        at = canonical_instant(tx.now)
        end = last + len(self.entries)
        due = checkpoints.due_within(last + 1, end)
        for seq, (actor, event, subject, body, filed) in enumerate(self.entries, last + 1):
            added = self.added.get(seq - last - 1)
            text = _completed(body, added or {}, changes) if changes or added else body
            if added and "run" in added:
                filed = {**filed, "run": added["run"]}  # noqa: PLW2901 - the entry is found by the run it names
            salt = secrets.token_hex(32)
            row = {"seq": seq, "at": at, "actor": actor, "event": event, "subject": subject, "prev": head}
            proof = row["body_commitment"] = commitment(salt, text)
            head = row["head"] = next_head(head, seq, at, actor, event, subject, proof)
            rows.append(row)
            bodies.append({"seq": seq, "salt": salt, "body": text, **filed})
            if seq in due:
                signed.append((seq, head, at))
            if len(rows) == _BATCH or seq == end:
                audit_log.insert(tx, rows, bodies)
                rows, bodies = [], []
        if self.seals and end and end not in due and _signed_until(tx) < end:
            signed.append((end, head, at))
        if signed:
            checkpoints.write(tx, signed)
        if self.entries:
            audit_log.move_end(tx, end, head)


def _signed_until(tx: Transaction) -> int:
    newest = heads.newest(tx)
    return 0 if newest is None else newest.seq


def append(
    tx: Transaction,
    actor: str,
    event: str,
    subject: str,
    body: Mapping[str, Any],
    *,
    created: facts.Changed | None = None,
) -> None:
    """Write one entry, kept exactly when the transaction is.

    `actor` did it (a person or `reconcile`), `event` is a dotted name (`finding.opened`), `subject` the
    thing it is about, in clear (stored as an HMAC), `body` plain JSON; you can search for its `finding` and `run`.
    `created` is what `facts.record_new` returned for the thing, if the entry is about its creation.
    """
    fields = dict(body) if created is None else {**body, FACTS: [created]}
    entry = (actor, event, subject_of(tx.store, subject), json_text(fields), _search_keys(fields))
    pending = tx.finisher(_Pending)
    pending.moves |= dict.fromkeys(_moved_plans(fields), (len(pending.entries), actor, event))
    pending.entries.append(entry)
    if created is None:
        pending.about.update(_about(fields))


def add_to_move(tx: Transaction, plan: str, moved: Moved, **fields: str) -> bool:
    """Tell in the newest entry of this transaction that moves the plan what moved with it; `fields` are added, too.

    Return False if there is no such entry. So one transition is one entry.
    """
    pending = tx.finisher(_Pending)
    if plan not in pending.moves:
        return False
    position, _, _ = pending.moves[plan]
    added = pending.added.setdefault(position, {})
    added.setdefault(ALSO, []).append(moved)
    added.update(fields)
    return True


def end_move(tx: Transaction, plan: str, to: str, *, of: str, by: str) -> bool:
    """Let the event `of` by this actor, with which this transaction moves the plan, end in the state `to`.

    Return False if there is no such entry.
    """
    pending = tx.finisher(_Pending)
    position, actor, event = pending.moves.get(plan, (0, "", ""))
    if (actor, event) != (by, of):
        return False
    pending.added.setdefault(position, {})["to"] = to
    return True


def touch(tx: Transaction, kind: str, names: Iterable[str]) -> None:
    """Note that this transaction changes these things (see reconcile.audit.facts).

    Their digests at its end are recorded in one of its entries, or in an entry of their own.
    """
    if changed := set(names):
        tx.finisher(_Pending).touched[kind] |= changed


def checkpoint(store: Store) -> bool:
    """Sign the end of the log, unless it is signed; return False if nothing was new."""
    with store.read() as tx:
        if _signed_until(tx) >= audit_log.end(tx).seq:
            return False
    with store.begin() as tx:
        tx.finisher(_Pending).seals = True
    return True


def entries(
    tx: Transaction,
    *,
    finding: str | None = None,
    run: str | None = None,
    event: str | None = None,
    subject: str | None = None,
) -> Iterator[LogEntry]:
    """The entries that pass every filter, without their digests of the state and money, oldest first, streamed.

    `event` also takes a prefix: `finding`; `subject` is in clear.
    """
    stored_subject = None if subject is None else subject_of(tx.store, subject)
    yield from map(_as_shown, audit_log.find(tx, finding=finding, run=run, event=event, subject=stored_subject))


def newest(tx: Transaction, criteria: EntryFilter, limit: int) -> list[LogEntry]:
    """The newest entries that pass the filter, newest first, without their digests of the state and money."""
    return list(map(_as_shown, audit_log.newest(tx, criteria, limit)))


def _as_shown(entry: LogEntry) -> LogEntry:
    if isinstance(entry.body, dict) and not _UNSHOWN.isdisjoint(entry.body):
        return replace(entry, body={name: value for name, value in entry.body.items() if name not in _UNSHOWN})
    return entry


def first_of(tx: Transaction, subjects: Collection[str], events: Collection[str]) -> dict[str, int]:
    """The seq at which each of these subjects first had one of these events; subjects without one are left out. Unlike
    times, these numbers only rise."""
    clear = {subject_of(tx.store, subject_text): subject_text for subject_text in subjects}
    return {clear[subject]: seq for subject, seq in audit_log.first_of(tx, clear, events).items()}


def last_of(tx: Transaction, subject: str, events: Collection[str]) -> LogEntry | None:
    """Return the newest entry about this subject, in clear, with one of these events; None if there is none."""
    return audit_log.last_of(tx, subject_of(tx.store, subject), events)


def last_at(tx: Transaction, subject: str, event: str) -> dt.datetime | None:
    """Return when this subject last had the event; None if never."""
    return audit_log.last_at(tx, subject_of(tx.store, subject), event)


def is_as_last_told(tx: Transaction, kind: str, name: str, subject: str, events: Collection[str]) -> bool:
    """Return True if the thing is as its recorded digest says, and that digest is the newest that the log tells.

    The second condition refuses an earlier state that was put back together with its digest. `events` are those that
    change the thing; their entries are about `subject`, in clear.
    """
    if not facts.as_recorded(tx, kind, [name]).get(name, False):
        return False
    entry = last_of(tx, subject, events)
    told = (entry.body or {}).get(FACTS, ()) if entry is not None else ()
    digests = [after for changed_kind, changed, _, after in told if (changed_kind, changed) == (kind, name)]
    return not digests or digests[-1] == evidence.digests(tx, kind, [name])[name]


def verify(store: Store) -> VerifyResult:
    """Recompute the whole chain in bounded memory; name the first wrong entry and its problem.

    It reads only the log; reconcile.audit.proof also compares it with its signatures, its anchors and the state.
    """
    with store.read() as tx:
        return verify_in(tx)


def verify_in(tx: Transaction) -> VerifyResult:
    """Verify the log as the transaction sees it."""
    chain = Chain(tx.store.id)
    problem = None
    try:
        for _ in follow(tx, chain):
            pass
    except Broken as broken:
        problem = broken.problem
    if problem is None:
        problem = first((*ends(tx, chain), *chain.bodies()))
    if problem is None:
        return VerifyResult(chain.seq, chain.head)
    return VerifyResult(min(chain.seq, problem.seq - 1), chain.head, problem.seq, problem.sentence)


def follow(tx: Transaction, chain: Chain) -> Iterator[tuple[Row, JsonObject | None]]:
    """Every entry with its body parsed, each once it is verified; raises Broken at the first wrong one."""
    searchable: list[tuple[Any, Any]] = []

    def unfiled() -> Iterator[Row]:
        for *row, finding, run in audit_log.chain(tx):
            searchable.append((finding, run))
            yield tuple(row)

    for row in chain.follow(unfiled()):
        [(finding, run)] = searchable
        searchable.clear()
        body = None if row[9] is None else _parsed(row[9])
        if body is not None and (_name(body, "finding") != finding or _name(body, "run") != run):
            raise Broken(row[0], "the finding or run of the entry's body was changed")
        yield row, body


def ends(tx: Transaction, chain: Chain) -> Iterator[WrongEntry]:
    """The problems of the log's end, after the chain was followed to it."""
    seq, end = chain.seq, audit_log.recorded_end(tx)
    if end is None:
        yield WrongEntry(seq + 1, "the row that holds the end of the log is missing")
    elif end.seq > seq:
        yield WrongEntry(seq + 1, f"the log ends here, but {end.seq} entries were written")
    elif end.seq < seq:
        yield WrongEntry(end.seq + 1, "the entry is after the end of the log")
    elif seq and end.head != chain.head:
        yield WrongEntry(seq, "the entry's head differs from the recorded end of the log")
    stray = audit_log.body_without_entry(tx)
    if stray is not None:
        yield WrongEntry(stray, "this body has no entry")


def subject_of(store: Store, subject: str) -> str:
    """A subject as the log holds it: HMAC-SHA256 under the store's key."""
    return hmac.digest(store.key, f"reconcile/audit/1/subject|{subject}".encode(), "sha256").hex()


def _about(body: Mapping[str, Any]) -> Iterator[Named]:
    """The things that an entry is about, as its body names them."""
    for key, kind in (("finding", facts.FINDING), ("plan", facts.PLAN), ("user", facts.USER), ("pair", facts.PAIR)):
        name = _name(body, key)
        if name is not None:
            yield kind, name


def _completed(body: str, added: Mapping[str, Any], changes: dict[Named | None, list[facts.Changed]]) -> str:
    """The body with added fields and the digests of the things it names; those are removed from `changes`."""
    fields = json.loads(body) | added
    digests = [change for name in (*_about(fields), None) for change in changes.pop(name, ())]
    if digests:
        fields[FACTS] = [*fields.get(FACTS, ()), *digests]
    return json_text(fields) if digests or added else body


def _moved_plans(fields: Mapping[str, Any]) -> Iterator[str]:
    """The plans that an entry moves: one, or a list of them."""
    if isinstance(fields.get("plan"), str) and "to" in fields:
        yield fields["plan"]
    if isinstance(fields.get("plans"), list):
        yield from (name for name, _, _ in fields["plans"])


def _search_keys(body: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: _name(body, name) for name in ("finding", "run")}


def _name(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    return value if isinstance(value, str) else None


def _parsed(body: str) -> JsonObject:
    value = json.loads(body)
    return value if isinstance(value, dict) else {}
