"""`reconcile check`: connect, compare columns and types, and say what a run would stumble over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from connectors.errors import ConnectorError, is_of_the_source
from connectors.target import Catalogue, Target, TargetRefused
from notifications.base import Checkable
from notifications.errors import ChannelError
from reconcile.app import Application
from reconcile.detection import detect
from reconcile.detection.detect import RuleDoesNotFit, Subject, Subjects
from reconcile.detection.proposals import proposals
from reconcile.journal import ownership
from reconcile.store import Store, StoreError, tables
from reconcile.store.errors import StoreMisnamed
from rules.document.mistakes import listed
from rules.kinds.base import Fitted, Rule

_OK, _WRONG, _FAILED, _REFUSED = 0, 2, 3, 4


def _asks_for(error: ConnectorError) -> int:
    """A table that is not there is as wrong as a column that is not; a source that does not answer failed."""
    return _FAILED if is_of_the_source(error) else _WRONG


@dataclass(frozen=True)
class Look:
    """What was looked at, and what was seen there. `code` is the exit code it asks for; `warnings` stop nothing."""

    subject: str
    sentence: str
    code: int = _OK
    warnings: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        return self.code != _OK

    def to_json(self) -> dict[str, Any]:
        return {"subject": self.subject, "ok": not self.wrong, "sentence": self.sentence}


def state(application: Application) -> Look:
    """Where findings are kept, which is left as it is: not made, not upgraded."""
    try:
        where, found = Store.found_at(application.project.state.get_secret_value(), application.project.directory)
    except StoreError as error:
        return Look("state", str(error), _WRONG if isinstance(error, StoreMisnamed) else _FAILED)
    if found is None:
        return Look("state", f"there is none yet; the first run makes it in {where}")
    return Look("state", f"{where}, schema {found}")


def look(application: Application, source: str | None = None) -> Iterator[Look]:
    """Every source, dataset, rule and channel in order; with `source`, only it and what reads it.

    Raises NameUnknown for a source the configuration does not have.
    """
    project = application.project
    if source is not None:
        application.require("source", source, tuple(project.sources))
    seen = {name: _source(application, name) for name in (project.sources if source is None else (source,))}
    yield from seen.values()
    subjects: dict[str, Subject] = {}
    owners: set[str] = set()
    for dataset in project.datasets.values():
        if dataset.source in seen and seen[dataset.source].wrong:
            sentence = f"not looked at, since source {dataset.source} cannot be"
            yield Look(f"dataset {dataset.name}", sentence, seen[dataset.source].code)
        elif dataset.source in seen:
            yield _dataset(application, dataset.name, subjects)
    for rule in project.rules.values():
        if subjects.keys() >= set(rule.datasets):
            seen_rule = _rule(rule, {name: subjects[name] for name in rule.datasets})
            yield seen_rule
            if rule.clean is not None and not seen_rule.wrong:
                yield from _owner(application, rule.dataset, subjects[rule.dataset], owners)
    if source is None:
        for name in project.channels:
            yield _channel(application, name)


def _source(application: Application, name: str) -> Look:
    try:
        found = application.sources[name].datasets()
    except ConnectorError as error:
        return Look(f"source {name}", str(error), _asks_for(error))
    some = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
    return Look(f"source {name}", f"answers; it holds {some}" if found else "answers; it holds nothing to read yet")


def _dataset(application: Application, name: str, subjects: dict[str, Subject]) -> Look:
    try:
        subject = subjects[name] = application.subject(name)
        warnings = tuple(f"dataset {name}: {one.first}: {one.reason}" for one in subject.warnings())
        proposed = proposals(subject)
        warnings += tuple(f"dataset {name}: {remark}" for remark in proposed.remarks)
    except ConnectorError as error:
        return Look(f"dataset {name}", str(error), _asks_for(error))
    if proposed.wrong:
        return Look(f"dataset {name}", "; ".join(proposed.wrong), _WRONG, warnings)
    columns = ", ".join(f"{c.name} {c.type.value}" for c in subject.relation.schema)
    unnamed = "" if subject.relation.id else "; it has no `id`, so its records are named by their content and place"
    return Look(f"dataset {name}", f"{columns}{unnamed}", warnings=warnings)


def _rule(rule: Rule, subjects: Subjects) -> Look:
    try:
        fitted = detect.fit(rule, subjects)
        choice = detect.choose(rule, fitted, subjects)
    except RuleDoesNotFit as error:
        return Look(f"rule {rule.name}", str(error), _WRONG)
    seen = Look(f"rule {rule.name}", f"fits; {choice.engine}, because {choice.reason}")
    return seen if rule.clean is None else _cleaning(rule, fitted, subjects[rule.dataset], seen)


def _cleaning(rule: Rule, fitted: Fitted, subject: Subject, seen: Look) -> Look:
    """Whether what the rule does about its findings fits the table as its database describes it."""
    from reconcile.cleaning.planning import plan  # noqa: PLC0415 - only for rules that clean

    assert rule.clean is not None  # noqa: S101 - the caller looked
    if not isinstance(subject.source, Target):
        return Look(seen.subject, f"{seen.sentence}; source {subject.dataset.source} cannot be cleaned", _WRONG)
    try:
        links = plan.soft_links(subject.dataset)
        catalogue = subject.source.catalogue(subject.dataset.settings, links)
        place = plan.place(subject.source, subject.dataset, subject.relation, catalogue)
        wrong = plan.mistakes(rule, place, fitted)
    except TargetRefused as error:
        return Look(seen.subject, str(error), _WRONG)
    except ConnectorError as error:
        return Look(seen.subject, str(error), _asks_for(error))
    if wrong:
        return Look(seen.subject, "; ".join(wrong), _WRONG)
    return Look(seen.subject, f"{seen.sentence}; {_means(rule, catalogue)}")


def _owner(application: Application, dataset: str, subject: Subject, looked: set[str]) -> Iterator[Look]:
    """Who cleans there, where that is another state or cannot be told; `looked` are the datasets that were asked of."""
    if dataset in looked:
        return
    looked.add(dataset)
    about = f"cleaning of dataset {dataset}"
    try:
        _, found = Store.found_at(application.project.state.get_secret_value(), application.project.directory)
        if found is not None and found < tables.REVISION:
            return  # who asks it upgrades it
        target = application.target(subject.dataset.source)
        store = None if found is None else application.store
        ownership.must_be_ours(store, target, target.table(subject.dataset.settings))
    except (TargetRefused, ownership.OwnershipRefused) as error:
        yield Look(about, str(error), _REFUSED)
    except StoreError:
        return  # told where the state was looked at
    except ConnectorError as error:
        yield Look(about, str(error), _asks_for(error))


def _means(rule: Rule, catalogue: Catalogue) -> str:
    """What cleaning has to mind there, as the end of a sentence."""
    assert rule.clean is not None  # noqa: S101 - the caller looked
    facts = [f"it cleans by {rule.clean.action}"]
    referring = sorted({one.table for one in catalogue.references})
    if referring:
        facts.append(f"rows of {listed(referring)} may refer to its records, `references: {rule.clean.references}`")
    triggers = sorted({name for table in catalogue.tables.values() for name in table.triggers})
    if triggers:
        without = "" if rule.clean.triggers else ", so people are asked until the rule says `triggers: known`"
        facts.append(f"triggers fire there: {listed(triggers)}{without}")
    return "; ".join([*facts, *(one.rstrip(".") for one in catalogue.told)])


def _channel(application: Application, name: str) -> Look:
    try:
        channel = application.channels[name]
        if isinstance(channel, Checkable):
            channel.check()
    except ChannelError as error:
        return Look(f"channel {name}", str(error), _FAILED)
    return Look(f"channel {name}", f"is set up; `reconcile notify test {name}` sends a test message")
