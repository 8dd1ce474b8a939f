"""`reconcile check`: connect, compare columns and types, and report problems before a run meets them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from connectors.base import Replicated
from connectors.errors import AccessDenied, ConnectorError, SourceMissing, SourceUnavailable
from connectors.target import Catalogue, Target, TargetRefused
from notifications.base import Checkable
from notifications.errors import ChannelError
from reconcile.app import Application
from reconcile.detection import blocks, detect, increments, subtotals, titles, without_effect
from reconcile.detection.detect import RuleDoesNotFit
from reconcile.detection.examples import example_mistakes
from reconcile.detection.proposals import compared_as_text, proposals
from reconcile.detection.subject import Subject, Subjects
from reconcile.documents import JsonObject
from reconcile.errors import Failed, Wrong
from reconcile.journal import ownership
from reconcile.runs.history import in_words
from reconcile.store import REVISION, Store, StoreError
from rules.document.mistakes import listed
from rules.document.tree import MapNode
from rules.kinds.base import Fitted, Rule

_OF_CLEAN = re.compile(r"`(\w+)`(?: (?:sets|names) `([^`]+)`)?")
"""How a mistake in `clean` begins: with the setting, and the column that it is about."""
_UNREAD = re.compile(r"values of `([^`]+)`")
"""The column that a sentence about unreadable values is about."""
_PLACE_SETTINGS = ("table", "query", "path", "sheet", "url", "root")
"""Settings that say where a source or dataset is."""
_OK, _WRONG, _FAILED = 0, Wrong.exit_code, Failed.exit_code


def _code_for(error: ConnectorError) -> int:
    """Return the exit code: wrong for a missing table or column, failed for a source that does not answer."""
    return _FAILED if isinstance(error, SourceUnavailable) else _WRONG


@dataclass(frozen=True)
class Look:
    """The result of one check: its subject, a sentence, the exit code, and warnings, which do not change the code."""

    subject: str
    sentence: str
    code: int = _OK
    warnings: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        return self.code != _OK

    def to_json(self) -> JsonObject:
        return {"subject": self.subject, "ok": not self.wrong, "sentence": self.sentence}


def state(application: Application) -> Look:
    """Check the state database without creating or upgrading it."""
    try:
        place, revision = Store.found_at(application.project.state.get_secret_value(), application.project.directory)
    except StoreError as error:
        return Look("state", str(error), error.exit_code)
    if revision is None:
        return Look("state", f"none yet; the first run creates it in {place}")
    return Look("state", f"{place}, schema {revision}")


def look(application: Application, source: str | None = None) -> Iterator[Look]:
    """Check every source, dataset, rule and channel in order; with `source`, only that source and its readers.

    Raises NameUnknown for a source that is not in the configuration.
    """
    project = application.project
    if source is not None:
        application.require("source", source, tuple(project.sources))
    looks = {name: _source(application, name) for name in (project.sources if source is None else (source,))}
    yield from looks.values()
    subjects: dict[str, Subject] = {}
    undeclared: dict[str, Mapping[str, str]] = {}
    for dataset in project.datasets.values():
        if dataset.source in looks and looks[dataset.source].wrong:
            sentence = f"skipped: source {dataset.source} is unavailable"
            yield Look(f"dataset {dataset.name}", sentence, looks[dataset.source].code)
        elif dataset.source in looks:
            yield _dataset(application, dataset.name, subjects, undeclared)
    yield from _rules(application, subjects, undeclared)
    if source is None:
        for name in project.channels:
            yield _channel(application, name)


def _rules(application: Application, subjects: Subjects, undeclared: Mapping[str, Mapping[str, str]]) -> Iterator[Look]:
    """Check every rule whose datasets are all among these, and the owner of what it cleans."""
    owners: set[str] = set()
    for rule in application.project.rules.values():
        if subjects.keys() >= set(rule.datasets):
            rule_look = _rule(application, rule, {name: subjects[name] for name in rule.datasets}, undeclared)
            yield rule_look
            if not rule_look.wrong:
                yield from _examples(application, rule, subjects)
            if rule.clean is not None and not rule_look.wrong:
                yield from _owner(application, rule.cleaned, subjects[rule.cleaned], owners)


def _source(application: Application, name: str) -> Look:
    try:
        source = application.sources[name]
        datasets = source.datasets()
    except ConnectorError as error:
        is_setting = isinstance(error, SourceMissing | AccessDenied)
        sentence = _at_place(application, "sources", name, str(error)) if is_setting else str(error)
        return Look(f"source {name}", sentence, _code_for(error))
    names = ", ".join(datasets[:5]) + (f" and {len(datasets) - 5} more" if len(datasets) > 5 else "")
    is_used = any(dataset.source == name for dataset in application.project.datasets.values())
    empty = "reachable" if is_used else "reachable; it is empty"  # its datasets can be in folders of it
    sentence = f"reachable; it contains {names}" if datasets else empty
    replica = source.replica if isinstance(source, Replicated) else None
    return Look(f"source {name}", f"{sentence}; runs read its replica at {replica}" if replica else sentence)


def _dataset(
    application: Application, name: str, subjects: dict[str, Subject], undeclared: dict[str, Mapping[str, str]]
) -> Look:
    """Check a dataset; add it to `subjects`, and the likely types of its columns of texts to `undeclared`."""
    warnings = _titles(application, name)
    settings = application.project.datasets[name].settings
    warnings += tuple(f"dataset {name}: {remark}" for remark in without_effect.remarks(settings))
    try:
        subject = subjects[name] = application.subject(name)
        warnings += tuple(f"dataset {name}: {problem.first}: {problem.reason}" for problem in subject.warnings())
        proposed = proposals(subject)
        undeclared[name] = proposed.types
        warnings += tuple(f"dataset {name}: {remark}" for remark in proposed.remarks)
        if repeated := blocks.written_once(subject):
            warnings += (f"dataset {name}: {blocks.remark(repeated)}",)
        if totals := subtotals.noticed(subject, dt.datetime.now(dt.UTC)):
            warnings += (f"dataset {name}: {totals.sentence}",)
    except ConnectorError as error:
        is_setting = not isinstance(error, SourceUnavailable)
        sentence = _at_place(application, "datasets", name, str(error)) if is_setting else str(error)
        return Look(f"dataset {name}", sentence, _code_for(error), warnings)
    if proposed.wrong:
        placed = (_at_column(application, name, sentence) for sentence in proposed.wrong)
        return Look(f"dataset {name}", "; ".join(placed), _WRONG, warnings)
    columns = ", ".join(f"{column.name} {column.type.value}" for column in subject.relation.schema)
    unnamed = "" if subject.relation.id else "; it has no `id`, so content and place identify its records"
    return Look(f"dataset {name}", f"{columns}{unnamed}", warnings=warnings)


def _at_place(application: Application, section: str, name: str, sentence: str) -> str:
    """Return the sentence with the place in the file where a source or dataset says where it is."""
    written = application.project.entries.get(section, {}).get(name)
    settings = written.node.entries if written is not None and isinstance(written.node, MapNode) else {}
    setting = next((setting for setting in _PLACE_SETTINGS if setting in settings), None)
    return application.project.at_path(name, sentence, (setting,) if setting else (), section)


def _at_column(application: Application, dataset: str, sentence: str) -> str:
    """Return a sentence about unreadable values with the place of the column's type."""
    named = _UNREAD.search(sentence)
    path = ("columns", named[1]) if named else ()
    return application.project.at_path(dataset, sentence, path, "datasets")


def _titles(application: Application, name: str) -> tuple[str, ...]:
    """Return the sentence about a title above the header of a dataset, if its source can be opened."""
    dataset = application.project.datasets[name]
    try:
        remark = titles.remark(application.sources[dataset.source], dataset.settings)
    except ConnectorError:
        return ()  # reported with the source
    return () if remark is None else (f"dataset {name}: {remark}",)


def _rule(
    application: Application, rule: Rule, subjects: Subjects, undeclared: Mapping[str, Mapping[str, str]]
) -> Look:
    try:
        fitted = detect.fit(rule, subjects)
        choice = detect.choose(rule, fitted, subjects)
    except RuleDoesNotFit as error:
        sentence = application.project.at_setting(rule.name, str(error), error.mistakes[0])
        return Look(f"rule {rule.name}", sentence, _WRONG)
    named = fitted.named
    compared = {name: set(named.get(name, ())).difference(rule.read_by_meaning(name)) for name in rule.datasets}
    remarks = (compared_as_text(name, columns, undeclared.get(name, {})) for name, columns in compared.items())
    result = Look(
        f"rule {rule.name}",
        f"fits; {choice.engine}, because {choice.reason}{_increments(rule, fitted, subjects)}",
        warnings=tuple(f"rule {rule.name}: it {remark}" for remark in remarks if remark),
    )
    return result if rule.clean is None else _cleaning(application, rule, fitted, subjects, result)


def _increments(rule: Rule, fitted: Fitted, subjects: Subjects) -> str:
    """Return whether runs can read only what changed, as the end of a sentence, if a dataset asks for it."""
    if all(subject.dataset.incremental is None for subject in subjects.values()):
        return ""
    try:
        obstacle = increments.any_obstacle(rule, fitted, subjects)
    except ConnectorError:
        return ""  # reported with the source
    if obstacle:
        return f"; every run is full, because {obstacle}"
    asking = next(subject for subject in subjects.values() if subject.dataset.incremental is not None)
    assert asking.dataset.incremental is not None  # noqa: S101 - chosen for it
    return f"; {in_words(asking.dataset.incremental, asking.source)}"


def _examples(application: Application, rule: Rule, subjects: Subjects) -> Iterator[Look]:
    for mistake in example_mistakes(rule, application.project.datasets, subjects.__getitem__):
        yield Look(f"examples of {rule.name}", str(mistake), _WRONG)


def _cleaning(application: Application, rule: Rule, fitted: Fitted, subjects: Subjects, result: Look) -> Look:
    """Check that the rule's `clean` fits the table as its target describes it."""
    from reconcile.cleaning.planning import plan  # noqa: PLC0415 - only for rules that clean

    assert rule.clean is not None  # noqa: S101 - the caller checked it
    subject = subjects[rule.cleaned]
    if not isinstance(subject.source, Target):
        return Look(result.subject, f"{result.sentence}; source {subject.dataset.source} cannot be cleaned", _WRONG)
    try:
        links = plan.soft_links(subject.dataset)
        catalogue = subject.source.catalogue(subject.dataset.settings, links)
        place = plan.place(subject.source, subject.dataset, subject.relation, catalogue)
        mistakes = [*plan.mistakes(rule, place, fitted), *plan.hidden_rows(rule, subjects)]
    except ConnectorError as error:
        return Look(result.subject, str(error), _code_for(error))
    if mistakes:
        placed = (_at_setting(application, rule, mistake) for mistake in mistakes)
        return Look(result.subject, "; ".join(placed), _WRONG)
    return replace(result, sentence=f"{result.sentence}; {_conditions(rule, catalogue)}")


def _at_setting(application: Application, rule: Rule, mistake: str) -> str:
    """Return a mistake with the place of the setting of `clean` that it begins with, and of the column there."""
    named = _OF_CLEAN.match(mistake)
    path = ("clean", named[1], "set", named[2]) if named else ("clean",)
    return application.project.at_path(rule.name, mistake, tuple(filter(None, path)))


def _owner(application: Application, dataset: str, subject: Subject, checked: set[str]) -> Iterator[Look]:
    """Report another state that cleans the dataset, or a failure to find out; `checked` holds the checked datasets."""
    if dataset in checked:
        return
    checked.add(dataset)
    topic = f"cleaning of dataset {dataset}"
    try:
        _, revision = Store.found_at(application.project.state.get_secret_value(), application.project.directory)
        if revision is not None and revision < REVISION:
            return  # to check the owner would upgrade the state
        target = application.target(subject.dataset.source)
        store = None if revision is None else application.store
        ownership.must_be_ours(store, target, target.table(subject.dataset.settings))
    except (TargetRefused, ownership.OwnershipRefused) as error:
        yield Look(topic, str(error), error.exit_code)
    except StoreError:
        return  # reported with the state
    except ConnectorError as error:
        yield Look(topic, str(error), _code_for(error))


def _conditions(rule: Rule, catalogue: Catalogue) -> str:
    """Return the conditions of the cleaning, as the end of a sentence."""
    assert rule.clean is not None  # noqa: S101 - the caller checked it
    which = f" {listed(rule.clean.forms)} findings in {rule.cleaned}" if rule.clean.forms else ""
    facts = [f"it cleans{which} by {rule.clean.action}"]
    referring = sorted({reference.table for reference in catalogue.references})
    if referring:
        facts.append(f"rows of {listed(referring)} can refer to its records, `references: {rule.clean.references}`")
    triggers = sorted({name for table in catalogue.tables.values() for name in table.triggers})
    if triggers:
        approval = "" if rule.clean.triggers else ", so each plan needs approval until the rule sets `triggers: known`"
        facts.append(f"triggers fire: {listed(triggers)}{approval}")
    return "; ".join([*facts, *(remark.rstrip(".") for remark in catalogue.remarks)])


def _channel(application: Application, name: str) -> Look:
    try:
        channel = application.channels[name]
        if isinstance(channel, Checkable):
            channel.check()
    except ChannelError as error:
        return Look(f"channel {name}", str(error), _FAILED)
    return Look(f"channel {name}", f"configured; `reconcile notify test {name}` sends a test message")
