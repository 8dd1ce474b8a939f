"""The tables of the store. Instants are UTC; canonical JSON names a record; texts for people are plain.

The migrations build the same tables: a test compares the two on both databases.
"""

from __future__ import annotations

import sqlalchemy as sa

from reconcile.store.columns import Instant, Json, OrderedJson, Word

REVISION = "0023"
"""The schema this program reads and writes. Revisions are counted, so that they compare as text."""
FIRST_REVISION = "0019"
"""The first schema whose states migrate; states of earlier ones were made by development versions."""

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

meta = sa.Table(
    "meta",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.CheckConstraint("id = 1", name="one_row"),
    sa.Column("store_id", Word, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("revision", Word, nullable=False),
    sa.Column("key_check", Word, nullable=False),  # proves that the key file at hand is this store's
    sa.Column("created_at", Instant, nullable=False),
)
"""One row: the identity of this store. `epoch` rises when a store is recovered from a backup."""

releases = sa.Table(
    "releases",
    metadata,
    sa.Column("hash", Word, primary_key=True),
    sa.Column("config", Json, nullable=False),
    sa.Column("first_seen", Instant, nullable=False),
    sa.Column("files", Json),
)
"""Every configuration that ever ran, secrets redacted, by its content hash.

`files` are its texts with variables unresolved, pairs of path and text, the main one first; null if one contains a
secret in clear text.
"""

promotion = sa.Table(
    "promotion",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.CheckConstraint("id = 1", name="one_row"),
    sa.Column("release", Word, sa.ForeignKey("releases.hash"), nullable=False),
    sa.Column("held", sa.Boolean, nullable=False),
    sa.Column("since", Instant, nullable=False),
    sa.Column("by", Word, nullable=False),
    sa.Column("note", sa.Text),
)
"""One row: the release that new runs take. `held`: only a person's promotion changes it."""

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", Word, primary_key=True),
    sa.Column("job", Word, nullable=False),
    sa.Column("slot", Instant, nullable=False),
    sa.Column("release", Word, sa.ForeignKey("releases.hash"), nullable=False),
    sa.Column("trigger", Word, nullable=False),  # manual | rules | slot | schedule | after | file | request
    sa.Column("status", Word, nullable=False),  # running | succeeded | failed
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("fence", sa.BigInteger, nullable=False),
    sa.Column("started", Instant, nullable=False),
    sa.Column("finished", Instant),
    sa.Column("summary", Json),
    sa.UniqueConstraint("job", "slot"),
    sa.Index(None, "job", "status", "fence"),
    sa.Index(None, "started"),
    sa.Index(None, "job", "started"),
)
"""One row per job and slot; `attempt` counts its starts, `fence` is the lease it runs under.

Fences of a job's lease only rise, so they order its runs even if the clock was set back.
"""

unchanged_runs = sa.Table(
    "unchanged_runs",
    metadata,
    sa.Column("job", Word, primary_key=True),
    sa.Column("day", Word, primary_key=True),  # of their slots, in UTC: 2026-11-21
    sa.Column("release", Word, sa.ForeignKey("releases.hash"), primary_key=True),
    sa.Column("runs", sa.Integer, nullable=False),
    sa.Column("slots", Json, nullable=False),  # see reconcile.store.unchanged_runs
    sa.Column("first_slot", Instant, nullable=False),
    sa.Column("last_slot", Instant, nullable=False),
    sa.Column("started", Instant, nullable=False),
    sa.Column("finished", Instant, nullable=False),
    sa.Column("summary", Json, nullable=False),
)
"""Old runs that changed nothing, one row a day instead of one a run: their exact slots, the start of the first, the end
of the last, and the counts of the one with the latest slot.
"""

schedules = sa.Table(
    "schedules",
    metadata,
    sa.Column("job", Word, primary_key=True),
    sa.Column("revision", Word, nullable=False),  # hash of the settings that decide its due times
    sa.Column("since", Instant, nullable=False),
    sa.Column("watermark", Instant, nullable=False),
)
"""A job's last seen schedule: no slot is due before `since`, and `slots` has all up to `watermark`."""

slots = sa.Table(
    "slots",
    metadata,
    sa.Column("job", Word, primary_key=True),
    sa.Column("slot", Instant, primary_key=True),
    sa.Column("cause", Word, nullable=False),  # schedule:2026-11-21T06:15/0 | after:run1_… | file:… | request:…
    sa.Column("tzdata", Word),  # time zone data that converted the local time to an instant
    sa.Column("status", Word, nullable=False),  # due | running | succeeded | failed | missed
    sa.Column("reason", sa.Text),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("start_at", Instant, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("sources", Json, nullable=False),
    sa.Column("owner", Json),
    sa.Column("fence", sa.BigInteger, nullable=False),
    sa.Column("lease_until", Instant, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("ended_at", Instant),
    sa.UniqueConstraint("job", "cause"),
    sa.Index(None, "status", "start_at"),
    sa.Index(None, "job", "status", "slot"),
)
"""Every due time of every job, run or not. `cause` made it due, at most once per job; `start_at` is when it may start:
with its jitter, or its next attempt. `owner` and `fence` are those of the process that executes its run.
"""

awaited = sa.Table(
    "awaited",
    metadata,
    sa.Column("job", Word, primary_key=True),
    sa.Column("other", Word, primary_key=True),
    sa.Column("fence", sa.BigInteger, nullable=False),
)
"""For a job that runs `after` others: the fence of the last answered success of each; only later ones count."""

watches = sa.Table(
    "watches",
    metadata,
    sa.Column("job", Word, primary_key=True),
    sa.Column("dataset", Word, primary_key=True),
    sa.Column("digest", Word),
    sa.Column("seen_at", Instant, nullable=False),
    sa.Column("pending", Word),
    sa.Column("pending_since", Instant),
)
"""The files of a watched dataset (names, sizes, times) as they were when a run was last made due for them.

`digest` is null until a file exists. `pending` is their state since `pending_since`: perhaps still being written.
"""

pauses = sa.Table(
    "pauses",
    metadata,
    sa.Column("subject", Word, primary_key=True),  # everything | job:nightly
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("by", Word, nullable=False),
    sa.Column("since", Instant, nullable=False),
    sa.Column("until", Instant),
)
"""Pauses set by people; a pause ends at `until`, or when a person ends it."""

troubles = sa.Table(
    "troubles",
    metadata,
    sa.Column("subject", Word, primary_key=True),  # configuration | clock | job:nightly | late:nightly
    sa.Column("job", Word),
    sa.Column("sentence", sa.Text, nullable=False),
    sa.Column("since", Instant, nullable=False),
    sa.Column("channels", Json, nullable=False),
)
"""Problems with Reconcile itself: reported once at the beginning (the row) and once at the end (its delete).

`channels` were notified of the beginning, and will be notified of the end.
"""

expectations = sa.Table(
    "expectations",
    metadata,
    sa.Column("job", Word, primary_key=True),
    sa.Column("since", Instant),
)
"""Jobs that must succeed within a time, counted from their last success or `since`, whichever is later.

`since` is null while the job is paused.
"""

clock = sa.Table(
    "clock",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.CheckConstraint("id = 1", name="one_row"),
    sa.Column("wall", Instant, nullable=False),
    sa.Column("boot", Word, nullable=False),
    sa.Column("boot_ns", sa.BigInteger, nullable=False),
    sa.Column("held_since", Instant),
    sa.Column("held_from", Instant),
)
"""One row: the time at the scheduler's last tick, by the store's clock and by the host's monotonic clock.

`held_since`: the two disagreed then, and work that depends on dates waits for a person; `held_from` is the time before.
"""

run_rules = sa.Table(
    "run_rules",
    metadata,
    sa.Column("run", Word, sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("rule", Word, primary_key=True),
    sa.Column("status", Word, nullable=False),  # done | failed
    sa.Column("outcome", Json, nullable=False),
    sa.Column("finished", Instant, nullable=False),
)
"""The checkpoints of a run: a rule with a row here is not run again when the run is resumed."""

leases = sa.Table(
    "leases",
    metadata,
    sa.Column("name", Word, primary_key=True),
    sa.Column("owner", Json),
    sa.Column("fence", sa.BigInteger, nullable=False),
    sa.Column("lease_until", Instant, nullable=False),
    sa.Column("taken_at", Instant, nullable=False),
)
"""The right to write for a name. `owner` is null after release; `fence` rises with every take-over and never falls."""

rule_state = sa.Table(
    "rule_state",
    metadata,
    sa.Column("rule", Word, primary_key=True),
    sa.Column("definition", Word, nullable=False),  # hash of what it matches
    sa.Column("first_run", Word, sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("first_run_at", Instant, nullable=False),
    sa.Column("last_run", Word, sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("last_run_at", Instant, nullable=False),
    sa.Column("renamed_from", Word),
    sa.Column("cleaning", Word),  # its binding in its target, once a run fully reported it; null: none did
)
"""The state of a rule besides its findings."""

dataset_stats = sa.Table(
    "dataset_stats",
    metadata,
    sa.Column("dataset", Word, primary_key=True),
    sa.Column("rule", Word, primary_key=True),
    sa.Column("run", Word, sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("at", Instant, nullable=False),
    sa.Column("read", sa.BigInteger, nullable=False),
    sa.Column("scanned", sa.BigInteger, nullable=False),
    sa.Column("skipped", sa.BigInteger, nullable=False),
    sa.Column("groups", sa.BigInteger, nullable=False),
    sa.Index(None, "dataset", "rule", "at"),
)
"""How many records each run saw: full yesterday and empty or unreadable today is a failure, not "clean"."""

watermarks = sa.Table(
    "watermarks",
    metadata,
    sa.Column("rule", Word, primary_key=True),
    sa.Column("version", Word, nullable=False),  # hash of the rule and its dataset
    sa.Column("mark", Json, nullable=False),
    sa.Column("run", Word, nullable=False),
    sa.Column("full_slot", Instant, nullable=False),
    sa.Column("increments", sa.Integer, nullable=False),
    sa.Column("missed", sa.Integer, nullable=False),
)
"""The position up to which a rule's findings are current: its source's `mark`, as `run` read it.

`full_slot` is the slot of the last full run, which found `missed` findings that the incremental runs before it had not;
`increments` counts those since.
"""

remembered = sa.Table(
    "remembered",
    metadata,
    sa.Column("rule", Word, primary_key=True),
    sa.Column("name", Word, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("dataset", Word, nullable=False, index=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
"""What a rule remembers of all records at its watermark, by name, in numbered parts; see `store.remembered`."""

failures = sa.Table(
    "failures",
    metadata,
    sa.Column("job", Word, primary_key=True),
    sa.Column("subject", Word, primary_key=True),  # a source, a rule, a channel
    sa.Column("sentence", sa.Text, nullable=False),
    sa.Column("since", Instant, nullable=False),
    sa.Column("first_run", Word, sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("last_run", Word, sa.ForeignKey("runs.id"), nullable=False),
)
"""Current failures of checks: reported once at the start (the row) and once at the end (its delete)."""

findings = sa.Table(
    "findings",
    metadata,
    sa.Column("id", Word, primary_key=True),
    sa.Column("fingerprint", Word, nullable=False, index=True),
    sa.Column("rule", Word, nullable=False),
    sa.Column("kind", Word, nullable=False),
    sa.Column("dataset", Word, nullable=False),
    sa.Column("state", Word, nullable=False),
    sa.Column("severity", sa.Integer, nullable=False),  # rules.models.Severity
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("key", Json, nullable=False),
    sa.Column("payload", Json, nullable=False),
    sa.Column("money", Json, nullable=False),
    sa.Column("records", sa.Integer, nullable=False),
    sa.Column("first_run", Word, sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("first_seen", Instant, nullable=False),
    sa.Column("last_run", Word, sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("last_seen", Instant, nullable=False),
    sa.Column("state_since", Instant, nullable=False),
    sa.Column("snoozed_until", Instant),
    sa.Column("assigned_to", Word, index=True),
    sa.Column("decided_by", Word),
    sa.Column("note", sa.Text),
    sa.Column("merged_into", Word, sa.ForeignKey("findings.id")),
    sa.Column("digest", Word),  # of its group, where only this finding can continue it; see reconcile.runs.recognition
    sa.Column("amount_rank", sa.Double, nullable=False, server_default=sa.text("0")),
    sa.Column("probability", sa.Double),
    sa.Index(None, "rule", "state", "severity", "amount_rank", "first_seen", "id"),
    sa.Index(None, "state", "severity", "amount_rank", "first_seen", "id"),
)
"""One group of records over its whole life. `version` rises with every change that is reported.

`amount_rank` is minus its largest amount, so that rows in ascending order begin with the largest. `probability` is that
of its weakest link, null where the rule estimates none.
"""

_BY_PROBABILITY = sa.Index(
    "ix_findings_state_probability_first_seen_id",
    *(findings.c.state, findings.c.probability, findings.c.first_seen, findings.c.id),
)


@sa.event.listens_for(findings, "before_create")
def _leave_out_improbable(_table: object, connection: sa.Connection, **_options: object) -> None:
    """Add the condition of the index: known before, it would load every dialect that it names."""
    _BY_PROBABILITY.dialect_kwargs[f"{connection.dialect.name}_where"] = findings.c.probability.is_not(None)


WORST_FIRST = (findings.c.severity.desc(), findings.c.amount_rank, findings.c.first_seen, findings.c.id)
"""The order of findings in every list: by severity, then the largest amount, then the oldest."""
LEAST_PROBABLE_FIRST = (findings.c.probability, findings.c.first_seen, findings.c.id)
"""The order of findings with a probability where a person asks for it."""

finding_aliases = sa.Table(
    "finding_aliases",
    metadata,
    sa.Column("fingerprint", Word, primary_key=True),
    sa.Column("finding", Word, sa.ForeignKey("findings.id"), nullable=False, index=True),
    sa.Column("since", Instant, nullable=False),
)
"""Every fingerprint a finding ever had, including the present one."""

finding_members = sa.Table(
    "finding_members",
    metadata,
    sa.Column("finding", Word, sa.ForeignKey("findings.id"), primary_key=True),
    sa.Column("record", Word, primary_key=True, index=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("role", Word, nullable=False),  # keeper | surplus
    sa.Column("values", Json, nullable=False),
    sa.Column("first_seen", Instant, nullable=False),
    sa.Column("settled_at", Instant),
    sa.Column("chosen_by", Word),
    sa.Column("chosen_at", Instant),
    sa.Column("gives", Json),
)
"""The records of a finding, keeper first. `settled_at`: a decision covers this record already.

`chosen_by`: who chose this record as the keeper; `role` and `position` stay what the rule says. `gives`: the fields
that a person chose to take from this record, see `findings.chosen_values`.
"""

not_same = sa.Table(
    "not_same",
    metadata,
    sa.Column("rule", Word, primary_key=True),
    sa.Column("record_a", Word, primary_key=True),
    sa.Column("record_b", Word, primary_key=True),
    sa.Column("values_a", Json, nullable=False),
    sa.Column("values_b", Json, nullable=False),
    sa.Column("finding", Word, sa.ForeignKey("findings.id"), index=True),
    sa.Column("decided_by", Word, nullable=False),
    sa.Column("decided_at", Instant, nullable=False),
    sa.Column("note", sa.Text),
    sa.Column("decision", Word),  # null: judged to be different | handled | same
    sa.Column("pair", Word, unique=True),
    sa.Column("kind", Word),
    sa.Column("dataset", Word),
    sa.CheckConstraint("record_a < record_b", name="ordered"),
    sa.Index(None, "rule", "record_b"),
)
"""Pairs that people judged, with the normalised values at that time: different, handled outside Reconcile, or the same.

A pair that was judged by itself has no `finding`, but a name, `pair`, and the kind and first dataset of its rule.
"""

uncertain_pairs = sa.Table(
    "uncertain_pairs",
    metadata,
    sa.Column("pair", Word, primary_key=True),
    sa.Column("rule", Word, nullable=False, index=True),
    sa.Column("kind", Word, nullable=False),
    sa.Column("dataset", Word, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("record_a", Word, nullable=False),
    sa.Column("record_b", Word, nullable=False),
    sa.Column("values_a", Json, nullable=False),
    sa.Column("values_b", Json, nullable=False),
    sa.Column("probability", Word, nullable=False),  # a decimal number
    sa.Column("evidence", sa.Text, nullable=False),  # words of ours, and names of columns
    sa.Column("found_at", Instant, nullable=False),
)
"""The pairs of records whose judgement would teach a rule most, as its last run found them, in their order.

`dataset` is the first of the rule. The values are those of the columns that a finding would show.
"""

plans = sa.Table(
    "plans",
    metadata,
    sa.Column("id", Word, primary_key=True),
    sa.Column("finding", Word, sa.ForeignKey("findings.id"), nullable=False, index=True),
    sa.Column("rule", Word, nullable=False),
    sa.Column("dataset", Word, nullable=False),
    sa.Column("source", Word, nullable=False),
    sa.Column("target", Word, nullable=False),  # identity of the target, not its address
    sa.Column("action", Word, nullable=False),
    sa.Column("run", Word, sa.ForeignKey("runs.id"), index=True),  # null: planned by a person
    sa.Column("release", Word, sa.ForeignKey("releases.hash"), nullable=False),
    sa.Column("plan_hash", Word, nullable=False),
    sa.Column("undoes", Word, sa.ForeignKey("plans.id"), index=True),
    sa.Column("state", Word, nullable=False),  # reconcile.findings.states.PlanState
    sa.Column("reason", sa.Text),
    sa.Column("content", sa.Text),  # changes with their before-images; sealed where a key is configured; null: purged
    sa.Column("outcome", sa.Text),  # the rows as they were in the end; like content
    sa.Column("summary", Json, nullable=False),
    sa.Column("records", sa.Integer, nullable=False),
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("money", Json, nullable=False),
    sa.Column("reversible", Word, nullable=False),  # yes | window | no
    sa.Column("policy", Word, nullable=False),  # none | required | two_person
    sa.Column("proposed_by", Word, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("expires_at", Instant),
    sa.Column("fence", sa.BigInteger, nullable=False),
    sa.Column("owner", Json),
    sa.Column("lease_until", Instant, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_at", Instant, nullable=False),
    sa.Column("give_up_at", Instant),
    sa.Column("transaction", Word),
    sa.Column("sent_at", Instant),
    sa.Column("ended_at", Instant),
    sa.Index(None, "state", "source", "next_at", "id"),
    sa.Index(None, "rule", "state"),
)
"""The plan for a group and its outcome: approved, executed and undone as a whole. `plan_hash` is the hash of `content`.

`fence` rises with every claim; a worker writes only while its fence is current. `transaction` is the target's name
for the transaction of the last attempt, where receipts cannot be stored.
"""

effects = sa.Table(
    "effects",
    metadata,
    sa.Column("key", Word, primary_key=True),
    sa.Column("plan", Word, sa.ForeignKey("plans.id"), nullable=False, index=True),
    sa.Column("target", Word, nullable=False),
    sa.Column("effect", Word, nullable=False),
    sa.Column("record", Word, nullable=False),  # HMAC of the record's name: the row outlives what may be erased
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("fingerprint", Word, nullable=False),  # bound when first sent, and again after a proven failure
    sa.Column("state", Word, nullable=False),  # of its plan: reconcile.findings.states
    sa.Column("outcome_unknown", sa.Boolean, nullable=False),  # abandoned with unknown outcome: never free again
    sa.Column("sent_at", Instant, nullable=False),
    sa.Column("ended_at", Instant),
    sa.Index(None, "record", "target", "effect"),
    sa.Index(None, "ended_at"),
)
"""The journal of operations: one row per idempotency key, created when first sent, kept forever as a tombstone."""

holds = sa.Table(
    "holds",
    metadata,
    sa.Column("target", Word, primary_key=True),
    sa.Column("record", Word, primary_key=True),
    sa.Column("plan", Word, sa.ForeignKey("plans.id"), primary_key=True, index=True),
    sa.Column("role", Word, nullable=False),  # keeper | surplus
    sa.Column("since", Instant, nullable=False),
)
"""Records claimed by cleanings, by table and id; a record may be keeper of several, but never keeper and surplus."""

approvals = sa.Table(
    "approvals",
    metadata,
    sa.Column("plan", Word, sa.ForeignKey("plans.id"), primary_key=True),
    sa.Column("by", Word, primary_key=True),
    sa.Column("decision", Word, nullable=False),  # approved | rejected
    sa.Column("plan_hash", Word, nullable=False),
    sa.Column("at", Instant, nullable=False),
    sa.Column("note", sa.Text),
    sa.Index(None, "plan_hash"),
)
"""Decisions of people on plans."""

limits = sa.Table(
    "limits",
    metadata,
    sa.Column("scope", Word, primary_key=True),  # rule:double-charge | target:postgresql:…
    sa.Column("stopped_at", Instant),
    sa.Column("reason", sa.Text),
    sa.Column("counted_at", Instant),
    sa.Column("day_records", sa.BigInteger, nullable=False),
    sa.Column("day_money", Json, nullable=False),
    sa.Column("run", Word),
    sa.Column("run_records", sa.BigInteger, nullable=False),
    sa.Column("run_money", Json, nullable=False),
)
"""One row per limited rule or target: locked while a use is counted. `stopped_at`: cleaning waits for a person.

It stores the sums of uses in the 24 hours before `counted_at`, and in `run`, so that they are not computed each time.
"""

limit_uses = sa.Table(
    "limit_uses",
    metadata,
    sa.Column("plan", Word, sa.ForeignKey("plans.id"), primary_key=True),
    sa.Column("rule", Word, nullable=False),
    sa.Column("target", Word, nullable=False),
    sa.Column("run", Word),
    sa.Column("at", Instant, nullable=False),
    sa.Column("records", sa.Integer, nullable=False),
    sa.Column("money", Json, nullable=False),
    sa.Index(None, "rule", "at"),
    sa.Index(None, "target", "at"),
    sa.Index(None, "run", "rule"),
)
"""The use of limits by each plan, with its time; deleted when the plan is proven not done."""

breakers = sa.Table(
    "breakers",
    metadata,
    sa.Column("target", Word, primary_key=True),
    sa.Column("state", Word, nullable=False),  # closed | open | half_open
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("requests", Json, nullable=False),  # [minute, calls, retries]; retries may be 10 % of calls
    sa.Column("opened_at", Instant),
    sa.Column("probe_at", Instant),
    sa.Column("fence", sa.BigInteger, nullable=False),
    sa.Column("reason", sa.Text),
)
"""One row per target, shared by all workers: while open, nothing is sent to it until a probe succeeds."""

targets = sa.Table(
    "targets",
    metadata,
    sa.Column("identity", Word, primary_key=True),
    sa.Column("source", Word, nullable=False),
    sa.Column("ratchet", sa.BigInteger, nullable=False),
    sa.Column("confirmed", sa.BigInteger, nullable=False),  # the ratchet that the target certainly has, or a later one
    sa.Column("first_seen", Instant, nullable=False),
    sa.Column("moved_at", Instant, nullable=False),
)
"""Every database that was ever cleaned, with a number that rises here and there once per run, to detect restores."""

dataset_schemas = sa.Table(
    "dataset_schemas",
    metadata,
    sa.Column("dataset", Word, primary_key=True),
    sa.Column("rule", Word, primary_key=True),
    sa.Column("digest", Word, nullable=False),
    sa.Column("facts", Json, nullable=False),
    sa.Column("at", Instant, nullable=False),
)
"""The shape of a dataset when a rule last cleaned it: a missing or emptied column stops the cleaning."""

record_ids = sa.Table(
    "record_ids",
    metadata,
    sa.Column("dataset", Word, primary_key=True),
    sa.Column("columns", Json, nullable=False),
    sa.Column("types", Json, nullable=False),
    sa.Column("at", Instant, nullable=False),
)
"""The columns of a dataset's id and their types, by which the records in its findings are named."""

checkpoints = sa.Table(
    "checkpoints",
    metadata,
    sa.Column("seq", sa.BigInteger, sa.ForeignKey("audit.seq"), primary_key=True, autoincrement=False),
    sa.Column("epoch", sa.Integer, nullable=False),  # the store's when it was signed
    sa.Column("head", Word, nullable=False),
    sa.Column("at", Instant, nullable=False),
    sa.Column("signer", Word, nullable=False),  # the public key, in hex
    sa.Column("signature", Word, nullable=False),
)
"""Signed heads of the audit log."""

anchors = sa.Table(
    "anchors",
    metadata,
    sa.Column("anchor", Word, primary_key=True),  # its name in the configuration
    sa.Column("seq", sa.BigInteger, sa.ForeignKey("checkpoints.seq"), primary_key=True, autoincrement=False),
    sa.Column("status", Word, nullable=False),  # due | written | failed
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_at", Instant, nullable=False),
    sa.Column("at", Instant),
    sa.Column("receipt", Json),
    sa.Column("problem", sa.Text),
    sa.Index(None, "status", "next_at"),
)
"""Checkpoints written to anchors, with their status."""

erasures = sa.Table(
    "erasures",
    metadata,
    sa.Column("id", Word, primary_key=True),
    sa.Column("at", Instant, nullable=False),
    sa.Column("by", Word, nullable=False),
    sa.Column("seq", sa.BigInteger, sa.ForeignKey("audit.seq"), nullable=False),
    sa.Column("subjects", Json, nullable=False),  # HMACs of the records and values, so that it can be done again
    sa.Column("reached", Json, nullable=False),
)
"""Erasures, without the erased data: applied again after a restore."""

outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("message", Word, primary_key=True),
    sa.Column("channel", Word, nullable=False),
    sa.Column("job", Word, nullable=False),
    sa.Column("run", Word, sa.ForeignKey("runs.id"), index=True),
    sa.Column("notice", OrderedJson, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("status", Word, nullable=False),  # queued | sending | sent | failed | unknown | dropped | merged
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("queued_at", Instant, nullable=False),
    sa.Column("next_at", Instant, nullable=False),
    sa.Column("give_up_at", Instant, nullable=False),
    sa.Column("fence", sa.BigInteger, nullable=False),
    sa.Column("owner", Json),
    sa.Column("lease_until", Instant, nullable=False),
    sa.Column("outcome_unknown", sa.Boolean, nullable=False),
    sa.Column("problem", sa.Text),
    sa.Column("receipt", Json),
    sa.Column("sent_at", Instant),
    sa.Column("held", Word),  # digest | quiet_hours | throttle
    sa.Column("shown", Word),
    sa.Column("shown_at", Instant),
    sa.Column("updates", sa.Integer),
    sa.Index(None, "status", "next_at"),
)
"""Messages to people, with their facts. `outcome_unknown`: a send began, but its outcome is unknown.

`receipt` before a message is sent: the receipt of its first part, which arrived. `held`: the setting of its channel by
which it waits until `next_at`. A held message is `merged` when a later one of its job says the same and more.

`shown` identifies what a sent message that can be updated shows of its findings, as of `shown_at`; `updates` counts
failed attempts since. Its owner, lease and fence are those of an update then.
"""

shown_findings = sa.Table(
    "shown_findings",
    metadata,
    sa.Column("message", Word, sa.ForeignKey("outbox.message"), primary_key=True),
    sa.Column("finding", Word, sa.ForeignKey("findings.id"), primary_key=True),
    sa.Index(None, "finding"),
)
"""The findings that a message shows and keeps up to date."""

presses = sa.Table(
    "presses",
    metadata,
    sa.Column("id", Word, primary_key=True),
    sa.Column("channel", Word, nullable=False),
    sa.Column("press", Json, nullable=False),
    sa.Column("signature", Word),
    sa.Column("received_at", Instant, nullable=False),
    sa.Column("status", Word, nullable=False),  # due | working | done | refused
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_at", Instant, nullable=False),
    sa.Column("fence", sa.BigInteger, nullable=False),
    sa.Column("owner", Json),
    sa.Column("lease_until", Instant, nullable=False),
    sa.Column("answer", sa.Text),
    sa.Index(None, "status", "next_at"),
    sa.Index(None, "received_at"),
)
"""Presses of buttons in messages, each once whatever the chat delivers. `signature` is that of its first delivery."""

keyed_requests = sa.Table(
    "keyed_requests",
    metadata,
    sa.Column("user", Word, primary_key=True),
    sa.Column("key", Word, primary_key=True),
    sa.Column("digest", Word, nullable=False),
    sa.Column("received_at", Instant, nullable=False),
    sa.Column("answer", Json),
    sa.Index(None, "received_at"),
)
"""Requests with an idempotency key that changed something, each key once for a user. `digest` is of the request;
`answer` is null until it was carried out.
"""

guarded_keys = sa.Table(
    "guarded_keys",
    metadata,
    sa.Column("key", Word, primary_key=True),  # an HMAC of the namespace and the key in clear
    sa.Column("namespace", Word, nullable=False),
    sa.Column("state", Word, nullable=False),  # reconcile.store.guarded_keys.KeyState
    sa.Column("payload", Word, nullable=False),  # an HMAC of what is asked for
    sa.Column("fence", sa.BigInteger, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("refusals", sa.Integer, nullable=False),
    sa.Column("claimed_by", Word, nullable=False),
    sa.Column("lease_until", Instant, nullable=False),
    sa.Column("lease_boot", Word),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("changed_at", Instant, nullable=False),
    sa.Column("keep_until", Instant, nullable=False),
    sa.Column("result", Json),
    sa.Column("reason", sa.Text),
    sa.Index(None, "state", "keep_until", "key"),
)
"""What programs claimed to do once, by its key. `fence` rises with every claim and is never used again, even after the
row was deleted. `attempts` counts claims, `refusals` those with another payload. `lease_boot` is the end of the lease
by the host's clock since boot (SQLite). `reason` says why the work was not done, or why a person changed the key.
"""

guard_counts = sa.Table(
    "guard_counts",
    metadata,
    sa.Column("namespace", Word, primary_key=True),
    sa.Column("event", Word, primary_key=True),  # reconcile.guard.counts.EVENTS
    sa.Column("count", sa.BigInteger, nullable=False),
)
"""How often each thing happened to the keys of a namespace, in all processes."""

notified = sa.Table(
    "notified",
    metadata,
    sa.Column("finding", Word, sa.ForeignKey("findings.id"), primary_key=True),
    sa.Column("channel", Word, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("message", Word, sa.ForeignKey("outbox.message"), nullable=False),
    sa.Column("at", Instant, nullable=False),
    sa.Column("before_version", sa.Integer),
    sa.Column("before_message", Word),
    sa.Column("before_at", Instant),
)
"""The version of a finding last sent to each channel, and its message.

`before_…` is the same of the message before, which counts again if this one is not sent.
"""

cleaning_news = sa.Table(
    "cleaning_news",
    metadata,
    sa.Column("plan", Word, sa.ForeignKey("plans.id"), primary_key=True),
    sa.Column("rule", Word, nullable=False),
    sa.Column("what", Word, nullable=False),  # reconcile.store.cleaning_news.What
    sa.Column("run", Word),
    sa.Column("at", Instant, nullable=False),
)
"""Outcomes of plans that no message reported yet: written with the fact, deleted with the message."""

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", Instant, nullable=False),
    sa.Column("actor", Word, nullable=False),
    sa.Column("event", Word, nullable=False),
    sa.Column("subject", Word, nullable=False, index=True),
    sa.Column("body_commitment", Word, nullable=False),
    sa.Column("prev", Word, nullable=False),
    sa.Column("head", Word, nullable=False),
)
"""The hash chain; see reconcile.audit.log."""

audit_bodies = sa.Table(
    "audit_bodies",
    metadata,
    sa.Column("seq", sa.BigInteger, sa.ForeignKey("audit.seq"), primary_key=True, autoincrement=False),
    sa.Column("salt", Word, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("finding", Word, index=True),
    sa.Column("run", Word, index=True),
)
"""The body of each entry, separate from the chain so that it can be erased. `finding` and `run` repeat the body's."""

audit_head = sa.Table(
    "audit_head",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.CheckConstraint("id = 1", name="one_row"),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("head", Word, nullable=False),
)
"""One row: the end of the chain. Its lock serialises writers."""

facts = sa.Table(
    "facts",
    metadata,
    sa.Column("kind", Word, primary_key=True),  # finding | plan | limits | rule
    sa.Column("name", Word, primary_key=True),
    sa.Column("digest", Word, nullable=False),
)
"""The digest of each thing that the audit log commits to; see reconcile.audit.facts."""

users = sa.Table(
    "users",
    metadata,
    sa.Column("name", Word, primary_key=True),
    sa.Column("role", Word, nullable=False),  # reconcile.people.roles.Role
    sa.Column("password", Word),  # an argon2 hash; null: a proxy signs this user in
    sa.Column("sees_personal", sa.Boolean, nullable=False),
    sa.Column("disabled_at", Instant),
    sa.Column("created_at", Instant, nullable=False),
)
"""The people who sign in to the console."""

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("name", Word, primary_key=True),
    sa.Column("id", Word, nullable=False, unique=True),  # HMAC of the token
    sa.Column("user", Word, sa.ForeignKey("users.name"), nullable=False, index=True),
    sa.Column("role", Word, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("expires_at", Instant),
    sa.Column("used_at", Instant),
)
"""Tokens with which programs act for a user, with the lesser of the two roles."""

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", Word, primary_key=True),  # HMAC of the user and the secret in the cookie
    sa.Column("user", Word, sa.ForeignKey("users.name"), nullable=False, index=True),
    sa.Column("started_at", Instant, nullable=False),
    sa.Column("seen_at", Instant, nullable=False),
    sa.Column("ends_at", Instant, nullable=False, index=True),
    sa.Column("seal", Word),  # see reconcile.audit.sessions; null: of an earlier version; refused
)
"""Signed-in browsers."""

attempts = sa.Table(
    "attempts",
    metadata,
    sa.Column("scope", Word, primary_key=True),  # HMAC of a name, an address, or both
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("since", Instant, nullable=False, index=True),
)
"""Attempts to sign in that did not succeed, since the first one of a window."""
