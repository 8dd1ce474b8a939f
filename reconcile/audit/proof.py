"""The whole proof of the audit log: its chain, its signatures, its anchors, and that state and log explain each other.

The log is streamed once, in bounded memory. Every change of a state is an entry that says `from` and `to`, so the sum
of H(thing, to) - H(thing, from) over all entries is the sum of H(thing, last to), and has to be the same over the rows
of the state. The sums are kept in some thousand buckets under a key of this process; only where one is off, the things
in it are looked at one by one.
"""

from __future__ import annotations

import hashlib
import secrets
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from reconcile.audit import checkpoints, facts
from reconcile.audit import log as audit
from reconcile.audit.anchors.base import Anchor, AnchorError, Fading, Readable, Torn
from reconcile.audit.verifier import ERASED, EVERY, RESTORED, Broken, Chain, Mark, Marks, Problem, first
from reconcile.store import Store, Transaction, tables

_OWN = "the list of checkpoints"
_BESIDE = "the file beside the store's key"
_BUCKETS = 4_096
_BATCH = 1_000

Told = tuple[int, str | None, str | None]
"""An entry, and what a thing was before it and after."""

Thing = tuple[str, str]
"""What has a state: `finding` or `bundle` and its id, `plan` (a bundle's hash), `approval` (a bundle and a person)."""


@dataclass(frozen=True)
class AnchorSeen:
    """What an anchor held. `last` is the newest entry it covers; `problem` why it could not be read."""

    name: str
    heads: int = 0
    last: int = 0
    problem: str | None = None


@dataclass(frozen=True)
class Proof:
    """What was found; `problem` is the first thing wrong. `signed`, `anchored`: the last entry those cover."""

    entries: int
    head: str
    public_key: str
    problem: Problem | None
    signed: int = 0
    anchored: int = 0
    anchors: tuple[AnchorSeen, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def intact(self) -> bool:
        return self.problem is None


def prove(store: Store, anchors: Mapping[str, Anchor]) -> Proof:
    """Verify everything that can be: see docs/audit.md for what that proves. Raises a StoreError."""
    with store.read() as tx:
        until = {name: _written_until(tx, name) for name in anchors}
    marks = Marks(store.id, checkpoints.public_key(store))
    seen, remarks = _read(store, anchors, marks)
    remarks += _read_beside(store, marks)
    with store.read() as tx:
        marks.add(_OWN, checkpoints.all_of(tx))
        if _BESIDE not in marks.heads and marks.heads[_OWN]:
            remarks.append(f"{_BESIDE} does not say how far the log was signed: it is missing, and made anew when due")
        chain, problems = _follow(tx, marks)
        problems += [] if problems else _taken_away(marks, chain)
        held = [(name, until[name]) for name in anchors if marks.heads.get(_called(name)) is not None]
        for name, end in held:
            lost, faded = _lost(tx, name, end, marks, anchors[name])
            problems += [lost] if lost else []
            remarks += [faded] if faded else []
        remarks += _restored(chain, marks)
        remarks += _unrecorded(tx)
    covered = {name: _last_right(marks, name, chain) for name in marks.heads}
    return Proof(
        entries=chain.seq,
        head=chain.head,
        public_key=checkpoints.public_key(store),
        problem=first(problems),
        signed=covered[_OWN],
        anchored=max((seq for name, seq in covered.items() if name not in (_OWN, _BESIDE)), default=0),
        anchors=tuple(_with_last(one, covered) for one in seen),
        remarks=tuple(remarks),
    )


def _read_beside(store: Store, marks: Marks) -> list[str]:
    """What was signed last by this host, as it stands where the rows of the log are not."""
    try:
        newest = checkpoints.beside(store)
    except ValueError:
        return [f"{_BESIDE} holds no signed head: {store.signed_file}"]
    if newest is not None:
        marks.add(_BESIDE, [newest])
        marks.newest_only.add(_BESIDE)
    return []


def _taken_away(marks: Marks, chain: Chain) -> Iterator[Problem]:
    """Heads of the log that were signed, as other places show, and are not in the list of checkpoints any more."""
    listed = {seq for _, seq in marks.heads[_OWN]}
    if not listed and chain.seq >= EVERY:
        yield Problem(1, "no entry of the log is signed: its checkpoints were deleted from the state", chain.seq)
    for source, kept in marks.heads.items():
        missing = sorted(seq for (_, seq), head in kept.items() if seq not in listed and chain.heads.get(seq) == head)
        if missing:
            said = f"{source} shows that entry {missing[0]} was signed, and its checkpoint was deleted from the state"
            yield Problem(missing[0], said)


def _called(anchor: str) -> str:
    return f"the anchor {anchor!r}"


def _with_last(one: AnchorSeen, covered: Mapping[str, int]) -> AnchorSeen:
    return AnchorSeen(one.name, one.heads, covered.get(_called(one.name), 0), one.problem)


def _last_right(marks: Marks, source: str, chain: Chain) -> int:
    return max((seq for (_, seq), head in marks.heads[source].items() if chain.heads.get(seq) == head), default=0)


# The anchors


def _read(store: Store, anchors: Mapping[str, Anchor], marks: Marks) -> tuple[list[AnchorSeen], list[str]]:
    seen, remarks = [], []
    for name, place in anchors.items():
        torn: list[Torn] = []
        try:
            if not isinstance(place, Readable):
                raise AnchorError(name, "cannot be read back")  # noqa: TRY301 - told like any other
            marks.add(_called(name), _heads(place.read(store.id), torn))
        except AnchorError as error:
            marks.heads.pop(_called(name), None)
            seen.append(AnchorSeen(name, problem=str(error)))
            continue
        seen.append(AnchorSeen(name, heads=len(marks.heads[_called(name)])))
        remarks += [f"{_called(name)}: {one.where}, is no signed head" for one in torn[:3]]
    return seen, remarks


def _heads(found: Iterator[Mark | Torn], torn: list[Torn]) -> Iterator[Mark]:
    for one in found:
        if isinstance(one, Torn):
            torn.append(one)
        else:
            yield one


def _written_until(tx: Transaction, name: str) -> int:
    """The newest entry whose head the anchor is known to have taken, before it is read."""
    mine = tables.anchors.c
    newest = sa.select(sa.func.max(mine.seq)).where(mine.anchor == name, mine.status == "written")
    return tx.connection.execute(newest).scalar() or 0


def _lost(tx: Transaction, name: str, until: int, marks: Marks, anchor: Anchor) -> tuple[Problem | None, str | None]:
    """The first head that the anchor took and does not hold any more, and what is too old to be seen.

    In a place that hides what is old, what comes before the first that it holds is only remarked: later heads cover it.
    """
    fades = anchor.fades if isinstance(anchor, Fading) else None
    unseen, remark = 0, None
    held = {seq for _, seq in marks.heads[_called(name)]}
    mine = tables.anchors.c
    wrote = sa.select(mine.seq).where(mine.anchor == name, mine.status == "written", mine.seq <= until)
    for seq in tx.connection.execute(wrote.order_by(mine.seq).execution_options(yield_per=_BATCH)).scalars():
        if seq in held and unseen:
            first_seen = f"{_called(name)} shows its heads from entry {seq:,} on"
            remark = f"{first_seen}; those up to entry {unseen:,} cannot be seen any more, for {fades}"
        if seq in held:
            unseen, fades = 0, None
        elif fades is not None:
            unseen = seq
        else:
            return Problem(seq, f"{_called(name)} took the head of this entry, and does not hold it any more"), remark
    if unseen:
        sentence = f"{_called(name)} took the head of this entry, and shows neither it nor a later one"
        return Problem(unseen, f"{sentence}: somebody deleted them, or they are too old, for {fades}"), remark
    return None, remark


def _restored(chain: Chain, marks: Marks) -> list[str]:
    """What a restore ended, and what is of other stores."""
    said = [f"{source} also holds {count:,} heads of other stores" for source, count in marks.strangers.items()]
    for one in chain.restores:
        gone = {seq for kept in marks.heads.values() for epoch, seq in kept if epoch < one.epoch and seq >= one.seq}
        if gone:
            said.append(f"a restore at entry {one.seq:,} ended the entries {one.seq:,} to {max(gone):,} of before")
    return said


def _unrecorded(tx: Transaction) -> list[str]:
    counted = [f"{count:,} {_COUNTED[kind][count != 1]}" for kind, count in facts.unrecorded(tx).items()]
    if not counted:
        return []
    why = "an earlier version changed them last and recorded no digests, so their contents are not compared"
    return [f"{', '.join(counted)}: {why}"]


_COUNTED = {
    facts.FINDING: ("finding", "findings"),
    facts.PLAN: ("plan", "plans"),
    facts.LIMITS: ("limit", "limits"),
    facts.RULE: ("rule", "rules"),
}


# The log and the state


@dataclass
class _Sums:
    """For each bucket of things, H of the states the log says they have, minus H of those they have."""

    secret: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    of: list[int] = field(default_factory=lambda: [0] * _BUCKETS)

    def add(self, thing: Thing, state: str | None, sign: int) -> None:
        if state is not None:
            text = f"{thing[0]}\0{thing[1]}\0{state}".encode(errors="surrogatepass")
            digest = hashlib.blake2b(text, digest_size=12, key=self.secret).digest()
            self.of[_bucket(thing)] += sign * int.from_bytes(digest, "big")

    @property
    def off(self) -> frozenset[int]:
        return frozenset(number for number, value in enumerate(self.of) if value)


def _bucket(thing: Thing) -> int:
    return zlib.crc32(thing[1].encode(errors="surrogatepass")) % _BUCKETS


def _follow(tx: Transaction, marks: Marks) -> tuple[Chain, list[Problem]]:
    chain = Chain(tx.store.id, marks.wanted)
    sums, forged = _Sums(), None
    try:
        for row, body in audit.follow(tx, chain):
            if body is None:
                continue
            if forged is None and not _is_about(tx.store, row[3], row[4], body):
                forged = Problem(row[0], "the entry was not written by this store: its subject is not under its key")
            for _, thing, was, to in _moves(row[0], row[3], body):
                sums.add(thing, to, 1)
                sums.add(thing, was, -1)
    except Broken as broken:
        found = [broken.problem, *marks.compare(chain, whole=False)]
        return chain, found if forged is None else [*found, forged]
    problems = [*audit.ends(tx, chain), *chain.bodies(), *marks.compare(chain), *marks.unsigned(_OWN, chain)]
    problems += [forged] if forged is not None else []
    if problems:
        return chain, problems  # a log that is wrong explains nothing
    for thing, state in _standing(tx):
        sums.add(thing, state, -1)
    if sums.off:
        problems += _unexplained(tx, sums.off, chain.seq)
    return chain, problems + list(_odd_effects(tx, chain.seq))


def _is_about(store: Store, event: str, subject: str, body: Mapping[str, Any]) -> bool:
    """Where the body says what the entry is about, its subject is the HMAC of that, which takes the store's key."""
    clear = None
    if event.startswith("finding."):
        clear = body.get("finding")
    elif event == RESTORED:
        clear = f"store:{store.id}"
    elif event == ERASED:
        clear = f"erasure:{body.get('erasure')}"
    return not isinstance(clear, str) or audit.subject_of(store, clear) == subject


def _moves(seq: int, event: str, body: Mapping[str, Any]) -> Iterator[tuple[int, Thing, str | None, str | None]]:
    """The changes of states and digests that an entry tells: its own, or those of entries that it says were erased."""
    for kind, name, was, to in body.get(audit.FACTS, ()):
        yield seq, (_FACTS, f"{kind} {name}"), was, to
    if event == ERASED:
        for one in body["entries"]:
            yield from _moves(one["seq"], one["event"], one)
        return
    if isinstance(body.get("bundles"), list):
        for name, was, to in body["bundles"]:
            yield seq, ("bundle", name), was, to
    kind = "bundle" if isinstance(body.get("bundle"), str) else "finding"
    name, to = body.get(kind), body.get("to")
    if isinstance(name, str) and isinstance(to, str):
        yield seq, (kind, name), body.get("from"), to
    if kind == "bundle":
        yield from _words(seq, event, body)


def _words(seq: int, event: str, body: Mapping[str, Any]) -> Iterator[tuple[int, Thing, str | None, str]]:
    """What was planned, which never changes, and what a person said of it."""
    bundle, plan = body["bundle"], body.get("plan_hash")
    if event == "bundle.proposed" and isinstance(plan, str):
        yield seq, ("plan", bundle), None, plan
    elif event.startswith("approval."):
        was = body.get("was")
        yield seq, ("approval", f"{bundle} {body['by']}"), was and f"{was} {plan}", f"{body['decision']} {plan}"


def _standing(tx: Transaction) -> Iterator[tuple[Thing, str]]:
    for kind, query in _STANDING.items():
        for name, state in tx.connection.execute(query.execution_options(yield_per=_BATCH)):
            yield (kind, name), state
    for kind, name, digest in facts.standing(tx):
        yield (_FACTS, f"{kind} {name}"), digest


def _unexplained(tx: Transaction, off: frozenset[int], end: int) -> Iterator[Problem]:
    """Which things of these buckets the log does not explain, each at the last entry about it."""
    told: dict[Thing, list[Told]] = defaultdict(list)
    for row, body in audit.follow(tx, Chain(tx.store.id)):
        for seq, thing, was, to in _moves(row[0], row[3], body or {}):
            if _bucket(thing) in off:
                told[thing].append((seq, was, to))
    for steps in told.values():
        steps.sort(key=itemgetter(0))  # an erasure tells again what entries before it said
    yield from _gaps(told)
    said = {thing: (steps[-1][0], steps[-1][2]) for thing, steps in told.items()}
    for thing, state in _standing(tx):
        if _bucket(thing) not in off:
            continue
        kind, name = thing
        seq, to = said.pop(thing, (0, ""))
        if to != state:
            yield _unlike(kind, name, state, seq, to, end)
    for (kind, name), (seq, to) in said.items():
        if to is not None:
            yield Problem(seq, f"the {_WORDS[kind]} {name} of this entry is not in the state")


def _gaps(told: Mapping[Thing, Sequence[Told]]) -> Iterator[Problem]:
    """Digests that were not, before an entry changed them, what the entry before had left."""
    for (kind, name), steps in told.items():
        left: str | None = None
        for seq, was, to in steps if kind == _FACTS else ():
            if was != left:
                yield Problem(seq, f"the {name} had been changed outside Reconcile before this entry")
                break
            left = to


def _unlike(kind: str, name: str, state: str, seq: int, to: str | None, end: int) -> Problem:
    """What is wrong with a thing in this state, of which the entry `seq` (0: none) was the last to tell."""
    if kind == _FACTS:
        contents = _CONTENTS[name.split(maxsplit=1)[0]]
        return Problem(seq or end + 1, f"the {name} is not as this entry left it: {contents}")
    if not seq:
        return Problem(end + 1, f"the {_WORDS[kind]} {name} stands in the state, and no entry tells of it")
    return Problem(seq, f"the {_WORDS[kind]} {name} is {state}, and the last entry about it says {to}")


def _odd_effects(tx: Transaction, end: int) -> Iterator[Problem]:
    """Operations that are not in the state of their bundle."""
    row = tx.connection.execute(_ODD).first()
    if row is not None:
        said = f"an operation of the bundle {row.bundle} is {row.state}, and the bundle is {row.stands}"
        seq = _last_entry(tx, row.bundle) or end
        yield Problem(seq, said)


def _last_entry(tx: Transaction, bundle: str) -> int | None:
    for row, body in _backwards(tx):
        if any(thing == ("bundle", bundle) for _, thing, _, _ in _moves(row.seq, row.event, body)):
            return int(row.seq)
    return None


def _backwards(tx: Transaction) -> Iterator[tuple[Any, dict[str, Any]]]:
    log, bodies = tables.audit, tables.audit_bodies
    query = sa.select(log.c.seq, log.c.event, bodies.c.body).join(bodies, bodies.c.seq == log.c.seq)
    for row in tx.connection.execute(query.order_by(log.c.seq.desc()).execution_options(yield_per=_BATCH)):
        yield row, row.body


_FACTS = "facts"
_WORDS = {
    "finding": "finding",
    "bundle": "bundle",
    "plan": "hash of bundle",
    "approval": "word on bundle",
    _FACTS: "digest of the",
}
_CONTENTS = {
    facts.FINDING: "its records, severity, amounts, notes or judgements were changed outside Reconcile",
    facts.PLAN: "its rows, before-images, approvals, operations or use of limits were changed outside Reconcile",
    facts.LIMITS: "its counters, or the stop of its cleaning, were changed outside Reconcile",
    facts.RULE: "what is known of its first run and its definition was changed outside Reconcile",
}
_SAID = tables.approvals.c
_STANDING: Mapping[str, sa.Select[Any]] = {
    "finding": sa.select(tables.findings.c.id, tables.findings.c.state),
    "bundle": sa.select(tables.bundles.c.id, tables.bundles.c.state),
    "plan": sa.select(tables.bundles.c.id, tables.bundles.c.plan_hash),
    "approval": sa.select(_SAID.bundle + " " + _SAID.by, _SAID.decision + " " + _SAID.plan_hash),
}
_ODD = (
    sa.select(tables.effects.c.bundle, tables.effects.c.state, tables.bundles.c.state.label("stands"))
    .join(tables.bundles, tables.bundles.c.id == tables.effects.c.bundle)
    .where(tables.effects.c.state != tables.bundles.c.state)
    .order_by(tables.effects.c.bundle)
    .limit(1)
)
