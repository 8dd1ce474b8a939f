"""What a configuration may say beside its rules, and the project it becomes."""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
import zoneinfo
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, WithJsonSchema, model_validator

from reconcile.schedule import Schedule
from rules.mistakes import Problem, short, suggestion
from rules.models import Duration, Strict, parse_duration
from rules.rule import Rule

if TYPE_CHECKING:
    from connectors.base import DatasetSettings, SourceSettings
    from notifications.base import ChannelSettings
    from rules.engines.base import MoneyColumns

DEFAULT_STATE = "sqlite:///reconcile.db"
DEFAULT_MEMORY = 2_000_000_000
MIN_MEMORY = 64_000_000
DEFAULT_LISTEN = "127.0.0.1:8321"
COLUMN_TYPES = ("text", "integer", "decimal", "float", "boolean", "date", "instant")

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]i?B|B)", re.IGNORECASE)
_UNITS = (
    {"b": 1}
    | {f"{u}b": 1000**i for i, u in enumerate("kmgt", 1)}
    | {f"{u}ib": 1024**i for i, u in enumerate("kmgt", 1)}
)
_SIZED_DECIMAL = re.compile(r"decimal\(\d{1,2},\d{1,2}\)")
_CURRENCY = re.compile(r"[A-Z]{3}")


def parse_size(value: Any) -> Any:
    """`512MB`, `2GB`, `1GiB` in bytes; raises ValueError."""
    if isinstance(value, int):
        return value
    found = _SIZE.fullmatch(str(value).strip())
    if not found:
        raise ValueError(f"`{value}` is not a size; write it like 512MB or 2GB")
    return round(float(found[1]) * _UNITS[found[2].lower()])


def parse_memory(value: Any) -> Any:
    """A size that is enough to work in."""
    size = parse_size(value)
    if size < MIN_MEMORY:
        raise ValueError(f"`{value}` is too little to work in; give it at least {MIN_MEMORY // 1_000_000}MB")
    return size


def parse_timezone(value: Any) -> Any:
    """The name of an IANA time zone; raises ValueError naming the nearest."""
    try:
        zoneinfo.ZoneInfo(str(value))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        near = suggestion(str(value), zoneinfo.available_timezones())
        hint = near if near.startswith("did you") else "write an IANA name like Europe/Berlin or UTC"
        raise ValueError(f"`{short(str(value))}` is not a time zone; {hint}") from None
    return value


def parse_version(value: Any) -> Any:
    if str(value) != "1":
        raise ValueError(f"`{short(str(value))}` is not a version of this file; this Reconcile reads version 1")
    return 1


def parse_state(value: Any) -> Any:
    """The address of the state database; raises ValueError without repeating it, for it may hold a password."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    scheme = text.split(":")[0].split("+")[0] if isinstance(text, str) else ""
    if scheme == "postgres":
        raise ValueError("an address of PostgreSQL begins with postgresql://")
    if scheme not in ("sqlite", "postgresql"):
        raise ValueError("the state is kept in SQLite or PostgreSQL; write sqlite:///file.db or postgresql://…")
    if scheme == "sqlite" and text.split("?")[0].rstrip("/") in ("sqlite:", "sqlite:///:memory:"):
        raise ValueError("a state in memory would be forgotten after each run; add the path of a file")
    return value


def parse_kept(value: dt.timedelta) -> dt.timedelta:
    """How long something is kept: a day or more, so that a slip of the pen does not empty the store."""
    if value < dt.timedelta(days=1):
        raise ValueError("is too short; keep it for 1d or more")
    return value


def parse_grace(value: dt.timedelta) -> dt.timedelta:
    if value > dt.timedelta(hours=1):
        raise ValueError("is too long to wait at a stop; write 1h or less")
    return value


def parse_limit(value: dt.timedelta) -> dt.timedelta:
    """A limit on time that leaves room to do anything."""
    if value < dt.timedelta(seconds=1):
        raise ValueError("is too short; give it 1s or more")
    return value


def parse_listen(value: Any) -> Any:
    """`host:port`, or `none`; raises ValueError."""
    if str(value) != "none":
        host, separator, port = str(value).rpartition(":")
        if not separator or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"`{short(str(value))}` is not an address; write it like {DEFAULT_LISTEN}, or none")
    return value


def parse_traces(value: Any) -> Any:
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", str(value)):
        raise ValueError("is not an address; write it like http://localhost:4318/v1/traces")
    return value


def parse_heartbeat(value: SecretStr) -> SecretStr:
    """An address that can be called; raises ValueError without repeating it."""
    from notifications.http import web_address  # noqa: PLC0415 - only who has a watchdog pays for it

    web_address("heartbeat", value.get_secret_value(), "a watchdog's address has its secret in its path")
    return value


def parse_networks(value: Any) -> Any:
    from notifications.http import networks  # noqa: PLC0415 - see above

    return networks(value)


def _listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


_NAMES_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
Names = Annotated[tuple[str, ...], BeforeValidator(_listed), WithJsonSchema(_NAMES_SCHEMA)]
Size = Annotated[int, BeforeValidator(parse_memory), WithJsonSchema({"type": "string", "examples": ["512MB", "2GB"]})]
Zone = Annotated[str, BeforeValidator(parse_timezone)]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Networks = Annotated[tuple[Network, ...], BeforeValidator(parse_networks), WithJsonSchema(_NAMES_SCHEMA)]


class Retention(Strict):
    """How long what is over is kept. The audit log keeps its entries for ever."""

    details: Annotated[Duration, AfterValidator(parse_kept)] = Field(
        default=parse_duration("90d"),
        json_schema_extra={"default": "90d"},
        description="What each run reported, and the text of delivered messages.",
    )
    runs: Annotated[Duration, AfterValidator(parse_kept)] = Field(
        default=parse_duration("400d"),
        json_schema_extra={"default": "400d"},
        description="Runs and due times that no finding points at.",
    )

    @model_validator(mode="after")
    def _details_first(self) -> Retention:
        if self.details > self.runs:
            raise ValueError("`details` cannot be kept longer than their `runs`")
        return self


class TopSettings(Strict):
    """The settings of the whole project, beside its sections."""

    version: Annotated[int, BeforeValidator(parse_version), WithJsonSchema({"const": 1})] = Field(
        default=1, description="The version of this file's language."
    )
    state: Annotated[SecretStr, BeforeValidator(parse_state)] = Field(
        default=SecretStr(DEFAULT_STATE), description="Where findings and the audit log are kept."
    )
    timezone: Zone = Field(default="UTC", description="The time zone of times that do not say theirs.")
    memory: Size = Field(default=DEFAULT_MEMORY, description="How much memory detection may use.")
    max_parallel: Annotated[int, Field(ge=1, le=64)] = Field(
        default=4, description="How many runs `reconcile serve` carries out at once."
    )
    grace_stop: Annotated[Duration, AfterValidator(parse_grace)] = Field(
        default=parse_duration("30s"),
        json_schema_extra={"default": "30s"},
        description="How long runs under way may go on when `serve` is stopped.",
    )
    alerts: Names = Field(
        default=(), description="Channels told of trouble with Reconcile itself; without any, those of the jobs."
    )
    retention: Retention = Field(default_factory=Retention, description="How long what is over is kept.")
    listen: Annotated[str, BeforeValidator(parse_listen)] = Field(
        default=DEFAULT_LISTEN, description="Where `serve` answers /healthz, /readyz and /metrics; none: nowhere."
    )
    traces: Annotated[str, BeforeValidator(parse_traces)] | None = Field(
        default=None,
        description="Where OpenTelemetry traces go (OTLP over HTTP), e.g. http://localhost:4318/v1/traces.",
    )


class Money(Strict):
    """Which column holds the amount, and its currency: a column, or a code like EUR."""

    amount: str = Field(description="The column with the amount.")
    currency: str = Field(description="The column with the currency, or a code like EUR.")

    def columns(self, known: Collection[str]) -> MoneyColumns:
        """`currency` is a column where the dataset has one of that name, a literal where it looks like a code."""
        from rules.engines.base import MoneyColumns  # noqa: PLC0415 - brings pyarrow, which few commands need

        if self.currency not in known and _CURRENCY.fullmatch(self.currency):
            return MoneyColumns(self.amount, currency=self.currency)
        return MoneyColumns(self.amount, currency_column=self.currency)


class ColumnDeclaration(Strict):
    """What `columns:` says of one column: a type by word, or `{is: expression}` for a derived one."""

    type: str | None = None
    is_: str | None = Field(default=None, alias="is")


def _column(value: Any) -> Any:
    if isinstance(value, dict) and list(value) == ["is"] and isinstance(value["is"], str):
        return value
    word, _, form = value.partition(" ") if isinstance(value, str) else ("", "", "")
    if not word:
        raise ValueError("a column is declared by its type, like decimal, or by {is: expression}")
    if word not in COLUMN_TYPES and not _SIZED_DECIMAL.fullmatch(word):
        raise ValueError(f"`{short(word)}` is not a type; {suggestion(word, COLUMN_TYPES, otherwise='use')}")
    if form and word not in ("date", "instant"):
        raise ValueError(f"only date and instant take a format; write `{word}` alone")
    if form and "%" not in form:
        raise ValueError(f"`{short(form)}` is not a format; write it like `{word} %d.%m.%Y`")
    return {"type": value}


_COLUMN_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": rf"^({'|'.join(COLUMN_TYPES)}|decimal\(\d{{1,2}},\d{{1,2}}\))( .*)?$"},
        {"type": "object", "required": ["is"], "additionalProperties": False, "properties": {"is": {"type": "string"}}},
    ]
}
ColumnField = Annotated[ColumnDeclaration, BeforeValidator(_column), WithJsonSchema(_COLUMN_SCHEMA)]


class DatasetEntry(Strict):
    """What every dataset may say, whatever its source; the connector adds where in the source it is."""

    source: str = Field(description="The source it is read from.")
    id: Names = Field(default=(), description="The column, or columns, that name a record.")
    where: str | None = Field(default=None, description="Which records belong to it, e.g. not void.")
    columns: dict[str, ColumnField] = Field(
        default_factory=dict, description="Types of columns, like decimal, and derived ones: {is: net + fee}."
    )
    pii: Names = Field(default=(), description="Columns with personal data; messages mask them.")
    money: Money | None = Field(default=None, description="The amount that is at risk, and its currency.")
    timezone: Zone = Field(default="UTC", description="The time zone of its naive times; default the project's.")


def _schedule(value: Any) -> Any:
    return {"cron": value} if isinstance(value, str) else value


class ScheduleEntry(Strict):
    """When a job is due."""

    cron: str = Field(description="Minute, hour, day of month, month, day of week, like 15 6 * * mon-fri.")
    timezone: Zone | None = Field(default=None, description="The zone of these times; default the project's.")
    jitter: Duration = Field(
        default=parse_duration("0s"),
        json_schema_extra={"default": "0s"},
        description="Start up to so much later, by an amount that the slot decides.",
    )
    catch_up: Literal["latest", "skip", "all"] = Field(
        default="latest", description="What to do with due times that passed while nothing ran."
    )
    max: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=10, description="How many due times `catch_up: all` makes up for, the latest ones."
    )

    @model_validator(mode="after")
    def _comes_due(self) -> ScheduleEntry:
        self.in_zone("UTC")
        return self

    def in_zone(self, default: str) -> Schedule:
        """Raises ScheduleRefused, a ValueError."""
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

    rules: Annotated[
        tuple[str, ...], BeforeValidator(_listed), WithJsonSchema(_NAMES_SCHEMA | {"examples": ["all"]})
    ] = Field(description="Names of rules, or all.")
    notify: Names = Field(default=(), description="Channels that are told.")
    existing: Literal["summary", "report", "ignore"] = Field(
        default="summary", description="What a rule's first run tells of findings that were there before."
    )
    schedule: ScheduleField | None = Field(default=None, description="When `reconcile serve` runs it.")
    after: Names = Field(default=(), description="Run when these jobs have all succeeded anew.")
    watch: Names = Field(default=(), description="Run when a file of these datasets arrives or changes.")
    priority: Annotated[int, Field(ge=-100, le=100)] = Field(
        default=0, description="Which of several due jobs starts first: the higher one."
    )
    time_limit: TimeLimit = Field(
        default=parse_duration("1h"), json_schema_extra={"default": "1h"}, description="How long one rule may take."
    )
    stall: TimeLimit = Field(
        default=parse_duration("15m"),
        json_schema_extra={"default": "15m"},
        description="How long a source may send nothing before the rule is ended.",
    )
    success_within: TimeLimit | None = Field(
        default=None, description="Tell people when the job has not succeeded for so long."
    )
    heartbeat: Annotated[SecretStr, AfterValidator(parse_heartbeat)] | None = Field(
        default=None, description="An address called after each success, for a watchdog outside."
    )
    heartbeat_allow: Networks = Field(
        default=(), description="Networks besides public ones that `heartbeat` may be in, e.g. 10.0.0.0/8."
    )


@dataclass(frozen=True)
class SourceConfig:
    """One source; `settings` is its connector's own model and may hold secrets."""

    name: str
    type: str
    settings: SourceSettings = field(repr=False)


@dataclass(frozen=True)
class DatasetConfig:
    """One dataset: what its connector reads (`settings`) and what we make of it.

    `derived` maps column to expression. `id` is empty for a dataset without one. Nothing here was compared with the
    source yet.
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


@dataclass(frozen=True)
class JobConfig:
    """Rules that run together, who is told, what makes them due, and what they may take."""

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
    """One channel; `settings` is its own model and may hold secrets."""

    name: str
    type: str
    settings: ChannelSettings = field(repr=False)


@dataclass(frozen=True)
class Project:
    """One configuration, resolved, checked and frozen.

    `state` is an absolute address. `memory` is in bytes. `canonical` is the resolved configuration as one line of JSON
    with every secret left out, and `release` its sha256: two configurations that mean the same texts have the same.
    `warnings` are mistakes that stop nothing, such as a dataset no rule reads. `alerts` are channels; `listen` is
    host:port or None. `files` say the same as what was read, variables not filled in and comments left out, by path
    from the folder of `path`, the main one first; None where a secret stands in them in clear and must not be kept.
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
    warnings: tuple[Problem, ...] = ()
    max_parallel: int = 4
    grace_stop: dt.timedelta = dt.timedelta(seconds=30)
    alerts: tuple[str, ...] = ()
    retention: Retention = field(default_factory=Retention)
    listen: str | None = None
    traces: str | None = None
    files: Mapping[str, str] | None = field(default=None, repr=False, compare=False)

    @property
    def directory(self) -> Path:
        """Where relative paths of the configuration begin."""
        return self.path.parent
