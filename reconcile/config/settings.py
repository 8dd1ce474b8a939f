"""Settings of a configuration beside its rules, and the resulting project."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, WithJsonSchema, model_validator

from reconcile.audit.anchors.settings import AuditSettings
from reconcile.config.channel_entries import ChannelEntry
from reconcile.config.cleaning import LinkEntry, MaintenanceEntry, RetryTemplate
from reconcile.config.guarding import Namespace, NamespaceName
from reconcile.config.link import columns_of, parse_link
from reconcile.config.values import (
    DEFAULT_LISTEN,
    NAMES_SCHEMA,
    Names,
    Network,
    Networks,
    Size,
    Zone,
    key_bytes,
    listed,
    parse_console_url,
    parse_grace,
    parse_header,
    parse_heartbeat,
    parse_host,
    parse_kept,
    parse_key,
    parse_limit,
    parse_listen,
    parse_name,
    parse_session,
    parse_state,
    parse_traces,
    parse_version,
)
from reconcile.schedule.maintenance import MaintenanceWindow
from reconcile.schedule.schedules import Schedule
from rules.cleaning import Caps, Limits, TargetLimits
from rules.document.mistakes import Mistake, short, suggestion
from rules.document.tree import Entry, MapNode, Node, locate
from rules.kinds.base import Rule
from rules.models import Duration, Strict, parse_duration
from rules.models.calendar import Holidays, HolidaysField
from rules.presets.using import REMOVABLE

if TYPE_CHECKING:
    from connectors.base import DatasetSettings, SourceSettings
    from notifications.base import ChannelSettings
    from rules.engines.base import MoneyColumns

DEFAULT_STATE = "sqlite:///reconcile.db"
DEFAULT_MEMORY = 2_000_000_000
COLUMN_TYPES = ("text", "integer", "decimal", "float", "boolean", "date", "instant")
OTHER_NAMES = {
    **dict.fromkeys(("datetime", "timestamp", "timestamptz", "time"), "instant"),
    **dict.fromkeys(("string", "str", "varchar", "char"), "text"),
    **dict.fromkeys(("int", "bigint", "long"), "integer"),
    **dict.fromkeys(("number", "numeric", "money", "currency"), "decimal"),
    **dict.fromkeys(("double", "real"), "float"),
    "bool": "boolean",
}
"""Names of column types in other programs, and ours."""
EPOCHS = ("epoch s", "epoch ms", "epoch us")
"""The formats of instants that are numbers since 1970."""

_SIZED_DECIMAL = re.compile(r"decimal\(\d{1,2},\d{1,2}\)")
_SETTING = re.compile(r"`([a-z_]+(?:\.[a-z_]+)*)`|(The dataset's )?(where): ")
_CURRENCY = re.compile(r"[A-Z]{3}")


class Retention(Strict):
    """How long finished data is kept. The audit log keeps its entries forever."""

    unchanged: Annotated[Duration, AfterValidator(parse_kept)] = Field(
        default=parse_duration("1d"),
        json_schema_extra={"default": "1d"},
        description="Each run that changed nothing; after that, one row a day.",
    )
    details: Annotated[Duration, AfterValidator(parse_kept)] = Field(
        default=parse_duration("90d"),
        json_schema_extra={"default": "90d"},
        description="Reports of runs, and the text of delivered messages.",
    )
    runs: Annotated[Duration, AfterValidator(parse_kept)] = Field(
        default=parse_duration("400d"),
        json_schema_extra={"default": "400d"},
        description="Runs and due times that no finding refers to.",
    )

    @model_validator(mode="after")
    def _details_first(self) -> Retention:
        for name, kept in (("details", self.details), ("unchanged", self.unchanged)):
            if kept > self.runs:
                raise ValueError(f"`{name}` cannot be kept longer than their `runs`")
        return self


class ConsoleSettings(Strict):
    """The console and the API of `serve`."""

    enabled: bool = Field(default=True, description="If false, `serve` offers only monitoring.")
    url: Annotated[str, AfterValidator(parse_console_url)] | None = Field(
        default=None, description="The address that people use, e.g. https://reconcile.example.com."
    )
    proxies: Networks = Field(
        default=(), description="Addresses of trusted proxies, whose X-Forwarded-* headers count, e.g. 10.0.0.5/32."
    )
    user_header: Annotated[str, AfterValidator(parse_header)] | None = Field(
        default=None, description="The header in which a trusted proxy names the user, e.g. X-Remote-User."
    )
    idle: Annotated[Duration, AfterValidator(parse_session)] = Field(
        default=parse_duration("2h"),
        json_schema_extra={"default": "2h"},
        description="How long an unused session lasts.",
    )
    session: Annotated[Duration, AfterValidator(parse_session)] = Field(
        default=parse_duration("12h"),
        json_schema_extra={"default": "12h"},
        description="How long a session lasts at most.",
    )

    @model_validator(mode="after")
    def _header_of_proxy(self) -> ConsoleSettings:
        if self.user_header is not None and not self.proxies:
            raise ValueError("`user_header` needs `proxies`: without trusted proxies, any client could set the header")
        return self


class TopSettings(Strict):
    """The settings of the whole project, beside its sections."""

    version: Annotated[int, BeforeValidator(parse_version), WithJsonSchema({"const": 1})] = Field(
        default=1, description="The version of this file's format."
    )
    name: Annotated[str, BeforeValidator(parse_name)] | None = Field(
        default=None, description="The project's name in messages, like shop-production."
    )
    state: Annotated[SecretStr, BeforeValidator(parse_state)] = Field(
        default=SecretStr(DEFAULT_STATE), description="The database for findings and the audit log."
    )
    timezone: Zone = Field(default="UTC", description="The time zone of times without an offset.")
    holidays: HolidaysField | None = Field(
        default=None, description="Days off besides weekends, for `business_days`: {country: DE, region: BY}, or dates."
    )
    memory: Size = Field(default=DEFAULT_MEMORY, description="The memory that detection may use.")
    max_parallel: Annotated[int, Field(ge=1, le=64)] = Field(
        default=4, description="How many runs `reconcile serve` executes at once."
    )
    grace_stop: Annotated[Duration, AfterValidator(parse_grace)] = Field(
        default=parse_duration("30s"),
        json_schema_extra={"default": "30s"},
        description="How long running jobs may continue when `serve` stops.",
    )
    alerts: Names = Field(
        default=(), description="Channels for operators: failed checks, trouble; default: the channels of the jobs."
    )
    retention: Retention = Field(default_factory=Retention, description="How long finished data is kept.")
    listen: Annotated[str, BeforeValidator(parse_listen)] = Field(
        default=DEFAULT_LISTEN, description="The address of console, API and monitoring; none turns them off."
    )
    listen_hosts: Annotated[
        tuple[Annotated[str, AfterValidator(parse_host)], ...], BeforeValidator(listed), WithJsonSchema(NAMES_SCHEMA)
    ] = Field(default=(), description="Host names accepted at `listen`, in addition to IP addresses.")
    console: ConsoleSettings = Field(
        default_factory=ConsoleSettings, description="The console and the API, which need the extra `console`."
    )
    traces: Annotated[str, BeforeValidator(parse_traces)] | None = Field(
        default=None,
        description="Address for OpenTelemetry traces (OTLP over HTTP), e.g. http://localhost:4318/v1/traces.",
    )
    retry: dict[str, RetryTemplate] = Field(
        default_factory=dict, description="Retry templates by name, in addition to patient, quick and never."
    )
    limits: dict[str, TargetLimits] = Field(
        default_factory=dict, description="How much all rules together may change, by source."
    )
    maintenance: tuple[MaintenanceEntry, ...] = Field(default=(), description="Times when a source is not cleaned.")
    undo_window: Annotated[Duration, AfterValidator(parse_kept)] = Field(
        default=parse_duration("30d"),
        json_schema_extra={"default": "30d"},
        description="How long a cleaning can be undone; previous values are kept that long.",
    )
    encryption_key: Annotated[
        tuple[Annotated[SecretStr, AfterValidator(parse_key)], ...],
        BeforeValidator(listed),
        WithJsonSchema(NAMES_SCHEMA),
    ] = Field(
        default=(), description="Encrypts previous values in the state: the first key encrypts, all keys decrypt."
    )
    audit: AuditSettings = Field(
        default_factory=AuditSettings, description="External places for signed heads of the audit log."
    )
    guard: dict[NamespaceName, Namespace] = Field(
        default_factory=dict, description="Namespaces in which programs claim keys: {welcome: {lease: 1m}}."
    )


class Money(Strict):
    """The column of the amount, and its currency: a column, or a code like EUR."""

    amount: str = Field(description="The column with the amount.")
    currency: str = Field(description="The column with the currency, or a code like EUR.")

    def columns(self, names: Collection[str]) -> MoneyColumns:
        """Return the columns; `currency` is a column if the dataset has one of that name, else a code."""
        from rules.engines.base import MoneyColumns  # noqa: PLC0415 - imports pyarrow, which few commands need

        if self.currency not in names and _CURRENCY.fullmatch(self.currency):
            return MoneyColumns(self.amount, currency=self.currency)
        return MoneyColumns(self.amount, currency_column=self.currency)


class ColumnDeclaration(Strict):
    """An entry of `columns:`: a type by word, or `{is: expression}` for a derived column."""

    type: str | None = None
    is_: str | None = Field(default=None, alias="is")


def _column(value: Any) -> Any:
    if isinstance(value, dict) and list(value) == ["is"] and isinstance(value["is"], str):
        return value
    word, _, form = value.partition(" ") if isinstance(value, str) else ("", "", "")
    if not word:
        raise ValueError("declare a column by its type, like decimal, or by {is: expression}")
    if word not in COLUMN_TYPES and not _SIZED_DECIMAL.fullmatch(word):
        meant = OTHER_NAMES.get(word.lower())
        advice = suggestion(word, COLUMN_TYPES) if meant is None else f"write `{meant}`"
        raise ValueError(f"`{short(word)}` is not a type; {advice}")
    if form and word not in ("date", "instant"):
        raise ValueError(f"only date and instant take a format; write `{word}` alone")
    if form.split()[:1] == ["epoch"]:
        if word != "instant" or " ".join(form.split()) not in EPOCHS:
            units = ", ".join(f"`instant {epoch}`" for epoch in EPOCHS)
            raise ValueError(f"`{short(value)}` has no unit of time since 1970; write one of {units}")
    elif form and "%" not in form:
        raise ValueError(f"`{short(form)}` is not a format; write it like `{word} %d.%m.%Y`")
    return {"type": value}


_COLUMN_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": rf"^({'|'.join(COLUMN_TYPES)}|decimal\(\d{{1,2}},\d{{1,2}}\))( .*)?$"},
        {"type": "object", "required": ["is"], "additionalProperties": False, "properties": {"is": {"type": "string"}}},
    ]
}
ColumnField = Annotated[ColumnDeclaration, BeforeValidator(_column), WithJsonSchema(_COLUMN_SCHEMA)]


def _full(value: Any) -> Any:
    if value in ("daily", "weekly"):
        return value
    try:
        return parse_limit(parse_duration(value))
    except ValueError:
        raise ValueError(f"`{short(str(value))}` is not weekly, daily or a duration; write it like 3d") from None


class IncrementalEntry(Strict):
    """How runs read only the records of a dataset that changed."""

    by: str = Field(description="The column with the time of a record's last change.")
    overlap: Duration = Field(
        default=parse_duration("1h"),
        json_schema_extra={"default": "1h"},
        description="How long after its time a change may become visible.",
    )
    full: Annotated[
        dt.timedelta | Literal["daily", "weekly"],
        BeforeValidator(_full),
        WithJsonSchema({"type": "string", "examples": ["weekly", "daily", "3d"]}),
    ] = Field(default="weekly", description="How often a run reads all records: weekly, daily, or a duration.")


class FormerDataset(Strict):
    """The former id of a dataset."""

    id: Names = Field(description="The former id: records in the state get the current one.")


class DatasetEntry(Strict):
    """Settings of every dataset; the connector adds its own settings."""

    source: str = Field(description="The source to read from.")
    id: Names = Field(default=(), description="The column, or columns, that identify a record.")
    was: FormerDataset | None = Field(
        default=None, description="Its former id, e.g. {id: ref}: decisions about its records are kept."
    )
    where: str | None = Field(default=None, description="A condition on its records, e.g. not void.")
    columns: dict[str, ColumnField] = Field(
        default_factory=dict, description="Types of columns, like decimal, and derived ones: {is: net + fee}."
    )
    pii: Names = Field(default=(), description="Columns with personal data; messages and commands mask them.")
    display: Names = Field(default=(), description="Columns that show a record to people; default: the rule's columns.")
    link: Annotated[str, AfterValidator(parse_link)] | None = Field(
        default=None,
        description="The address of a record in another system, e.g. https://crm.example/customers/{{ record.id }}.",
    )
    money: Money | None = Field(default=None, description="The amount at risk, and its currency.")
    timezone: Zone = Field(
        default="UTC", description="The time zone of its times without an offset; default: the project's."
    )
    holidays: HolidaysField | None = Field(
        default=None, description="Days off besides weekends; default: the project's."
    )
    references: tuple[LinkEntry, ...] = Field(
        default=(), description="Tables that refer to its records without a foreign key; cleaning respects them."
    )
    incremental: IncrementalEntry | None = Field(
        default=None, description="Read only records that changed: {by: updated_at, overlap: 1h, full: weekly}."
    )


def _schedule(value: Any) -> Any:
    return {"cron": value} if isinstance(value, str) else value


class ScheduleEntry(Strict):
    """The schedule of a job."""

    cron: str = Field(description="Minute, hour, day of month, month, day of week, like 15 6 * * mon-fri.")
    timezone: Zone | None = Field(default=None, description="The zone of these times; default: the project's.")
    jitter: Duration = Field(
        default=parse_duration("0s"),
        json_schema_extra={"default": "0s"},
        description="Delays the start by up to this long; each slot has a fixed delay.",
    )
    catch_up: Literal["latest", "skip", "all"] = Field(
        default="latest", description="How to handle due times that passed while nothing ran."
    )
    max: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=10, description="How many of the latest missed due times `catch_up: all` runs."
    )

    @model_validator(mode="after")
    def _comes_due(self) -> ScheduleEntry:
        self.in_zone("UTC")
        return self

    def in_zone(self, default: str) -> Schedule:
        """Return the schedule; raises ScheduleRefused, a ValueError."""
        return Schedule(self.cron, self.timezone or default, self.jitter, self.catch_up, self.max)


_SCHEDULE_SCHEMA = {
    "anyOf": [
        {"type": "string", "examples": ["15 6 * * mon-fri"]},
        ScheduleEntry.model_json_schema(),
    ]
}
ScheduleField = Annotated[ScheduleEntry, BeforeValidator(_schedule), WithJsonSchema(_SCHEDULE_SCHEMA)]
TimeLimit = Annotated[Duration, AfterValidator(parse_limit)]


class JobEntry(Strict):
    """Rules that run together."""

    rules: Annotated[tuple[str, ...], BeforeValidator(listed), WithJsonSchema(NAMES_SCHEMA | {"examples": ["all"]})] = (
        Field(description="Names of rules, or all.")
    )
    notify: Names = Field(default=(), description="Channels for messages.")
    existing: Literal["summary", "report", "ignore"] = Field(
        default="summary", description="How a rule's first run reports findings that existed before."
    )
    schedule: ScheduleField | None = Field(default=None, description="When `reconcile serve` runs the job.")
    after: Names = Field(default=(), description="Run when these jobs have all succeeded again.")
    watch: Names = Field(default=(), description="Run when a file of these datasets arrives or changes.")
    priority: Annotated[int, Field(ge=-100, le=100)] = Field(
        default=0, description="Due jobs with a higher priority start first."
    )
    time_limit: TimeLimit = Field(
        default=parse_duration("1h"), json_schema_extra={"default": "1h"}, description="How long one rule may take."
    )
    stall: TimeLimit = Field(
        default=parse_duration("15m"),
        json_schema_extra={"default": "15m"},
        description="How long a source may send no data before the rule is stopped.",
    )
    success_within: TimeLimit | None = Field(
        default=None, description="Send an alert when the job has not succeeded for this long."
    )
    heartbeat: Annotated[SecretStr, AfterValidator(parse_heartbeat)] | None = Field(
        default=None, description="An address to call after each success, for an external watchdog."
    )
    heartbeat_allow: Networks = Field(
        default=(), description="Networks besides public ones that `heartbeat` may use, e.g. 10.0.0.0/8."
    )


@dataclass(frozen=True)
class SourceConfig:
    """One source; `settings` is the connector's own model and may hold secrets."""

    name: str
    type: str
    settings: SourceSettings = field(repr=False)


@dataclass(frozen=True)
class DatasetConfig:
    """One dataset: the connector's settings (`settings`) and ours.

    `derived` maps column to expression. `id` is empty for a dataset without one; `was` is its former id.
    Nothing here is checked against the source yet.
    """

    name: str
    source: str
    settings: DatasetSettings
    id: tuple[str, ...] = ()
    where: str | None = None
    derived: Mapping[str, str] = field(default_factory=dict)
    pii: tuple[str, ...] = ()
    money: Money | None = None
    timezone: str = "UTC"
    references: tuple[LinkEntry, ...] = ()
    holidays: Holidays | None = None
    incremental: IncrementalEntry | None = None
    display: tuple[str, ...] = ()
    link: str | None = None
    was: tuple[str, ...] = ()

    @property
    def displayed(self) -> tuple[str, ...]:
        """The columns that findings hold for people alone: those of `display`, and those of `link` besides the id."""
        in_link = (name for name in columns_of(self.link or "") if name not in self.id)
        return tuple(dict.fromkeys((*self.display, *in_link)))


@dataclass(frozen=True)
class JobConfig:
    """Rules that run together, with their channels, schedule and time limits."""

    name: str
    rules: tuple[str, ...]
    notify: tuple[str, ...] = ()
    existing: Literal["summary", "report", "ignore"] = "summary"
    schedule: Schedule | None = None
    after: tuple[str, ...] = ()
    watch: tuple[str, ...] = ()
    priority: int = 0
    time_limit: dt.timedelta = dt.timedelta(hours=1)
    stall: dt.timedelta = dt.timedelta(minutes=15)
    success_within: dt.timedelta | None = None
    heartbeat: SecretStr | None = None
    heartbeat_allow: tuple[Network, ...] = ()


@dataclass(frozen=True)
class ChannelConfig:
    """One channel; `settings` is its own model and may hold secrets. `entry` says what it is told, and when."""

    name: str
    type: str
    settings: ChannelSettings = field(repr=False)
    entry: ChannelEntry = field(default_factory=ChannelEntry)


@dataclass(frozen=True)
class Project:
    """One configuration, resolved, checked and frozen.

    `state` is an absolute address. `memory` is in bytes. `canonical` is the resolved configuration as one line of JSON
    with every secret left out, and `release` its sha256: two configurations that mean the same texts have the same.
    `warnings` are mistakes that do not stop a run, such as a dataset no rule reads. `alerts` are channels; `listen` is
    host:port or None. `files` are the files as read, with variables unresolved and without comments, by path
    from the folder of `path`, the main one first; None if one holds a secret in clear text, which must not be kept.
    `retries` are the configured templates: a rule's `retry` names one of them or of cleaning.OWN_RETRIES.
    `limits` are by source; see `caps_of`. `unusable` are sources and channels of a kept release, by section and name,
    that lack a secret here, each with the reason; no other field has them. `entries` are the rules, datasets and
    sources as written. `name` is the project's in messages.
    """

    path: Path
    state: SecretStr
    timezone: str
    memory: int
    sources: Mapping[str, SourceConfig]
    datasets: Mapping[str, DatasetConfig]
    rules: Mapping[str, Rule]
    jobs: Mapping[str, JobConfig]
    channels: Mapping[str, ChannelConfig]
    canonical: str = field(repr=False)
    release: str
    version: int = 1
    warnings: tuple[Mistake, ...] = ()
    max_parallel: int = 4
    grace_stop: dt.timedelta = dt.timedelta(seconds=30)
    alerts: tuple[str, ...] = ()
    retention: Retention = field(default_factory=Retention)
    listen: str | None = None
    listen_hosts: tuple[str, ...] = ()
    console: ConsoleSettings = field(default_factory=ConsoleSettings)
    traces: str | None = None
    files: Mapping[str, str] | None = field(default=None, repr=False, compare=False)
    retries: Mapping[str, RetryTemplate] = field(default_factory=dict)
    limits: Mapping[str, TargetLimits] = field(default_factory=dict)
    maintenance: tuple[MaintenanceWindow, ...] = ()
    undo_window: dt.timedelta = dt.timedelta(days=30)
    encryption_key: tuple[SecretStr, ...] = ()
    audit: AuditSettings = field(default_factory=AuditSettings)
    unusable: Mapping[tuple[str, str], str] = field(default_factory=dict)
    entries: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict, repr=False, compare=False)
    name: str | None = None
    guard: Mapping[str, Namespace] = field(default_factory=dict)

    def at_setting(self, rule: str, sentence: str, mistake: str) -> str:
        """Return the sentence with the file, line and column of the setting that a mistake begins with.

        It is a setting of the rule or, if the rule does not have it, of its dataset that the mistake names.
        """
        named = _SETTING.match(mistake)
        path = tuple((named[1] or named[3]).split(".")) if named else ()
        is_of_rule = not path or (not (named and named[2]) and self._is_written("rules", rule, path[:1]))
        having = [name for name in self.rules[rule].datasets if self._is_written("datasets", name, path[:1])]
        if is_of_rule or not having:
            return self.at_path(rule, sentence, path)
        dataset = next((name for name in having if f"`{name}`" in mistake), having[0])
        return self.at_path(dataset, sentence, path, "datasets")

    def file_of(self, rule: str, setting: str) -> Path | None:
        """Return the file that a setting of a rule names, whose content it is; None if it holds its own content."""
        entry = self.entries["rules"][rule]
        content = locate(entry.node, (setting,), entry.key_at)
        is_own = content.path != (setting,) or content.node.at.file == content.key_at.file
        return None if is_own else Path(content.node.at.file)

    def _is_written(self, section: str, name: str, path: tuple[str, ...]) -> bool:
        entry = self.entries.get(section, {}).get(name)
        return entry is not None and locate(entry.node, path, entry.key_at).path == path

    def at_path(self, name: str, sentence: str, path: tuple[str, ...], section: str = "rules") -> str:
        """Return the sentence with the file, line and column of a setting of a rule, dataset or source.

        If the file does not have the setting, the place is that of what should have it.
        """
        entry = self.entries.get(section, {}).get(name)
        if entry is None:
            return sentence
        at = locate(entry.node, path, entry.key_at).key_at
        if section == "rules" and path and path[0] in REMOVABLE and _is_of_preset(entry.node, path[0]):
            remedy = f"If dataset and rule need no `{path[0]}`, remove the preset's with `{path[0]}: ~`."
            sentence = f"{sentence} {remedy}"
        return str(Mistake.at(at, sentence))

    def page(self, path: str) -> str | None:
        """Return the address of a page of the console; None if people have no address for it."""
        return f"{self.console.url}{path}" if self.console.enabled and self.console.url else None

    @property
    def encryption_keys(self) -> tuple[bytes, ...]:
        """32 bytes each: the first seals, all open."""
        return tuple(dict.fromkeys(map(key_bytes, self.encryption_key)))

    def caps_of(self, source: str) -> Caps:
        """Return what all rules together may change in a source; by default the largest limit of a single rule."""
        configured = self.limits.get(source, TargetLimits())
        rules = (rule for rule in self.rules.values() if rule.clean and self.datasets[rule.cleaned].source == source)
        limits = [rule.limits for rule in rules]
        records = configured.records
        if records is None:
            records = max((limit.records for limit in limits), default=Limits().records)
        amounts = [
            (about.money.amount, about.pii)
            for about in self.datasets.values()
            if about.source == source and about.money
        ]
        hides_money = any(amount in pii for amount, pii in amounts)
        money = _largest(limits) if configured.money is None else configured.money
        return Caps(records=records, money=money, hides_money=hides_money)

    def sources_of(self, rule: str) -> tuple[str, ...]:
        """Return the sources that the rule reads, each once, that of its first dataset first."""
        return tuple(dict.fromkeys(self.datasets[dataset].source for dataset in self.rules[rule].datasets))

    @property
    def longest_retry(self) -> dt.timedelta:
        """The longest delay of a configured template."""
        return max((template.cap for template in self.retries.values()), default=dt.timedelta(0))

    @property
    def directory(self) -> Path:
        """The folder of relative paths in the configuration."""
        return self.path.parent


def _is_of_preset(rule: Node, setting: str) -> bool:
    """Return True if a preset gave the setting: all that comes from one has the same position."""
    entries = rule.entries if isinstance(rule, MapNode) else {}
    return setting in entries and "kind" in entries and entries[setting].key_at == entries["kind"].key_at


def _largest(limits: Sequence[Limits]) -> dict[str, Decimal]:
    """Return the largest amount by currency if every rule has a limit on money; else no amounts."""
    if not all(limit.money for limit in limits):
        return {}
    amounts: dict[str, Decimal] = {}
    for code, amount in (pair for limit in limits for pair in (limit.money or {}).items()):
        amounts[code] = max(amount, amounts.get(code, amount))
    return amounts
