"""Turn judgements into rows: every transition of a finding with its audit entry."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterator

from reconcile.audit import facts, log
from reconcile.documents import JsonObject
from reconcile.findings import payload as stored_parts
from reconcile.findings.identity import Existing, RuleIdentity, key_text, member_name
from reconcile.findings.judgement import NOT_CLEAN, FindingChange, Judgement, Verdict
from reconcile.findings.states import SETTLED, Event, State, after
from reconcile.store import Transaction, finding_states
from reconcile.store import finding_memory as memory
from reconcile.store.finding_memory import Entered, Memory, Row
from reconcile.tracking.names import VerdictNames
from rules.groups.group import Group
from rules.pairs import evidence

ACTOR = "reconcile"
_PLANNED = (State.AWAITING, State.APPROVED)


class Writer:
    """Turn judgements into rows, and write the rows of each with a few bulk statements."""

    def __init__(self, tx: Transaction, run: str, rule: RuleIdentity, entered: Entered) -> None:
        self._tx = tx
        self._run = run
        self._rule = rule
        self._has_history = not entered.first
        found_at_once = entered.first or entered.edited
        self._summary = found_at_once and rule.existing is Existing.SUMMARY
        self._silent = found_at_once and rule.existing is Existing.IGNORE
        self.news: list[str] = []
        """Findings with news."""
        self.planless: list[str] = []
        """Findings that changed after their plan was made."""

    def write(self, stored: Memory, judgement: Judgement, names: VerdictNames) -> None:
        """Write the judgement's changes; `known` holds the findings as they were before."""
        self._known = stored
        self._by_key = Counter(key_text(finding.key) for finding in stored.known)
        self._new: list[tuple[Row, Verdict]] = []
        self._members_of_new: list[Row] = []
        self._changed: list[Row] = []
        self._seen: list[str] = []
        self._new_members: list[Row] = []
        self._changed_members: list[Row] = []
        self._returning: list[Row] = []
        self._choices: dict[tuple[str, str], list[str] | None] = {}
        numbered = enumerate(judgement.verdicts)
        for number, verdict in sorted(numbered, key=lambda item: names.ids.get(item[0]) or item[1].finding or ""):
            mark = names.marks.get(number, "")
            self._apply(verdict, names.ids.get(number), mark, is_own=mark == names.own.get(number))
        self._carry_choices()
        self._add_new()
        touched = [row["id"] for row in self._changed]
        touched += [row["finding"] for row in (*self._new_members, *self._changed_members)]
        log.touch(self._tx, facts.FINDING, [*touched, *names.aliases.values()])
        memory.write(self._tx, self._changed, names.aliases)
        memory.write_members(self._tx, new=self._new_members, changed=self._changed_members)
        memory.touch(self._tx, self._seen, self._run)
        self._log_choices()

    def _carry_choices(self) -> None:
        """Let what people chose of records in other findings of the rule count where the records are now."""
        if not self._has_history:
            return
        joining = [*self._members_of_new, *self._new_members]
        records = [row["record"] for row in (*joining, *self._returning)]
        chosen = finding_states.choices(self._tx, self._rule.name, records)
        for row in (*joining, *self._returning):
            if row["record"] in chosen:
                row.update(chosen[row["record"]])
                if row["chosen_by"] is not None:
                    self._choices[row["finding"], "finding.keeper_returned"] = None
                self._note_values(row["finding"], "finding.values_returned", row["gives"])
        for row in self._returning:
            if row["record"] in chosen:
                finding_states.carry_choice(self._tx, row["finding"], row["record"], chosen[row["record"]])

    def _note_values(self, finding: str, event: str, gives: Collection[str] | None) -> None:
        if gives:
            self._choices[finding, event] = sorted({*(self._choices.get((finding, event)) or ()), *gives})

    def _log_choices(self) -> None:
        """Log, and show in messages, where a record that a person chose left a finding, or is in it again."""
        if not self._choices:
            return
        finding_states.renew(self._tx, sorted({finding for finding, _ in self._choices}))
        for (finding, event), columns in self._choices.items():
            body = {"finding": finding, "rule": self._rule.name, "run": self._run}
            log.append(self._tx, ACTOR, event, finding, body | ({"columns": columns} if columns else {}))

    def _add_new(self) -> None:
        """Write the new findings. The digest of each is computed from the rows that are written; its entry has it."""
        if not self._new:
            return
        stored = memory.add(self._tx, [row for row, _ in self._new], self._members_of_new)
        created = facts.record_new(self._tx, facts.FINDING, stored)
        for row, verdict in self._new:
            self._log(row, None, verdict, created[row["id"]])

    def _apply(self, verdict: Verdict, new_id: str | None, mark: str, *, is_own: bool) -> None:
        if verdict.change is FindingChange.SETTLED and verdict.event is None:
            self._on_settled(verdict)
        elif verdict.change is FindingChange.IN_HAND:
            self._seen.append(verdict.finding or "")
        elif verdict.event in (Event.VANISHED, Event.ABSORBED):
            self._on_ended(verdict)
        elif verdict.group is not None and new_id is not None:
            self._on_new(verdict, verdict.group, new_id, mark, is_own=is_own)
        elif verdict.group is not None and verdict.finding is not None:
            self._on_found(verdict, verdict.group, verdict.finding, mark, is_own=is_own)

    def _on_settled(self, verdict: Verdict) -> None:
        """Keep the finding as decided; a resolved one was not found again."""
        if verdict.finding and State(self._known.rows[verdict.finding]["state"]) in SETTLED:
            self._seen.append(verdict.finding)

    def _on_ended(self, verdict: Verdict) -> None:
        stored = self._known.rows[verdict.finding or ""]
        row = stored | {"payload": stored["payload"] | {"reason": verdict.reason}, "merged_into": verdict.into}
        self._changed_by(row, stored, verdict)

    def _on_new(self, verdict: Verdict, group: Group, new_id: str, mark: str, *, is_own: bool) -> None:
        fixed = {"id": new_id, "rule": self._rule.name, "kind": self._rule.kind, "dataset": self._rule.dataset}
        first_seen = {"first_run": self._run, "first_seen": self._tx.now, "version": 0, "state": None}
        undecided = dict.fromkeys(("snoozed_until", "assigned_to", "decided_by", "note", "merged_into"))
        facts_of_group = self._facts(group, mark) | {"digest": self._digest(group, None, is_own=is_own)}
        row = fixed | first_seen | undecided | facts_of_group | {"payload": self._payload(verdict, group)}
        self._new.append((self._moved(row, None, verdict), verdict))
        self._members_of_new.extend(_member(new_id, n, row, self._tx.now) for n, row in enumerate(_member_rows(group)))

    def _on_found(self, verdict: Verdict, group: Group, finding: str, mark: str, *, is_own: bool) -> None:
        before = self._known.rows[finding]
        row = (
            before | self._facts(group, mark) | {"payload": self._payload(verdict, group, before), "merged_into": None}
        )
        row["digest"] = self._digest(group, finding, is_own=is_own)
        self._members(finding, group)
        if verdict.reason == NOT_CLEAN:
            log.touch(self._tx, facts.FINDING, [finding])
            memory.settle(self._tx, finding, None)
        if verdict.event is not None:
            self._changed_by(row, before, verdict)
        elif any(row[name] != before[name] for name in _SHOWN):
            self._changed.append(row)
        else:
            self._seen.append(finding)

    def _facts(self, group: Group, mark: str) -> Row:
        return {
            "dataset": self._rule.dataset,
            "fingerprint": mark,
            "severity": int(self._rule.severity),
            "key": stored_parts.encoded(group.key),
            "money": {currency: str(amount) for currency, amount in group.money.items()},
            "amount_rank": 0.0 if self._rule.hides_amounts else stored_parts.amount_rank(group.money),
            "probability": _probability(group),
            "records": len(group.members),
            "last_run": self._run,
            "last_seen": self._tx.now,
        }

    def _digest(self, group: Group, finding: str | None, *, is_own: bool) -> str | None:
        """Return the digest of the group if no other finding can continue it, nor a decision cover it."""
        if group.digest is None or not is_own:
            return None
        others = self._by_key[key_text(group.key)] - (finding is not None) if self._by_key else 0
        settled = finding is not None and any(row["settled_at"] for row in self._known.members[finding].values())
        return None if others or settled else group.digest

    def _payload(self, verdict: Verdict, group: Group, before: Row | None = None) -> JsonObject:
        kept = before["payload"] if before else {}
        payload = {name: value for name, value in kept.items() if name not in stored_parts.PARTS}
        goes_on = verdict.change is FindingChange.GROWN or not verdict.change.is_told
        former = stored_parts.peaks(kept, before["money"]) if before and goes_on else {}
        if verdict.handled:
            payload[stored_parts.HANDLED_MONEY] = {name: str(amount) for name, amount in verdict.handled.items()}
        payload |= stored_parts.with_peaks(stored_parts.written(group, self._rule.datasets), group, former)
        if verdict.change.is_told:
            payload |= {"change": verdict.change.value, "summary": self._summary, "reason": verdict.reason}
        elif verdict.change is FindingChange.SETTLED:
            payload["reason"] = verdict.reason
        return payload

    def _changed_by(self, row: Row, before: Row, verdict: Verdict) -> None:
        """Keep the row after its event to be written, and write the audit entry."""
        row = self._moved(row, State(before["state"]), verdict)
        self._changed.append(row)
        self._log(row, State(before["state"]), verdict)

    def _moved(self, row: Row, earlier: State | None, verdict: Verdict) -> Row:
        """Return the row after its event."""
        assert verdict.event is not None  # noqa: S101 - only called for a verdict with an event
        state = after(earlier, verdict.event)
        row = row | {"state": state.value}
        if earlier in _PLANNED and state is not earlier:
            self.planless.append(row["id"])
        if state is not earlier:
            row |= {"state_since": self._decided_at(row["id"], verdict), "snoozed_until": None}
        if verdict.change.is_told and not self._silent:
            row["version"] += 1
            self.news.append(row["id"])
        return row

    def _decided_at(self, finding: str, verdict: Verdict) -> dt.datetime:
        """Return the time of the new state: that of the decision if it covers the finding again."""
        if verdict.change is not FindingChange.SETTLED:
            return self._tx.now
        times = (row["settled_at"] for row in self._known.members[finding].values() if row["settled_at"] is not None)
        return max(times, default=self._tx.now)

    def _log(self, row: Row, earlier: State | None, verdict: Verdict, created: facts.Changed | None = None) -> None:
        assert verdict.event is not None  # noqa: S101 - only called for a verdict with an event
        body = {"finding": row["id"], "rule": self._rule.name, "run": self._run, "to": row["state"]}
        body |= {"from": earlier.value if earlier else None, "records": row["records"], "version": row["version"]}
        details = {name: value for name, value in (("why", verdict.reason), ("into", verdict.into)) if value}
        log.append(self._tx, ACTOR, verdict.event.value, row["id"], body | details, created=created)

    def _members(self, finding: str, group: Group) -> None:
        stored = self._known.members[finding]
        wanted = {member["record"]: member for member in _member_rows(group)}
        for position, (name, member) in enumerate(wanted.items()):
            before = stored.get(name)
            row = _member(finding, position, member, self._tx.now)
            if before is None:
                self._new_members.append(row)
            elif any(row[column] != before[column] for column in ("position", "role", "values")):
                self._changed_members.append(row)
            if before is not None and before["role"] == memory.FORMER:
                self._returning.append(row)
        for name, before in stored.items():
            if name not in wanted and before["role"] != memory.FORMER:
                self._changed_members.append(before | {"role": memory.FORMER})
                if before["chosen_by"] is not None:
                    self._choices[finding, "finding.keeper_left"] = None
                self._note_values(finding, "finding.values_left", before["gives"])


_SHOWN = (
    *("fingerprint", "dataset", "severity", "key", "payload", "money", "amount_rank", "probability", "records"),
    "digest",
)


def _probability(group: Group) -> float | None:
    probability = evidence.probability(group.links)
    return None if probability is None else float(probability)


def _member_rows(group: Group) -> Iterator[Row]:
    """Yield each record once, in order: records with the same id, which a run reports, are indistinguishable."""
    names: set[str] = set()
    for role, member in group.roles:
        if (name := member_name(member)) not in names:
            names.add(name)
            yield {"record": name, "role": role, "values": stored_parts.encoded(member.values)}


def _member(finding: str, position: int, written: Row, now: dt.datetime) -> Row:
    fixed = {"finding": finding, "position": position, "first_seen": now}
    return fixed | dict.fromkeys(("settled_at", "chosen_by", "chosen_at", "gives")) | written
