"""The refusals of decisions; each tells what to do next. Nothing is changed by a refused decision."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from notifications.base import MASK
from notifications.wording import words
from reconcile.errors import Refused, Wrong
from reconcile.findings.judgement import FindingChange
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.shown import Finding
from reconcile.findings.states import SETTLED, State
from reconcile.journal import approvals, limits
from rules.document.mistakes import listed, nearest, short

if TYPE_CHECKING:
    from reconcile.cleaning.actions.base import Stale
    from reconcile.store.approvals import Approval
    from reconcile.store.plans import StoredPlan
    from rules.kinds.base import Rule

PlanChanged = approvals.PlanChanged
SHORTEST_PLAN = 8
"""The fewest characters of a plan's hash that identify it."""
_MOST_NAMED = 20
_INSTEAD = {
    **dict.fromkeys(SETTLED, ("reopen", "opens it again")),
    State.CLEANED: ("undo", "undoes that"),
}
"""The command to suggest if a finding has no plan to decide about, and its effect."""
_FIXED: Mapping[State, str] = {
    State.APPROVED: "its plan is approved; `reconcile reject {0}` withdraws the plan",
    State.CLEANING: "its cleaning is in progress",
    State.PARTLY: "its cleaning is in progress",
    State.QUARANTINED: "the outcome of its cleaning is unknown; `reconcile quarantine` shows details",
    State.CLEANED: "it is cleaned; `reconcile undo {0}` undoes that, then `reconcile reopen {0}`",
    State.UNDONE: "its cleaning was undone; `reconcile reopen {0}` opens it again",
    State.HANDLED: "it was handled; `reconcile reopen {0}` opens it again",
    State.DISMISSED: "it is dismissed; `reconcile reopen {0}` opens it again",
    State.RESOLVED: "it is resolved",
    State.MERGED: "its records are part of another finding",
}


# The finding


class WrongState(Refused):
    """The finding's state does not allow the decision."""

    def __init__(self, finding: Finding, wish: str) -> None:
        super().__init__(f"{finding.id} cannot be {wish}: {state_in_words(finding)}. Nothing was changed.")


class FindingChanged(Refused):
    """The finding changed after it was shown to the person."""

    def __init__(self, finding: Finding) -> None:
        why = finding.reason or ("a record joined" if finding.change is FindingChange.GROWN else None)
        reason = f": {why}" if why else ""
        super().__init__(
            f"{finding.id} changed since it was shown{reason}. Nothing was changed. "
            f"Look at it again (`reconcile show {finding.id}`), then decide."
        )


class SnoozeInThePast(Wrong):
    """The end of the snooze is not in the future."""

    def __init__(self, until: dt.datetime, now: dt.datetime) -> None:
        super().__init__(
            f"A snooze until {utc_minute(until)} is in the past: it is {utc_minute(now)}. Give a time in the future, "
            "or none to snooze until the finding grows."
        )


class AssigneeUnknown(Wrong):
    """The project has users, and none has this name; nothing was changed."""

    def __init__(self, finding: str, name: str, names: Sequence[str]) -> None:
        closest = nearest(name, names)
        hint = f"did you mean `{closest}`?" if closest else "`reconcile users` lists all users"
        super().__init__(f"{finding} was not assigned: there is no user `{short(name)}`; {hint}")


# Its plan


class PlanNotShown(Refused):
    """Without the hash of a plan, nobody has seen what they approve."""

    def __init__(self, finding: Finding, *, waits: bool) -> None:
        reason = "its plan was not named" if waits else f"it is {words.state(finding.state.value)} without a plan"
        super().__init__(
            f"{finding.id} was not approved: {reason}. Nothing was changed; "
            f"`reconcile plan --finding {finding.id}` shows what would be done"
        )


class NothingProposed(Refused):
    """The finding has no plan to approve or reject."""

    def __init__(self, finding: Finding) -> None:
        command, effect = _INSTEAD.get(finding.state, ("plan --finding", "shows what could be done"))
        super().__init__(
            f"There is no plan for {finding.id} ({state_in_words(finding)}), so there is nothing to decide. "
            f"`reconcile {command} {finding.id}` {effect}"
        )


class UndoInHand(Refused):
    """The undo is running, or its outcome is unknown: it cannot be withdrawn."""

    def __init__(self, finding: Finding, undo: StoredPlan) -> None:
        super().__init__(
            f"The undo of {finding.id} is {plan_state(undo)}, so it cannot be withdrawn. Nothing was changed; "
            f"`reconcile show {finding.id}` shows its result"
        )


class NotYours(Refused):
    """The rule needs two people, and this person has approved already."""

    def __init__(self, finding: Finding, actor: str) -> None:
        super().__init__(
            f"{actor} has already approved {finding.id}, and its rule needs two people: a second person must approve "
            "it too. Nothing was changed"
        )


class ChoseKeeper(Refused):
    """The rule needs two people, and this person chose the keeper or a value: the plan is their proposal."""

    def __init__(self, finding: Finding, actor: str) -> None:
        choice = "the keeper" if finding.kept_by else "values"
        super().__init__(
            f"{actor} chose {choice} of {finding.id}, and its rule needs two people: two other people must approve "
            "the plan. Nothing was changed"
        )


class PlanNotNamed(Refused):
    """Somebody else chose the keeper or a value, and the approval does not name the plan of that choice."""

    def __init__(self, finding: Finding, plan: StoredPlan) -> None:
        start = plan.plan_hash[: 2 * SHORTEST_PLAN]
        choice = "another keeper than its rule" if finding.kept_by else "values of the keeper"
        super().__init__(
            f"{finding.id} was not approved: {words.listed(finding.choosers)} chose {choice}. Nothing was "
            f"changed. Look at its plan (`reconcile show {finding.id}`), then approve exactly that one: "
            f"`reconcile approve {finding.id} --plan-hash {start}`"
        )


class NothingToRetry(Refused):
    """The plan neither failed nor waits."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.id} is {finding.state.value.replace('_', ' ')}; there is nothing to retry")


class BeyondLimits(Refused):
    """The plan exceeds limits; a person can approve it anyway."""

    def __init__(self, finding: str, error: limits.OverLimit) -> None:
        next_step = f"{error.reason}. `reconcile approve {finding} --over-limit` approves it anyway"
        message = str(error).removesuffix(".") if isinstance(error, limits.CleaningStopped) else next_step
        super().__init__(f"{finding} was not cleaned: {message}")


class PlanRejected(Refused):
    """A person already rejected this exact plan; nothing was proposed."""

    def __init__(self, finding: str, rejection: Approval) -> None:
        at = f"{rejection.at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S UTC}"
        super().__init__(
            f"{finding} was not approved: {rejection.by} rejected this plan on {at}. "
            f"Nothing was changed. To approve it anyway: `reconcile approve {finding} --overrule`"
        )


class AnotherWentBeyond(Refused):
    """The first of two approvers allowed the plan to exceed limits; the second has to allow it too."""

    def __init__(self, finding: str, rule: str) -> None:
        super().__init__(
            f"{finding} was not approved: the first person let it exceed the limits of rule `{rule}`. To allow that "
            f"too: `reconcile approve {finding} --over-limit`"
        )


class RunUnknown(Wrong):
    """No run has this id."""

    def __init__(self, identifier: str) -> None:
        super().__init__(
            f"Unknown run `{identifier}`; `reconcile runs` lists the runs. The log keeps the entry of an old run that "
            f"changed nothing: `reconcile audit --run {identifier}`"
        )


class RuleDoesNotClean(Refused):
    """The rule of the finding has no `clean:`."""

    def __init__(self, finding: Finding) -> None:
        if_it_may_stay = "If these are not duplicates" if finding.form == DUPLICATE else "If it may stay as it is"
        super().__init__(
            f"Rule {finding.rule!r} of {finding.id} has no `clean`, so it has no plan. "
            f"{if_it_may_stay}: `reconcile dismiss {finding.id}`. If you dealt with it yourself: "
            f"`reconcile handle {finding.id}`. To decide later: `reconcile snooze {finding.id}`"
        )


# Its keeper


class KeeperFixed(Refused):
    """The state of the finding, or of its plan, allows no other keeper."""

    def __init__(self, finding: Finding, state: State) -> None:
        super().__init__(
            f"{finding.id} cannot be given another keeper: {_FIXED[state].format(finding.id)}. Nothing was changed"
        )


class NoKeeper(Refused):
    """The records of the finding have no keeper."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"The records of {finding.id} have no keeper, so none can be chosen. Nothing was changed")


class RecordUnknown(Wrong):
    """The finding has no such record, or several that are called so."""

    def __init__(self, finding: Finding, names: Sequence[str], problem: str) -> None:
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        hint = ""
        if any(MASK in name for name in names):
            hint = f"; `reconcile show {finding.id} --show` shows their ids"
        super().__init__(f"{problem} Its records are {listed(names[:_MOST_NAMED])}{more}{hint}. Nothing was changed")


class RecordsChanged(Refused):
    """The records are no longer those that the person saw."""

    def __init__(self, finding: Finding, reason: Stale) -> None:
        super().__init__(
            f"Nothing was changed for {finding.id}. {reason} Run its job, look at the finding again "
            f"(`reconcile show {finding.id}`), then choose"
        )


class FieldNotChosen(Wrong):
    """The rule's `clean` does not write the field."""

    def __init__(self, rule: Rule, column: str) -> None:
        fields = [name for columns in (rule.clean.choosable if rule.clean else ()) for name in columns]
        rest = f"it merges {listed(fields)}" if fields else "`clean` merges no fields"
        super().__init__(f"Rule `{rule.name}` does not merge `{column}`; {rest}. Nothing was changed")


class FieldsTogether(Wrong):
    """Fields that come from one record were chosen from several."""

    def __init__(self, rule: Rule, columns: Sequence[str]) -> None:
        super().__init__(
            f"Rule `{rule.name}` takes {listed(columns)} from one record, so name the same one. Nothing was changed"
        )


# Pairs


class RuleUnknown(Wrong):
    """No rule has this name."""

    def __init__(self, name: str, names: Sequence[str]) -> None:
        closest = nearest(name, names)
        hint = f"did you mean `{closest}`?" if closest else "`reconcile rules` lists the rules"
        super().__init__(f"Unknown rule `{short(name)}`; {hint}")


class RuleTakesNoJudgement(Refused):
    """The rule's kind does not learn from pairs."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(
            f"Rule `{rule.name}` is of kind `{rule.kind}`, which does not learn from pairs. Nothing was changed; "
            "dismiss its findings instead"
        )


class AnswerUnknown(Wrong):
    """There is no such answer about a pair."""

    def __init__(self, answer: str, answers: Sequence[str]) -> None:
        super().__init__(f"`{short(answer)}` is not an answer about a pair; use {listed(answers)}")


class PairUnknown(Refused):
    """The last run of the rule did not list the pair."""

    def __init__(self, rule: str) -> None:
        super().__init__(
            f"Rule `{rule}` no longer lists this pair: a newer run found others. Nothing was changed; "
            f"`reconcile findings --uncertain --rule {rule}` lists the current pairs"
        )


class RecordNotKnown(Refused):
    """No finding or uncertain pair of the rule has a record of this id, or several have."""

    def __init__(self, rule: str, record: str, *, is_ambiguous: bool) -> None:
        if is_ambiguous:
            reason = f"Several records of rule `{rule}` are called `{short(record)}`; name its dataset too"
        else:
            reason = (
                f"No finding or uncertain pair of rule `{rule}` has a record `{short(record)}`; it may be gone, or the "
                "rule never found it"
            )
        super().__init__(f"{reason}. Nothing was changed")


class SameRecordTwice(Wrong):
    """A pair needs two different records."""

    def __init__(self, rule: str) -> None:
        super().__init__(f"Name two different records of rule `{rule}`; nothing was changed")


class JudgedInFinding(Refused):
    """The decision about a finding says the opposite of the pair."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(
            f"{finding.id} holds both records, and {state_in_words(finding)}, which says otherwise. Nothing was "
            f"changed; `reconcile reopen {finding.id}` takes that back"
        )


class PairOfOneDataset(Refused):
    """The rule pairs records of two datasets, and both records are of one."""

    def __init__(self, rule: str, pair: str, dataset: str) -> None:
        super().__init__(
            f"Rule `{rule}` gives a record one partner, of another dataset, but {pair} are both of `{dataset}`. "
            "Nothing was changed"
        )


class PartnerTaken(Refused):
    """The rule gives a record one partner, and a person named another one."""

    def __init__(self, rule: str, pair: str) -> None:
        super().__init__(
            f"Rule `{rule}` gives a record one partner, but one of {pair} was already judged the same as another "
            f"record. Nothing was changed; `reconcile judge {rule} A B --forget` takes that back"
        )


class PairInHand(Refused):
    """The records are being cleaned."""

    def __init__(self, finding: str) -> None:
        super().__init__(
            f"{finding} holds both records and is being cleaned. Nothing was changed; wait for its cleaning, then undo "
            "it if it was wrong"
        )


class NothingToSplit(Refused):
    """The rule puts records together by one key, so a record cannot be split off."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(
            f"Rule `{finding.rule}` joins its records by one key, so none can be split off {finding.id}. Nothing was "
            f"changed; list the pair under `except`, or dismiss {finding.id}"
        )


# In words


def state_in_words(finding: Finding) -> str:
    by = f" by {finding.decided_by}" if finding.decided_by else ""
    since = f"since {utc_minute(finding.state_since)}"
    match finding.state:
        case State.MERGED:
            return f"its records are part of {finding.merged_into} {since}; decide about that finding"
        case State.RESOLVED:
            return f"it has been resolved {since}: {finding.reason or 'its records no longer match'}"
        case State.SNOOZED:
            end = f"until {utc_minute(finding.snoozed_until)}" if finding.snoozed_until else "until it grows"
            return f"it is already snoozed{by} {end}"
        case State.DISMISSED | State.HANDLED:
            return f"it was already {finding.state.value}{by} on {utc_minute(finding.state_since)}"
    return f"it has been {finding.state.value} {since}"


def utc_minute(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def plan_state(plan: StoredPlan) -> str:
    return plan.state.value.replace("_", " ")
