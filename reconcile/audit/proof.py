"""Prove the audit log: its chain, its signatures, its anchors, and that it agrees with the state.

The log is streamed once, in bounded memory. Every change of a state is an entry with `from` and `to`. The sum of
H(thing, to) - H(thing, from) over all entries is therefore the sum of H(thing, last to), and must equal the sum over
the rows of the state. The sums are kept in some thousand buckets under a key of this process. Things are compared one
by one only in buckets whose sum is wrong.
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

from reconcile.audit import checkpoints, facts, sessions
from reconcile.audit import log as audit
from reconcile.audit.anchors.base import Anchor, AnchorError, Fading, Torn
from reconcile.audit.verifier import ERASED, EVERY, RESTORED, Broken, Chain, Mark, Marks, WrongEntry, first
from reconcile.store import Store, Transaction, audit_log, evidence, heads

_OWN = "the list of checkpoints"
_BESIDE = "the file beside the store's key"
_BUCKETS = 4_096
_OF_PLANS = ("plan.", "operation.")
"""Events whose subject is a plan. Only their entries may tell what moved with it."""

_Change = tuple[int, str | None, str | None]
"""An entry, and a thing's state before and after it."""

Thing = tuple[str, str]
"""A thing with a state: `finding` or `plan` and its id, `plan` (a plan's hash), `approval` (plan and person)."""


@dataclass(frozen=True)
class AnchorSeen:
    """The content of an anchor. `last` is the newest entry it covers; `problem` the reason it could not be read."""

    name: str
    heads: int = 0
    last: int = 0
    problem: str | None = None


@dataclass(frozen=True)
class Proof:
    """The result of `prove`; `problem` is the first one. `signed`, `anchored`: the last entry those cover."""

    entries: int
    head: str
    public_key: str
    problem: WrongEntry | None
    signed: int = 0
    anchored: int = 0
    anchors: tuple[AnchorSeen, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def intact(self) -> bool:
        return self.problem is None


def prove(store: Store, anchors: Mapping[str, Anchor]) -> Proof:
    """Verify everything that can be verified; docs/audit.md says what that proves. Raises a StoreError."""
    with store.read() as tx:
        written = {name: heads.last_written(tx, name) for name in anchors}  # before the anchors are read
    marks = Marks(store.id, checkpoints.public_key(store))
    anchors_seen, remarks = _read_anchors(store, anchors, marks)
    remarks += _read_beside(store, marks)
    with store.read() as tx:
        marks.add(_OWN, checkpoints.all_of(tx))
        if _BESIDE not in marks.heads and marks.heads[_OWN]:
            remarks.append(f"{_BESIDE} is missing; the next signature writes it again")
        chain, problems = _follow(tx, marks)
        problems += [] if problems else _deleted_checkpoints(marks, chain)
        for name, last in written.items():
            if last is None or marks.heads.get(_anchor_source(name)) is None:
                continue
            problem, remark = _gap(tx, name, last.seq, marks, anchors[name])
            problems += [problem] if problem else []
            remarks += [remark] if remark else []
        remarks += _restored(chain, marks)
    covered = {name: marks.covered(name, chain) for name in marks.heads}
    return Proof(
        entries=chain.seq,
        head=chain.head,
        public_key=checkpoints.public_key(store),
        problem=first(problems),
        signed=covered[_OWN],
        anchored=max((seq for name, seq in covered.items() if name not in (_OWN, _BESIDE)), default=0),
        anchors=tuple(_with_last(anchor, covered) for anchor in anchors_seen),
        remarks=tuple(remarks),
    )


def _read_beside(store: Store, marks: Marks) -> list[str]:
    """Read the head this host signed last from the file beside the key."""
    try:
        newest = checkpoints.beside(store)
    except ValueError:
        return [f"{_BESIDE} holds no signed head: {store.signed_file}"]
    if newest is not None:
        marks.add(_BESIDE, [newest])
        marks.newest_only.add(_BESIDE)
    return []


def _deleted_checkpoints(marks: Marks, chain: Chain) -> Iterator[WrongEntry]:
    """Signed heads that other places hold and the list of checkpoints no longer does."""
    listed = {seq for _, seq in marks.heads[_OWN]}
    if not listed and chain.seq >= EVERY:
        yield WrongEntry(1, "no entry of the log is signed: its checkpoints were deleted from the state", chain.seq)
    for source, held in marks.heads.items():
        needed = {seq for _, seq in held if seq not in listed}
        if source == _BESIDE:  # another host may have signed it long ago, and compaction deletes what later ones cover
            needed = {seq for seq in needed if seq % EVERY == 0 or seq > max(listed, default=0)}
        missing = sorted(seq for (_, seq), head in held.items() if seq in needed and chain.heads.get(seq) == head)
        if missing:
            sentence = f"{source} shows that entry {missing[0]} was signed; its checkpoint was deleted from the state"
            yield WrongEntry(missing[0], sentence)


def _anchor_source(anchor: str) -> str:
    return f"the anchor {anchor!r}"


def _with_last(anchor: AnchorSeen, covered: Mapping[str, int]) -> AnchorSeen:
    return AnchorSeen(anchor.name, anchor.heads, covered.get(_anchor_source(anchor.name), 0), anchor.problem)


# The anchors


def _read_anchors(store: Store, anchors: Mapping[str, Anchor], marks: Marks) -> tuple[list[AnchorSeen], list[str]]:
    contents, remarks = [], []
    for name, place in anchors.items():
        torn: list[Torn] = []
        try:
            marks.add(_anchor_source(name), _heads(place.read(store.id), torn))
        except AnchorError as error:
            marks.heads.pop(_anchor_source(name), None)
            contents.append(AnchorSeen(name, problem=str(error)))
            continue
        contents.append(AnchorSeen(name, heads=len(marks.heads[_anchor_source(name)])))
        remarks += [f"{_anchor_source(name)}: {entry.where} is not a signed head" for entry in torn[:3]]
    return contents, remarks


def _heads(contents: Iterator[Mark | Torn], torn: list[Torn]) -> Iterator[Mark]:
    for entry in contents:
        if isinstance(entry, Torn):
            torn.append(entry)
        else:
            yield entry


def _gap(tx: Transaction, name: str, until: int, marks: Marks, anchor: Anchor) -> tuple[WrongEntry | None, str | None]:
    """The first head that was written to the anchor and is missing there, and a remark on heads too old to be seen.

    Missing heads before the first one in a place that hides old messages are only a remark: later heads cover them.
    """
    fades = anchor.fades if isinstance(anchor, Fading) else None
    unseen, remark = 0, None
    held_seqs = {seq for _, seq in marks.heads[_anchor_source(name)]}
    for seq in heads.written_seqs(tx, name, until):
        if seq in held_seqs and unseen:
            shown_from = f"{_anchor_source(name)} shows its heads from entry {seq:,} on"
            remark = f"{shown_from}; those up to entry {unseen:,} can no longer be seen, because {fades}"
        if seq in held_seqs:
            unseen, fades = 0, None
        elif fades is not None:
            unseen = seq
        else:
            return WrongEntry(
                seq, f"{_anchor_source(name)} received the head of this entry and no longer has it"
            ), remark
    if unseen:
        sentence = (
            f"{_anchor_source(name)} received the head of this entry, but shows neither that head nor a later one"
        )
        return WrongEntry(unseen, f"{sentence}: they were deleted, or they are too old, because {fades}"), remark
    return None, remark


def _restored(chain: Chain, marks: Marks) -> list[str]:
    """Remarks on entries that a restore ended, and on heads of other stores."""
    remarks = [f"{source} also holds {count:,} heads of other stores" for source, count in marks.strangers.items()]
    marked = [mark for held in marks.heads.values() for mark in held]
    for entry in chain.restores:
        ended = {seq for epoch, seq in marked if epoch < entry.epoch and seq >= entry.seq}
        if ended:
            remarks.append(f"a restore at entry {entry.seq:,} replaced entries {entry.seq:,} to {max(ended):,}")
    return remarks


# The log and the state


@dataclass
class _StateSums:
    """For each bucket of things, the sum of H over their states in the log minus that over their actual states."""

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


def _follow(tx: Transaction, marks: Marks) -> tuple[Chain, list[WrongEntry]]:
    chain = Chain(tx.store.id, marks.wanted)
    sums, forged = _StateSums(), None
    try:
        for row, body in audit.follow(tx, chain):
            if body is None:
                continue
            if forged is None and not _is_about(tx.store, row[3], row[4], body):
                forged = WrongEntry(row[0], "the entry was not written by this store: its subject has another key")
            for _, thing, before, after in _changes_of(row[0], row[3], body):
                sums.add(thing, after, 1)
                sums.add(thing, before, -1)
    except Broken as broken:
        problems_so_far = [broken.problem, *marks.compare(chain, whole=False)]
        return chain, problems_so_far if forged is None else [*problems_so_far, forged]
    problems = [*audit.ends(tx, chain), *chain.bodies(), *marks.compare(chain), *marks.unsigned(_OWN, chain)]
    problems += [forged] if forged is not None else []
    if problems:
        return chain, problems  # a broken log explains nothing
    for thing, state in _actual_states(tx):
        sums.add(thing, state, -1)
    if sums.off:
        problems += _unexplained(tx, sums.off, chain.seq)
    for kind, name in facts.unrecorded(tx):
        sentence = f"the {_thing(f'{kind} {name}')} is in the state, but no entry is about it"
        problems.append(WrongEntry(chain.seq + 1, sentence))
    problems += [WrongEntry(chain.seq + 1, sentence) for sentence in sessions.forged(tx)]
    return chain, problems + list(_odd_operations(tx, chain.seq))


def _is_about(store: Store, event: str, subject: str, body: Mapping[str, Any]) -> bool:
    """Return True if the subject is the HMAC, under the store's key, of what the body names (or it names nothing)."""
    clear = None
    plan = _plan_of(body)
    if event == RESTORED:
        clear = f"store:{store.id}"
    elif event == ERASED:
        clear = f"erasure:{body.get('erasure')}"
    elif event.startswith((*_OF_PLANS, "approval.")) or (plan is not None and "to" in body):
        clear = body.get("finding") if event.startswith("finding.") else f"plan:{plan}"
    elif event.startswith("finding.") or "to" in body:
        clear = body.get("finding")
    return not isinstance(clear, str) or audit.subject_of(store, clear) == subject


def _plan_of(body: Mapping[str, Any]) -> str | None:
    """The plan that the entry's subject names: of several, the first."""
    plans, plan = body.get("plans"), body.get("plan")
    if isinstance(plans, list) and plans:
        plan = plans[0][0]
    return plan if isinstance(plan, str) else None


def _changes_of(seq: int, event: str, body: Mapping[str, Any]) -> Iterator[tuple[int, Thing, str | None, str | None]]:
    """The changes of states and digests in an entry: its own, or those of entries it lists as erased."""
    for kind, name, before, after in body.get(audit.FACTS, ()):
        yield seq, (audit.FACTS, f"{kind} {name}"), before, after
    if event == ERASED:
        for erased_entry in body["entries"]:
            yield from _changes_of(erased_entry["seq"], erased_entry["event"], erased_entry)
        return
    if event.startswith(_OF_PLANS):
        for kind, name, before, after in body.get(audit.ALSO, ()):
            yield seq, (kind, name), before, after
        if isinstance(body.get("plans"), list):
            for name, before, after in body["plans"]:
                yield seq, ("plan", name), before, after
    kind = "finding" if event.startswith("finding.") or not isinstance(body.get("plan"), str) else "plan"
    name, after = body.get(kind), body.get("to")
    if isinstance(name, str) and isinstance(after, str):
        yield seq, (kind, name), body.get("from"), after
    if kind == "plan":
        yield from _approvals(seq, event, body)


def _approvals(seq: int, event: str, body: Mapping[str, Any]) -> Iterator[tuple[int, Thing, str | None, str]]:
    """The plan's hash, which never changes, and people's approvals of it."""
    name, plan_hash = body["plan"], body.get("plan_hash")
    if event == "plan.proposed" and isinstance(plan_hash, str):
        yield seq, ("plan_hash", name), None, plan_hash
    elif event.startswith("approval."):
        before = body.get("was")
        yield (
            seq,
            ("approval", f"{name} {body['by']}"),
            before and f"{before} {plan_hash}",
            f"{body['decision']} {plan_hash}",
        )


def _actual_states(tx: Transaction) -> Iterator[tuple[Thing, str]]:
    for kind, name, state in evidence.states(tx):
        yield (kind, name), state
    for kind, name, digest in facts.current_digests(tx):
        yield (audit.FACTS, f"{kind} {name}"), digest


def _unexplained(tx: Transaction, off: frozenset[int], end: int) -> Iterator[WrongEntry]:
    """The things of these buckets that the log does not explain, each at the last entry about it."""
    changes: dict[Thing, list[_Change]] = defaultdict(list)
    for row, body in audit.follow(tx, Chain(tx.store.id)):
        for seq, thing, before, after in _changes_of(row[0], row[3], body or {}):
            if _bucket(thing) in off:
                changes[thing].append((seq, before, after))
    for thing_changes in changes.values():
        thing_changes.sort(key=itemgetter(0))  # an erasure repeats the changes of earlier entries
    yield from _gaps(changes)
    last_changes = {thing: (thing_changes[-1][0], thing_changes[-1][2]) for thing, thing_changes in changes.items()}
    for thing, state in _actual_states(tx):
        if _bucket(thing) not in off:
            continue
        kind, name = thing
        seq, after = last_changes.pop(thing, (0, ""))
        if after != state:
            yield _difference(kind, name, state, seq, after, end)
    for (kind, name), (seq, after) in last_changes.items():
        if after is not None:
            yield WrongEntry(seq, f"the {_in_words(kind, name)} of this entry is missing from the state")


def _gaps(changes: Mapping[Thing, Sequence[_Change]]) -> Iterator[WrongEntry]:
    """Digests that changed between two entries about them."""
    for (kind, name), thing_changes in changes.items():
        last_digest: str | None = None
        for seq, before, after in thing_changes if kind == audit.FACTS else ():
            if before != last_digest:
                yield WrongEntry(seq, f"the {_thing(name)} was changed outside Reconcile before this entry")
                break
            last_digest = after


def _difference(kind: str, name: str, state: str, seq: int, to: str | None, end: int) -> WrongEntry:
    """The problem of a thing in this state; the entry `seq` (0: none) is the last about it."""
    if kind == audit.FACTS:
        contents = _CONTENTS[name.split(maxsplit=1)[0]]
        return WrongEntry(seq or end + 1, f"the {_thing(name)} differs from what this entry recorded: {contents}")
    if not seq:
        return WrongEntry(end + 1, f"the {_in_words(kind, name)} is in the state, but no entry is about it")
    return WrongEntry(seq, f"the {_in_words(kind, name)} is {state}, but the last entry about it says {to}")


def _in_words(kind: str, name: str) -> str:
    match kind:
        case "plan":
            return f"plan {name}"
        case "plan_hash":
            return f"hash of plan {name}"
        case "approval":
            plan, _, person = name.partition(" ")
            return f"decision of {person} on plan {plan}"
        case audit.FACTS:
            return f"digest of the {_thing(name)}"
    return f"{kind} {name}"


def _thing(name: str) -> str:
    """A thing with a digest: `limits rule:twins` is the limit of rule twins."""
    kind, _, scope = name.partition(" ")
    return f"limit of {scope.replace(':', ' ', 1)}" if kind == facts.LIMITS else name


def _odd_operations(tx: Transaction, end: int) -> Iterator[WrongEntry]:
    """Operations whose state is not that of their plan."""
    operation = evidence.odd_operation(tx)
    if operation is not None:
        plan, state, plan_state = operation
        sentence = f"an operation of plan {plan} is {state}, but the plan is {plan_state}"
        yield WrongEntry(_last_entry(tx, plan) or end, sentence)


def _last_entry(tx: Transaction, plan: str) -> int | None:
    for seq, event, body in audit_log.backwards(tx):
        if any(thing == ("plan", plan) for _, thing, _, _ in _changes_of(seq, event, body)):
            return seq
    return None


_CONTENTS = {
    facts.FINDING: "its records, severity, amounts, notes or judgements were changed outside Reconcile",
    facts.PLAN: "its rows, before-images, approvals, operations or use of limits were changed outside Reconcile",
    facts.LIMITS: "its counters, or the stop of its cleaning, were changed outside Reconcile",
    facts.USER: "the role, password or tokens were changed outside Reconcile",
    facts.PAIR: "what a person judged was changed outside Reconcile",
    facts.RULE: "its first run or its definition was changed outside Reconcile",
}
