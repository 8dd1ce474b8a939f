"""Effects of cleaning on findings: their states, settled records and news for people, in bulk."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reconcile.audit import facts, log
from reconcile.documents import JsonObject
from reconcile.findings.payload import DECIDED
from reconcile.findings.states import TRANSITIONS, Event, State
from reconcile.store import Transaction, plans
from reconcile.store import finding_states as stored
from reconcile.store.finding_memory import CHUNK
from reconcile.store.judgements import Judgements, judge, judged_among, judged_before
from reconcile.store.sealing import RowsUnreadable

_NEWS = (Event.PROPOSED, Event.FAILED, Event.QUARANTINED, Event.NOT_UNDONE)
"""Events that are reported to people, because they have to act."""
_SETTLING = (Event.CLEANED, Event.UNDONE)


@dataclass(frozen=True)
class Transition:
    """An event of a finding; `plan` is the plan that causes it, `why` a sentence for people."""

    finding: str
    event: Event
    plan: str | None = None
    why: str | None = None


def move(tx: Transaction, moves: Iterable[Transition], *, by: str, run: str | None = None) -> list[Transition]:
    """Apply each event to its finding and write its audit entry; return the moves that were made.

    A finding whose state does not allow the event keeps it: it was merged into another one meanwhile, or a person
    decided. The journal of effects has the changes to its records.
    """
    applied: list[Transition] = []
    for chunk in _chunks(moves):
        if all(_is_plain(move) for move in chunk):
            applied += _move_state(tx, chunk, by, run)
        else:
            applied += _move_whole(tx, chunk, by, run)
    return applied


def _is_plain(move: Transition) -> bool:
    """Return True if only the state changes, so that the finding's documents need no reading and writing."""
    return move.why is None and move.event not in (*_NEWS, *_SETTLING)


def _move_state(tx: Transaction, moves: Sequence[Transition], by: str, run: str | None) -> list[Transition]:
    rows = stored.lock(tx, (move.finding for move in moves))
    applied: dict[str, Transition] = {}
    by_state: dict[State, list[str]] = {}
    for move in moves:
        row = rows.get(move.finding)
        if row is None or move.finding in applied or (row.state, move.event) not in TRANSITIONS:
            continue
        state = TRANSITIONS[row.state, move.event]
        by_state.setdefault(state, []).append(move.finding)
        _log(tx, move, row, row.state, state, row.version, by, run)
        applied[move.finding] = move
        if row.state is State.SNOOZED:
            log.touch(tx, facts.FINDING, [move.finding])  # the end of a snooze is cleared with the state
    for state, names in by_state.items():
        stored.move(tx, names, state)
    return list(applied.values())


def _move_whole(tx: Transaction, moves: Sequence[Transition], by: str, run: str | None) -> list[Transition]:
    rows = stored.lock_whole(tx, (move.finding for move in moves))
    states = {name: row.state for name, row in rows.items()}
    versions = {name: row.version for name, row in rows.items()}
    payloads = {name: dict(row.payload) for name, row in rows.items()}
    applied: list[Transition] = []
    for move in moves:
        before = states.get(move.finding)
        if before is None or (before, move.event) not in TRANSITIONS:
            continue
        states[move.finding] = after = TRANSITIONS[before, move.event]
        versions[move.finding] += move.event in _NEWS
        payloads[move.finding] |= _payload_changes(rows[move.finding], move, versions[move.finding])
        _log(tx, move, rows[move.finding], before, after, versions[move.finding], by, run)
        applied.append(move)
    changed = dict.fromkeys(move.finding for move in applied)
    log.touch(tx, facts.FINDING, changed)
    stored.write(tx, [_moved(tx, rows[name], states[name], versions[name], payloads[name]) for name in changed])
    stored.settle(tx, [move.finding for move in applied if move.event in _SETTLING])
    undone = [move.finding for move in applied if move.event is Event.UNDONE]
    _touch(tx, judged_before(tx, undone))
    judge(tx, undone, by=by, keep_handled=True)
    _judge_undone(tx, moves, by)
    return applied


def _judge_undone(tx: Transaction, moves: Sequence[Transition], by: str) -> None:
    """Judge the records of each plan that was undone, whatever state and records its finding has by now."""
    for undo in moves:
        records = _records_of(tx, undo.plan) if undo.event is Event.UNDONE and undo.plan is not None else ()
        if len(records) > 1:
            log.touch(tx, facts.FINDING, [undo.finding])
            _touch(tx, judged_among(tx, records))
            judge(tx, [undo.finding], by=by, keep_handled=True, members={undo.finding: records})


def _touch(tx: Transaction, judged: Judgements) -> None:
    log.touch(tx, facts.FINDING, judged.findings)
    log.touch(tx, facts.PAIR, judged.pairs)


def _records_of(tx: Transaction, plan: str) -> Collection[str]:
    stored_plan = plans.get(tx, plan)
    try:
        content = stored_plan.content
    except RowsUnreadable:  # its data were erased; what people decided about the finding still asks
        return ()
    names = (*filter(None, [content.keeper]), *content.surplus)
    return {stored_plan.renamed.get(name, name) for name in names}


def _moved(tx: Transaction, row: stored.Whole, state: State, version: int, payload: Mapping[str, Any]) -> stored.Moved:
    if state is row.state:
        return stored.Moved(row.id, state, version, payload, row.state_since, row.snoozed_until)
    return stored.Moved(row.id, state, version, payload, tx.now, None)


def _log(
    tx: Transaction,
    move: Transition,
    row: stored.LoggedState,
    before: State,
    after: State,
    version: int,
    by: str,
    run: str | None,
) -> None:
    body: JsonObject = {"finding": move.finding, "rule": row.rule, "from": before.value, "to": after.value}
    body |= {"records": row.records, "version": version}
    optional = {"run": run, "plan": move.plan, "why": move.why}
    if move.plan is not None and move.event is not Event.NOT_UNDONE:
        moved = facts.FINDING, move.finding, before.value, after.value
        fields = {log.STORY: move.event.value} | ({"run": run} if run else {})
        if log.add_to_move(tx, move.plan, moved, **fields):
            return
    log.append(tx, by, move.event.value, move.finding, body | {k: v for k, v in optional.items() if v})


def _payload_changes(row: stored.Whole, move: Transition, version: int) -> JsonObject:
    """Return the changes of the payload. `not_undone` is kept apart from the state's reason, with its news version."""
    if move.event is Event.NOT_UNDONE:
        return {"not_undone": [version, move.why]}
    is_over = move.event in _SETTLING  # a reason why it failed before no longer holds
    changes: JsonObject = {"reason": move.why} if move.why is not None or is_over else {}
    if move.event is Event.UNDONE:
        changes |= {"not_undone": None, DECIDED: State.UNDONE.value}
    return changes | ({"settled_key": row.payload.get("judged", row.key)} if is_over else {})


def _chunks(moves: Iterable[Transition]) -> Iterator[Sequence[Transition]]:
    all_moves = list(moves)
    return (all_moves[start : start + CHUNK] for start in range(0, len(all_moves), CHUNK))
