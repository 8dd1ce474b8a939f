"""Loads a YAML file and its includes into a Project, or reports every mistake at once."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from reconcile.config.answers import answers
from reconcile.config.channel_entries import ChannelEntry
from reconcile.config.channels import ChannelCheck
from reconcile.config.cleanable import CleaningCheck
from reconcile.config.link import refusal
from reconcile.config.masked import shown_in_clear
from reconcile.config.secrets import hide_in_addresses
from reconcile.config.sections import Sections, gather, gather_kept
from reconcile.config.settings import (
    DEFAULT_MEMORY,
    ChannelConfig,
    DatasetConfig,
    DatasetEntry,
    JobConfig,
    JobEntry,
    Project,
    SourceConfig,
    TopSettings,
)
from reconcile.config.written import canonical, texts
from reconcile.errors import Wrong
from reconcile.plugins import Kinds, PluginBroken, kind_of
from rules.document.mistakes import Mistake, Position, RuleError, short, suggestion
from rules.document.reading import ModelReader, known_keys, name_problem, wants_secret, without
from rules.document.tree import Entry, ListNode, MapNode, Node, ScalarNode, locate, walk
from rules.expressions import parse
from rules.kinds.base import DatasetFacts, Rule
from rules.loader import expression_problems, file_settings, load_rule, lookup_places

FILE_NAME = "reconcile.yaml"
DEFAULT_JOB = "default"

_LATER = {
    "sources": (),
    "jobs": ("approval", "limits", "retry", "quiet", "quiet_hours", "digest"),
    "channels": ("templates",),
}
_JOB_SETTINGS = ("existing", "priority", "time_limit", "stall", "success_within", "heartbeat", "heartbeat_allow")
_LATER_TYPES = {
    "sources": ("stripe",),
    "channels": ("console",),
}

_MEANT = {
    **dict.fromkeys(("postgres", "postgresql", "mysql", "mariadb", "sqlite", "database"), "sql"),
    **dict.fromkeys(("folder", "csv", "tsv", "json", "jsonl", "parquet"), "files"),
    **dict.fromkeys(("excel", "xlsx", "xls", "ods", "spreadsheet"), "workbook"),
    **dict.fromkeys(("gsheet", "gsheets", "google_sheet", "googlesheets"), "google_sheets"),
    **dict.fromkeys(("api", "http_api", "https", "json_api", "rest", "rest_api"), "http"),
    "smtp": "email",
    **dict.fromkeys(("teams", "discord", "pagerduty", "telegram"), "apprise"),
}
"""Types that people write, and ours for them."""


class ConfigProblems(Wrong):
    """The configuration has mistakes; nothing was read or changed. Its text is one line per mistake."""

    def __init__(self, problems: Iterable[Mistake]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def load(
    path: str | os.PathLike[str] = FILE_NAME, environ: Mapping[str, str] | None = None, *, needs_rules: bool = True
) -> Project:
    """Read a configuration without connecting to anything. Raises ConfigProblems with every mistake.

    `needs_rules`: a configuration without rules is a mistake.
    """
    sections = gather(Path(path), os.environ if environ is None else environ)
    return _Loading(sections, needs_rules=needs_rules).project()


def load_kept(
    kept: Mapping[str, str], path: Path, environ: Mapping[str, str], called: str, *, sets_aside: bool = False
) -> Project:
    """Read kept texts (Project.files) as the configuration at `path`; see `load`.

    `called` is their name in sentences. `sets_aside`: a missing secret is no mistake (Project.unusable).
    """
    sections = gather_kept(kept, path, environ, called)
    if sets_aside:
        sections.set_aside()
    return _Loading(sections, is_kept=True).project()


def state_alone(path: Path, address: str) -> Project:
    """Return a project without rules that only has a state."""
    state = SecretStr(absolute_state(address, path.parent))
    return Project(path.absolute(), state, TopSettings().timezone, DEFAULT_MEMORY, {}, {}, {}, {}, {}, "{}", "")


def absolute_state(address: str, folder: Path) -> str:
    """Return the address of a state; a relative SQLite path begins in the folder of the configuration."""
    scheme, separator, path = address.partition(":///")
    if not scheme.startswith("sqlite") or not separator or path.startswith("/"):
        return address
    return f"{scheme}:///{folder.absolute() / path}"


@dataclass
class _Loading:
    """The steps of one `load` after its files were read. Mistakes go to `sections`.

    `connectors` are the classes of the sources with a known type, even if their settings have mistakes. `is_kept`: the
    configuration ran before, so a rule that cannot find anything is not refused.
    """

    sections: Sections
    warnings: list[Mistake] = field(default_factory=list)
    connectors: dict[str, Any] = field(default_factory=dict)
    is_kept: bool = False
    needs_rules: bool = True

    def project(self) -> Project:
        in_files = len(self.sections.problems)
        top = self._read(ModelReader(TopSettings, "the configuration", hide=hide_in_addresses), self.sections.top)
        sources = self._all("sources", self._source)
        datasets = self._all("datasets", lambda name, entry: self._dataset(name, entry, top))
        rules = self._all("rules", self._rule)
        jobs = self._all("jobs", lambda name, entry: self._job(name, entry, top))
        channels = self._all("channels", self._channel)
        self._check_alerts()
        self._check_anchors(top)
        self._check_after(jobs)
        if any(job.watch for job in jobs.values()):
            self._check_watched(jobs, datasets)
        if self.needs_rules:
            self._check_something_is_checked()
        answered, rules = answers(self.sections, sources, datasets, rules, self.connectors)
        self._check_former_names(rules)
        if not self.is_kept:
            self._check_findable(datasets | answered, rules)
            self._check_masked(datasets | answered, rules)
        cleanable = CleaningCheck(self.sections, top, sources, datasets, rules, self.connectors)
        told = ChannelCheck(self.sections, channels, jobs)
        self.sections.problems += [*cleanable.problems(), *told.problems()]
        if self.sections.problems:
            problems = self.sections.problems
            news = [*problems[:in_files], *filter(self._is_news, problems[in_files:])]
            raise ConfigProblems(replace(p, sentence=without(self.sections.secrets, p.sentence)) for p in news)
        self._warn_of_unused(datasets, rules, jobs, told.used(top.alerts))
        self.warnings += [*cleanable.notes(), *told.notes()]
        text = canonical(self.sections)
        return Project(
            path=self.sections.path.absolute(),
            state=SecretStr(absolute_state(top.state.get_secret_value(), self.sections.path.parent)),
            timezone=top.timezone,
            memory=top.memory,
            sources=sources,
            datasets=datasets | answered,
            rules=rules,
            jobs=jobs or {DEFAULT_JOB: JobConfig(DEFAULT_JOB, tuple(rules), _of_all_jobs(channels, top.alerts))},
            channels=channels,
            canonical=text,
            release=hashlib.sha256(text.encode()).hexdigest(),
            version=top.version,
            warnings=tuple(sorted(self.warnings)),
            max_parallel=top.max_parallel,
            grace_stop=top.grace_stop,
            alerts=tuple(dict.fromkeys(top.alerts)),
            retention=top.retention,
            listen=None if top.listen == "none" else top.listen,
            listen_hosts=top.listen_hosts,
            console=top.console,
            traces=top.traces,
            files=texts(self.sections),
            retries=top.retry,
            limits=top.limits,
            maintenance=tuple(period.window(top.timezone) for period in top.maintenance),
            undo_window=top.undo_window,
            encryption_key=top.encryption_key,
            audit=top.audit,
            unusable=self.sections.unusable,
            entries={section: dict(self.sections[section]) for section in ("sources", "datasets", "rules")},
            name=top.name,
            guard=top.guard,
        )

    def _all(self, section: str, read: Callable[[str, Entry], Any]) -> dict[str, Any]:
        models = {}
        for name, entry in self.sections[section].items():
            problem = name_problem(name, entry.key_at)
            if problem:
                self.sections.problems.append(problem)
            model = read(name, entry)
            if model is not None:
                models[name] = model
        return models

    def _read(self, reader: ModelReader[Any], node: Node, key_at: Position | None = None) -> Any:
        model, problems = reader.read(node, key_at or node.at)
        self.sections.problems += problems
        return model

    def _typed(self, section: str, group: str, what: str, entry: Entry) -> Any:
        """Return the class for the `type` of a source or channel; report the mistake and return None without one."""
        if not isinstance(entry.node, MapNode):
            self._read(ModelReader(TopSettings, what), entry.node, entry.key_at)
            return None
        kind = entry.node.entries.get("type")
        kinds = Kinds(group)
        if kind is None:
            self.sections.tell(entry.key_at, f"{what} needs `type`; it is one of {', '.join(sorted(kinds))}")
            return None
        name = kind.node.text if isinstance(kind.node, ScalarNode) and not kind.node.sealed_as else None
        try:
            if name is not None and name in kinds:
                return kinds.load(name)
        except PluginBroken as error:
            self.sections.tell(kind.node.at, str(error))
            return None
        if name in _LATER_TYPES[section]:
            self.sections.tell(
                kind.node.at, f"type `{name}` comes with a later version; use one of {', '.join(sorted(kinds))}"
            )
        else:
            advice = f"write `{meant}`" if (meant := _MEANT.get(name or "")) in kinds else suggestion(name or "", kinds)
            self.sections.tell(kind.node.at, f"`{short(name or '')}` is not a type; {advice}")
        return None

    def _source(self, name: str, entry: Entry) -> SourceConfig | None:
        what = f"source `{short(name)}`"
        typed = self._typed("sources", "connectors", what, entry)
        if typed is not None:
            self.connectors[name] = typed
        if ("sources", name) in self.sections.unusable:
            return None
        settings = self._settings("sources", what, entry, typed)
        return SourceConfig(name, settings.type, settings) if settings else None

    def _channel(self, name: str, entry: Entry) -> ChannelConfig | None:
        if ("channels", name) in self.sections.unusable:
            return None
        what = f"channel `{short(name)}`"
        typed = self._typed("channels", "channels", what, entry)
        settings = self._settings("channels", what, entry, typed, also=known_keys(ChannelEntry))
        own = known_keys(typed.Settings) if typed is not None else _keys(entry)
        common = self._read(ModelReader(ChannelEntry, what, also=set(own)), entry.node, entry.key_at)
        return ChannelConfig(name, settings.type, settings, common) if settings and common else None

    def _settings(self, section: str, what: str, entry: Entry, typed: Any, also: Collection[str] = ()) -> Any:
        if typed is None:
            return None
        self._refuse_secrets(typed.Settings, entry.node)
        reader = ModelReader(typed.Settings, what, also=also, later=_LATER[section], hide=hide_in_addresses)
        return self._read(reader, entry.node, entry.key_at)

    def _refuse_secrets(self, model: type[BaseModel], node: Node) -> None:
        for path, scalar in walk(node):
            if isinstance(scalar, ScalarNode) and scalar.sealed_as and not wants_secret(model, path):
                sentence = "this setting is shown and stored, so it cannot hold a secret; use ${NAME}"
                self.sections.tell(scalar.at, f"`{short(scalar.sealed_as)}`: {sentence}")

    def _dataset(self, name: str, entry: Entry, top: TopSettings | None) -> DatasetConfig | None:
        what = f"dataset `{short(name)}`"
        source = self._check_reference(entry, "source", "sources")
        model = self.connectors[source].Dataset if source in self.connectors else None
        project_wide: dict[str, Any] = {"timezone": top.timezone, "holidays": top.holidays} if top else {}
        common_keys = set(known_keys(DatasetEntry))
        model_keys = set(known_keys(model)) - common_keys if model else _keys(entry) - common_keys
        common_reader = ModelReader(DatasetEntry, what, defaults=project_wide, also=model_keys)
        common = self._read(common_reader, entry.node, entry.key_at)
        self.sections.problems += _dataset_expressions(entry.node)
        if model is None:
            return None
        shared = {} if common is None else _shared_settings(model, common)
        reader = ModelReader(model, what, given=shared, also=common_keys)
        settings = self._read(reader, entry.node, entry.key_at)
        if common is None or settings is None:
            return None
        derived = {key: column.is_ for key, column in common.columns.items() if column.is_ is not None}
        pii = _with_derived(common.pii, derived)
        for sentence in refusal(common.link, pii) if common.link else ():
            self.sections.tell(locate(entry.node, ("link",), entry.key_at).node.at, sentence)
        return DatasetConfig(
            name,
            common.source,
            settings,
            common.id,
            common.where,
            derived,
            pii,
            common.money,
            common.timezone,
            common.references,
            common.holidays,
            common.incremental,
            tuple(dict.fromkeys(common.display)),
            common.link,
            common.was.id if common.was is not None else (),
        )

    def _rule(self, name: str, entry: Entry) -> Rule | None:
        if name == "all":
            self.sections.tell(entry.key_at, "`all` means every rule in a job; give this rule another name")
        if not self.sections.use_preset(name):
            return None
        entry = self.sections["rules"][name]
        try:
            if not self.sections.use_files(name, file_settings(entry.node, Kinds("rules"))):
                return None
            entry = self.sections["rules"][name]
            rule, problems = load_rule(name, entry, Kinds("rules"), Kinds("normalisers"), Kinds("actions"))
        except (ImportError, AttributeError) as error:
            self.sections.tell(
                entry.key_at, f"rule `{short(name)}` cannot be loaded: {error}; install its dependencies"
            )
            return None
        self.sections.problems += problems
        for key in (
            (*rule.dataset_keys(), *rule.dataset_lists, *rule.dataset_paths) if rule is not None else ("dataset",)
        ):
            self._check_references(entry, key, "datasets")
        for lookup, at in lookup_places(rule, entry.node) if rule is not None else ():
            if lookup.dataset not in self.sections["datasets"]:
                self._tell_unknown(at, "dataset", lookup.dataset, self.sections["datasets"])
        return rule

    def _job(self, name: str, entry: Entry, top: TopSettings | None) -> JobConfig | None:
        what = f"job `{short(name)}`"
        self._refuse_secrets(JobEntry, entry.node)
        job: JobEntry | None = self._read(ModelReader(JobEntry, what, later=_LATER["jobs"]), entry.node, entry.key_at)
        self._check_names_of_job(entry)
        if job is None:
            return None
        if not job.rules:
            self.sections.tell(entry.key_at, f"{what} names no rule, so it checks nothing; write `rules: all`")
        values = {key: getattr(job, key) for key in _JOB_SETTINGS}
        values |= {key: tuple(dict.fromkeys(getattr(job, key))) for key in ("notify", "after", "watch")}
        is_all = "all" in job.rules
        rules = tuple(self.sections["rules"]) if is_all else tuple(dict.fromkeys(job.rules))
        schedule = job.schedule.in_zone(top.timezone if top else "UTC") if job.schedule else None
        return JobConfig(name, rules, schedule=schedule, **values)

    def _check_names_of_job(self, entry: Entry) -> None:
        places = {"rules": "rules", "notify": "channels", "after": "jobs", "watch": "datasets"}
        for key, section in places.items():
            written = entry.node.entries.get(key) if isinstance(entry.node, MapNode) else None
            for at, listed_name in _names_in(written.node) if written else ():
                if listed_name not in self.sections[section] and (key, listed_name) != ("rules", "all"):
                    self._tell_unknown(at, section[:-1], listed_name, self.sections[section])

    def _check_alerts(self) -> None:
        written = self.sections.top.entries.get("alerts")
        for at, name in _names_in(written.node) if written else ():
            if name not in self.sections["channels"]:
                self._tell_unknown(at, "channel", name, self.sections["channels"])

    def _check_anchors(self, top: TopSettings | None) -> None:
        """Check that anchors in Slack name a channel with a token."""
        for name, anchor in top.audit.anchors.items() if top else ():
            channel = getattr(anchor, "channel", None)
            if channel is None:
                continue
            at = locate(self.sections.top.entries["audit"].node, ("anchors", name, "channel")).node.at
            if channel not in self.sections["channels"]:
                self._tell_unknown(at, "channel", channel, self.sections["channels"])
                continue
            settings = {key: setting.node for key, setting in _entries(self.sections["channels"][channel])}
            kind = settings.get("type")
            if not isinstance(kind, ScalarNode) or kind.text != "slack" or "token" not in settings:
                self.sections.tell(
                    at, f"channel `{short(channel)}` cannot hold an anchor; name a Slack channel with a `token`"
                )

    def _check_after(self, jobs: Mapping[str, JobConfig]) -> None:
        """Report jobs that wait for each other in a cycle: they would never run."""
        for name, job in jobs.items():
            waits_for, reachable = set(job.after), set[str]()
            while waits_for - reachable:
                waiting = (waits_for - reachable).pop()
                reachable.add(waiting)
                waits_for |= set(jobs[waiting].after) if waiting in jobs else set()
            if name in reachable:
                at = locate(self.sections["jobs"][name].node, ("after",)).node.at
                self.sections.tell(at, f"job `{short(name)}` waits for itself; break the cycle in `after`")

    def _check_watched(self, jobs: Mapping[str, JobConfig], datasets: Mapping[str, DatasetConfig]) -> None:
        """Check that the sources of watched datasets can detect changes cheaply."""
        from connectors.base import Watchable  # noqa: PLC0415 - loaded with the connectors already

        for name, job in jobs.items():
            for dataset in job.watch:
                source = datasets[dataset].source if dataset in datasets else None
                if source in self.connectors and not issubclass(self.connectors[source], Watchable):
                    written = locate(self.sections["jobs"][name].node, ("watch",)).node
                    at = next((at for at, written_name in _names_in(written) if written_name == dataset), written.at)
                    sentence = f"source `{short(source)}` does not report changes; use a `schedule`, or watch files"
                    self.sections.tell(at, f"dataset `{short(dataset)}` cannot be watched: {sentence}")

    def _check_reference(self, entry: Entry, key: str, section: str) -> str | None:
        """Return the name under a key; report it if the section does not have it."""
        written = entry.node.entries.get(key) if isinstance(entry.node, MapNode) else None
        name = written.node.text if written and isinstance(written.node, ScalarNode) else None
        if written and name is not None and name not in self.sections[section]:
            self._tell_unknown(written.node.at, section[:-1], name, self.sections[section])
        return name

    def _check_references(self, entry: Entry, key: str, section: str) -> None:
        """Report each name under a key, one or a list, that the section does not have; `a.b` is b inside a."""
        written: Entry | None = entry
        for step in key.split("."):
            written = written.node.entries.get(step) if written and isinstance(written.node, MapNode) else None
        for at, name in _names_in(written.node) if written else ():
            if name not in self.sections[section]:
                self._tell_unknown(at, section[:-1], name, self.sections[section])

    def _tell_unknown(self, at: Position, kind: str, name: str, names: Iterable[str]) -> None:
        if self.sections.whole:
            self.sections.tell(at, f"there is no {kind} `{short(name)}`; {suggestion(name, names)}")

    def _check_something_is_checked(self) -> None:
        if not self.sections["rules"] and not self.sections.problems:
            self.sections.tell(
                self.sections.top.at, "there are no rules; add one to `rules:`, or let `reconcile suggest` propose some"
            )

    def _check_former_names(self, rules: Mapping[str, Rule]) -> None:
        continued_by: dict[str | None, str] = {}
        for name, rule in rules.items():
            if rule.was in (None, name):  # its own name: the same rule, of another kind
                continue
            at = locate(self.sections["rules"][name].node, ("was",)).node.at
            if rule.was in self.sections["rules"]:
                self.sections.tell(
                    at, f"rule `{rule.was}` still exists, so `{name}` cannot continue its findings; remove `was`"
                )
            elif rule.was in continued_by:
                self.sections.tell(
                    at, f"rule `{continued_by[rule.was]}` also continues `{rule.was}`; keep `was` in one of them"
                )
            continued_by.setdefault(rule.was, name)

    def _check_findable(self, datasets: Mapping[str, DatasetConfig], rules: Mapping[str, Rule]) -> None:
        """Report rules that cannot find anything: they would pass every day."""
        for name, rule in rules.items():
            if not datasets.keys() >= set(rule.datasets):
                continue
            read = {each: datasets[each] for each in rule.datasets}
            facts = {each: DatasetFacts(one.id, one.where, one.derived) for each, one in read.items()}
            entry = self.sections["rules"][name]
            for path, sentence in kind_of(rule).barren(rule, facts):
                at = locate(entry.node, path, entry.key_at).node.at
                self.sections.tell(at, f"`{path[0]}`: {sentence}; rule `{short(name)}` would never find anything")

    def _check_masked(self, datasets: Mapping[str, DatasetConfig], rules: Mapping[str, Rule]) -> None:
        """Report personal data that another dataset of a rule shows in clear, because only one of them masks it."""
        for name, rule in rules.items():
            entry = self.sections["rules"][name]
            for path, sentence in shown_in_clear(rule, datasets) if datasets.keys() >= set(rule.datasets) else ():
                self.sections.tell(locate(entry.node, path, entry.key_at).node.at, sentence)

    def _warn_of_unused(
        self,
        datasets: Mapping[str, DatasetConfig],
        rules: Mapping[str, Rule],
        jobs: Mapping[str, JobConfig],
        channels: set[str],
    ) -> None:
        used = {
            "sources": {d.source for d in datasets.values()},
            "datasets": {dataset for rule in rules.values() for dataset in rule.datasets},
            "rules": {r for job in jobs.values() for r in job.rules} if jobs else set(rules),
            "channels": channels if jobs else set(self.sections["channels"]),
        }
        unused = {
            "sources": "no dataset reads",
            "datasets": "no rule reads",
            "rules": "no job runs",
            "channels": "no job notifies",
        }
        for section, names in used.items():
            for name, entry in self.sections[section].items():
                if name not in names:
                    sentence = f"{unused[section]} {section[:-1]} `{name}`; use it or remove it"
                    self.warnings.append(Mistake.at(entry.key_at, sentence))

    def _is_news(self, problem: Mistake) -> bool:
        """Return False for further mistakes of a value that could not be read or resolved."""
        return Position(problem.file, problem.line, problem.column) not in self.sections.doubtful


def _of_all_jobs(channels: Iterable[str], alerts: Iterable[str]) -> tuple[str, ...]:
    """Return the channels of the default job: not those for operators, if there are others."""
    return tuple(channel for channel in channels if channel not in alerts) or tuple(channels)


def _with_derived(pii: tuple[str, ...], derived: Mapping[str, str]) -> tuple[str, ...]:
    """Return columns with personal data, and columns computed from them; each may use earlier ones."""
    columns = list(pii)
    for name, text in derived.items():
        with contextlib.suppress(RuleError):  # reported by _dataset_expressions
            if name not in columns and not set(columns).isdisjoint(parse(text).columns):
                columns.append(name)
    return tuple(columns)


def _dataset_expressions(node: Node) -> Iterator[Mistake]:
    """Yield the mistakes in a dataset's expressions: its `where` and its derived columns."""
    if isinstance(node, MapNode):
        yield from expression_problems(node, {"where": parse})
        columns = node.entries.get("columns")
        for entry in columns.node.entries.values() if columns and isinstance(columns.node, MapNode) else ():
            if isinstance(entry.node, MapNode):
                yield from expression_problems(entry.node, {"is": parse})


def _entries(entry: Entry) -> Iterable[tuple[str, Entry]]:
    return entry.node.entries.items() if isinstance(entry.node, MapNode) else ()


def _keys(entry: Entry) -> set[str]:
    return {key for key, _ in _entries(entry)}


def _names_in(node: Node) -> Iterator[tuple[Position, str]]:
    """Yield the names in a setting, a name or a list, with positions."""
    for item in node.items if isinstance(node, ListNode) else (node,):
        if isinstance(item, ScalarNode) and item.text is not None:
            yield item.at, item.text


def _shared_settings(model: type[BaseModel], common: DatasetEntry) -> dict[str, Any]:
    """Return the common settings of a dataset that the connector's model also has."""
    types = {column: declaration.type for column, declaration in common.columns.items() if declaration.type is not None}
    values: dict[str, Any] = {"columns": types, "id": common.id}
    if "timezone" in common.model_fields_set:  # else a source may know the zone of its own times
        values["timezone"] = common.timezone
    return {key: value for key, value in values.items() if key in model.model_fields}
