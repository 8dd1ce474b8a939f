"""The documents of the API: what requests hold, and what answers promise. New versions only add fields.

In the API's description a document has the name of its class without `SUFFIX`.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any

from fastapi import Header
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from reconcile.documents import JsonObject
from reconcile.findings.states import State
from reconcile.people.roles import Role
from rules.models import Duration, Severity

RoleWord = Annotated[str, Field(pattern=f"^({'|'.join(role.word for role in Role)})$")]
Text = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")]
Password = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description=(
            "A key of your own, like an order number or a UUID: repeating the request returns the first answer."
        ),
        min_length=1,
        max_length=200,
        pattern=r"^[!-~]+$",
    ),
]


def _instant(value: Any) -> dt.datetime:
    """Return a time in UTC. Raises ValueError for a number, a day, or a time without its zone or beyond 9999."""
    refusal = ValueError("is not a time with its zone, like 2026-12-01T08:00:00Z")
    try:
        instant = dt.datetime.fromisoformat(value)
        if instant.tzinfo is None:
            raise refusal
        return instant.astimezone(dt.UTC)
    except (TypeError, ValueError, OverflowError):
        raise refusal from None


Instant = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_instant)]


SUFFIX = "Document"


def _title(model: type[Any]) -> str:
    return model.__name__.removesuffix(SUFFIX)


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, model_title_generator=_title)


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", model_title_generator=_title)


class Problem(_Answer):
    """An error as in RFC 9457; `detail` is a sentence that says what is wrong and what to do."""

    title: str
    status: int
    detail: str


IdPart = str | int | float | bool | None
"""A part of a record's id."""


RecordName = Annotated[list[IdPart], Field(max_length=50)] | IdPart
"""A record's id: its parts, or one text or number."""


KeyPart = Annotated[str, StringConstraints(min_length=1, max_length=500)] | int
"""A part of a key."""
Fence = Annotated[int, Field(ge=0, lt=2**63)]


class PairAnswerDocument(_Request):
    """An answer about a pair of the rule: `same`, `not_the_same`, or `forget`, which takes an answer back."""

    rule: Name
    answer: Name
    note: Text | None = None


class DecisionDocument(_Request):
    """A decision about a finding as it was shown: a finding or plan that changed since is not decided.

    `version` is the finding's, `plan_hash` that of its plan, which `approve` needs. `until` ends a snooze, by
    default when the finding grows. `to` is whom the finding is assigned to, null for nobody. `keeper` is the id of the
    record to keep, or to split off, as the finding's `surplus` has it, or as people see it: one text like `A-1 / 7`, or
    one number. A number may be given as a text, and the reverse. `values` names in the same way, by column, the records
    that give the keeper these values; null leaves the value to the rule.
    """

    version: int | None = None
    plan_hash: Name | None = None
    note: Text | None = None
    until: Instant | None = None
    to: Name | None = None
    keeper: RecordName = None
    values: Annotated[dict[Name, RecordName], Field(max_length=500)] = Field(default_factory=dict)


class ShownDocument(_Request):
    """A finding as it was shown."""

    finding: Name
    version: int | None = None
    plan_hash: Name | None = None


class ManyDecisionsDocument(_Request):
    """One decision about up to 200 findings, each checked by itself."""

    decision: Name
    findings: Annotated[list[ShownDocument], Field(min_length=1, max_length=200)]
    note: Text | None = None
    until: Instant | None = None
    to: Name | None = None


class SearchDocument(_Request):
    """What to search for, in findings of these rules, states and at least this severity; by default in all."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    rules: list[Name] = []
    states: list[Annotated[State, Field(strict=False)]] = []
    severity: Annotated[str | None, Field(pattern=f"^({'|'.join(Severity.__members__)})$")] = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class PauseRequestDocument(_Request):
    """The reason for a pause."""

    reason: Text = "no reason given"


class NewUserDocument(_Request):
    """A user to add; without a password only a proxy can sign them in."""

    name: Name
    role: RoleWord = Role.VIEWER.word
    password: Password | None = None
    personal_data: bool = False


class UserRoleDocument(_Request):
    """What to change of a user: the role, the right to see personal data, or both."""

    role: RoleWord | None = None
    personal_data: bool | None = None


class NewPasswordDocument(_Request):
    """A new password; every session of the user ends."""

    password: Password


class NewTokenDocument(_Request):
    """A token to make. `role` is a lesser one than the user's; without `expires` it never expires."""

    name: Name
    user: Name
    role: RoleWord | None = None
    expires: Instant | None = None


class MeDocument(_Answer):
    """The user of the token."""

    name: str
    role: str
    sees_personal: bool


class FindingDocument(_Answer):
    """A finding, with personal data masked; docs/cli.md lists all fields."""

    id: str
    rule: str
    kind: str
    dataset: str
    state: str
    severity: str
    form: str
    key: JsonObject
    records: int
    money: dict[str, str]
    version: int
    first_seen: dt.datetime
    last_seen: dt.datetime


class SearchResultDocument(_Answer):
    """The findings that fit; `more`: there are others."""

    findings: list[FindingDocument]
    more: bool


class FindingsDocument(_Answer):
    """A page of findings: the worst, then the largest amount, then the oldest first.

    `cursor` is that of the next page, null after the last one.
    """

    findings: list[FindingDocument]
    cursor: str | None


class PairDocument(_Answer):
    """Two records that a rule is not sure about, side by side. `evidence` says what speaks for and against."""

    pair: str
    rule: str
    probability: float
    evidence: str
    side_by_side: JsonObject


class PairsDocument(_Answer):
    """The pairs of records that wait for an answer: in each rule those that teach most first."""

    pairs: list[PairDocument]


class FindingDetailDocument(FindingDocument):
    """A finding with its records side by side, its history, and the plan that waits, if one does."""

    side_by_side: JsonObject
    history: list[JsonObject]


class DecidedDocument(_Answer):
    """What became of a decision; `changed` is false if it was so already."""

    finding: str
    changed: bool
    sentence: str


class JudgedDocument(_Answer):
    """What became of an answer about a pair; `changed` is false if it was so already."""

    pair: str
    changed: bool
    sentence: str


class DecidedFindingDocument(_Answer):
    """What became of one of many decisions: `decided`, `unchanged` or `not_done`."""

    finding: str
    status: str
    sentence: str


class ManyDecidedDocument(_Answer):
    """What became of many decisions."""

    decided: int
    unchanged: int
    not_done: int
    findings: list[DecidedFindingDocument]


class RuleDocument(_Answer):
    """A rule with the numbers of its findings and what people decided about them."""

    rule: str
    kind: str
    severity: str
    waiting: int
    confirmed: int
    rejected: int
    precision: float | None


class RulesDocument(_Answer):
    """The rules of the configuration, those with the most waiting findings first."""

    rules: list[RuleDocument]


class RunDocument(_Answer):
    """A run of a job for a slot."""

    run: str
    job: str
    slot: str
    status: str


class RunsDocument(_Answer):
    """The latest runs, newest first."""

    runs: list[RunDocument]


class RunDetailDocument(RunDocument):
    """A run with the results of its rules."""

    rules: list[JsonObject]


class JobDocument(_Answer):
    """A job: when it is due, whether it runs, and its last success."""

    job: str
    state: str
    next: str | None
    due: list[str]
    last_success: str | None
    paused: str | None


class JobsDocument(_Answer):
    """The jobs of the configuration."""

    jobs: list[JobDocument]


class RequestedDocument(_Answer):
    """A requested run; `new` is false if one was requested with this key before."""

    job: str
    run: str
    slot: str
    status: str
    new: bool


class JobChangedDocument(_Answer):
    """A job that was paused or resumed; `changed` is false if it was so already."""

    job: str
    changed: bool


class AuditEntryDocument(_Answer):
    """An entry of the audit log."""

    seq: int
    at: dt.datetime
    actor: str
    event: str
    head: str


class AuditEntriesDocument(_Answer):
    """Entries, newest first; `before` continues them, null at the end."""

    entries: list[AuditEntryDocument]
    before: int | None


class UserDocument(_Answer):
    """A user. `password` is true if they sign in with one, false if a proxy signs them in."""

    user: str
    role: str
    personal_data: bool
    disabled: bool
    password: bool


class UsersDocument(_Answer):
    """All users, by name."""

    users: list[UserDocument]


class UserChangedDocument(UserDocument):
    """The user after a request; `changed` is false if it was so already."""

    changed: bool


class TokenDocument(_Answer):
    """A token, without its secret."""

    name: str
    user: str
    role: str
    expires_at: dt.datetime | None
    used_at: dt.datetime | None


class TokensDocument(_Answer):
    """All tokens, by user and name."""

    tokens: list[TokenDocument]


class TokenMadeDocument(TokenDocument):
    """A new token. `secret` is what a program sends; it is null if the request is a repeated one."""

    secret: str | None


class TokenRevokedDocument(_Answer):
    """A token that was revoked."""

    name: str
    revoked: bool


class PlanUnderWayDocument(_Answer):
    """A plan in flight or in quarantine. `keys` is the number of its operations that were sent."""

    plan: str
    finding: str
    rule: str
    source: str
    action: str
    state: str
    keys: int
    attempts: int
    reason: str | None
    next_at: dt.datetime | None


class BreakerDocument(_Answer):
    """A circuit breaker; `source` is null for a target that is no longer known."""

    source: str | None
    state: str
    failures: int
    reason: str | None
    since: dt.datetime | None
    probe_at: dt.datetime | None


class OperationTimesDocument(_Answer):
    """Operations that ended within a window, with percentiles of the seconds of the succeeded ones' last attempts."""

    window: str
    source: str
    action: str
    ended: int
    failed: int
    retried: int
    p50: float | None
    p95: float | None
    p99: float | None


class EffectsDocument(_Answer):
    """What cleaning does now, and how long it took. `plans` are numbers by state, `keys` those of operations."""

    plans: dict[str, int]
    keys: dict[str, int]
    in_flight: list[PlanUnderWayDocument]
    quarantined: list[PlanUnderWayDocument]
    breakers: list[BreakerDocument]
    pauses: list[JsonObject]
    operations: list[OperationTimesDocument]


class ClaimDocument(_Request):
    """A claim: `key` names the thing, by one part or several, and `payload` is what is asked for.

    `by` names the claimer, such as an execution of a workflow: repeating its claim returns the same answer. `lease` is
    a duration like 30s; by default that of the namespace.
    """

    namespace: Name
    key: KeyPart | Annotated[list[KeyPart], Field(min_length=1, max_length=20)]
    payload: Any = None
    lease: Annotated[Duration, Field(strict=False)] | None = None
    by: Name | None = None


class CompleteDocument(_Request):
    """The end of a claim, whose `fence` the claim's answer had; repeats of the claim get the result."""

    fence: Fence
    result: Any = None


class FailDocument(_Request):
    """The end of a claim whose work was certainly not done."""

    fence: Fence
    reason: Text = "no reason given"


class RenewDocument(_Request):
    """A longer lease for a claim, from now on."""

    fence: Fence
    lease: Annotated[Duration, Field(strict=False)] | None = None


class KeyReasonDocument(_Request):
    """Why a person changes a key."""

    reason: Annotated[Text, StringConstraints(min_length=1)]


class ClaimAnswerDocument(_Answer):
    """`answer` is yours (do the work, then complete the key with the `fence`), in_progress (until `until`, in so many
    `seconds`), or done (with the `result`). After `attempt` 1, an earlier claim may have done the work."""

    answer: str
    namespace: str
    key: str
    fence: int | None
    attempt: int | None
    until: Instant | None
    seconds: float | None
    result: Any


class KeyDocument(_Answer):
    """A claimed key, without its result. `seconds` are left of the lease of one in progress."""

    key: str
    namespace: str
    state: str
    attempts: int
    refusals: int
    claimed_by: str
    until: Instant | None
    seconds: float | None
    created: Instant
    changed: Instant
    kept_until: Instant
    result_bytes: int
    reason: str | None


class KeysDocument(_Answer):
    """A page of keys. `cursor` is that of the next page, null after the last one."""

    keys: list[KeyDocument]
    cursor: str | None
