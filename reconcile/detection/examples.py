"""Run the examples of a rule on every engine that can, and compare what it finds with what they expect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from connectors.base import Queryable
from connectors.errors import ConnectorError
from reconcile.config.settings import DatasetConfig
from reconcile.detection.detect import Budget
from reconcile.detection.samples import DatasetSample, sample
from reconcile.detection.subject import Subject
from reconcile.plugins import kind_of
from rules.document.mistakes import Mistake, listed
from rules.engines.base import Pushed, Records, Streamed
from rules.examples.judging import ExampleDifferences, compare, shape
from rules.examples.typed import TypedExample, typed_examples
from rules.kinds.base import DoesNotFit, Fitted, Rule


@dataclass(frozen=True)
class ExampleResult:
    """One example with its comparison by engine."""

    example: TypedExample
    by_engine: Mapping[str, ExampleDifferences]

    @property
    def passed(self) -> bool:
        return all(comparison.agrees for comparison in self.by_engine.values())


@dataclass(frozen=True)
class RuleTest:
    """The examples of a rule. With mistakes, none of them ran.

    `not_run` maps an engine that was not tried to the reason, `guessed` a dataset to columns with inferred types.
    """

    rule: Rule
    results: tuple[ExampleResult, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    not_run: Mapping[str, str] = field(default_factory=dict)
    guessed: Mapping[str, DatasetSample] = field(default_factory=dict)


OpenDataset = Callable[[str], Subject]


def example_mistakes(rule: Rule, datasets: Mapping[str, DatasetConfig], open_dataset: OpenDataset) -> list[Mistake]:
    """Return the mistakes in the rule's examples; runs none of them."""
    return _Prepared.of(rule, datasets, open_dataset).mistakes if rule.examples else []


def try_examples(
    rule: Rule, datasets: Mapping[str, DatasetConfig], open_dataset: OpenDataset, budget: Budget
) -> RuleTest:
    """Run the rule's examples: embedded, and in its database if that answers. Nothing is written anywhere."""
    if not rule.examples:
        return RuleTest(rule)
    prepared = _Prepared.of(rule, datasets, open_dataset)
    guessed = {name: given for name, given in prepared.samples.items() if given.guessed}
    if prepared.mistakes or prepared.fitted is None:
        return RuleTest(rule, mistakes=tuple(prepared.mistakes), guessed=guessed)
    trial = _Trial(rule, prepared.fitted, prepared.samples, prepared.examples, budget)
    by_engine = {"embedded": trial.embedded()}
    not_run: dict[str, str] = {}
    source, obstacle = _database(rule, prepared.fitted, prepared.samples)
    if source is None:
        not_run["pushdown"] = obstacle
    else:
        try:
            by_engine[f"pushdown ({source.dialect})"] = trial.pushed(source)
        except ConnectorError as error:
            not_run["pushdown"] = str(error).rstrip(".")
    results = (
        ExampleResult(example, {engine: comparisons[number] for engine, comparisons in by_engine.items()})
        for number, example in enumerate(prepared.examples)
    )
    return RuleTest(rule, tuple(results), not_run=not_run, guessed=guessed)


@dataclass(frozen=True)
class _Prepared:
    """The datasets, the rule fitted to them, and its typed examples; or the mistakes."""

    samples: Mapping[str, DatasetSample]
    examples: Sequence[TypedExample]
    mistakes: list[Mistake]
    fitted: Fitted | None = None

    @classmethod
    def of(cls, rule: Rule, datasets: Mapping[str, DatasetConfig], open_dataset: OpenDataset) -> _Prepared:
        samples = {name: sample(datasets[name], open_dataset, rule.examples) for name in rule.datasets}
        sampled = {
            name: replace(given.dataset, is_compared=name in rule.member_datasets) for name, given in samples.items()
        }
        typed, mistakes = typed_examples(rule.examples, sampled)
        if mistakes:
            return cls(samples, (), mistakes)
        relations = {name: given.dataset.relation for name, given in samples.items()}
        try:
            return cls(samples, typed, [], kind_of(rule).fit(rule, relations))
        except DoesNotFit as misfit:
            at, subject = rule.examples[0].at, f"rule `{rule.name}` does not fit dataset {listed(rule.datasets)}"
            return cls(samples, (), [Mistake.at(at, f"{subject}: {mistake}") for mistake in misfit.mistakes])


def _database(rule: Rule, fitted: Fitted, samples: Mapping[str, DatasetSample]) -> tuple[Queryable | None, str]:
    """Return the database that can run the examples, or None and the reason."""
    compared = [samples[name] for name in rule.member_datasets]
    sources = {given.live.source.name: given.live.source for given in compared if given.live is not None}
    reason = next((given.reason for given in compared if given.live is None), None)
    if reason is not None:
        return None, reason
    for name, source in sources.items():
        if not isinstance(source, Queryable):
            return None, f"source {name!r} cannot run queries"
    if rule.engine == "embedded":
        return None, "the rule sets `engine: embedded`"
    source, *other_sources = sources.values()
    assert isinstance(source, Queryable)  # noqa: S101 - checked above
    obstacle = "its datasets are in several sources" if other_sources else fitted.obstacle(source.dialect)
    return (None, obstacle) if obstacle else (source, "")


@dataclass(frozen=True)
class _Trial:
    """The examples of a fitted rule, run on one engine after the other."""

    rule: Rule
    fitted: Fitted
    samples: Mapping[str, DatasetSample]
    examples: Sequence[TypedExample]
    budget: Budget

    def embedded(self) -> list[ExampleDifferences]:
        return [
            self._compared(example, {name: _streamed(table) for name, table in self._tables(example).items()})
            for example in self.examples
        ]

    def pushed(self, source: Queryable) -> list[ExampleDifferences]:
        """Compare inside the database: the records are constants of the query, in place of the table."""
        lives = {name: self.samples[name].live for name in self.rule.member_datasets}
        relations = {name: source.relation(live.dataset.settings) for name, live in lives.items() if live is not None}
        with source.snapshot() as snapshot:
            return [
                self._compared(
                    example,
                    {
                        name: Pushed(
                            source.dialect, source.stand_in(relations[name], table), snapshot.query, snapshot.whole
                        )
                        if name in relations
                        else _streamed(table)
                        for name, table in self._tables(example).items()
                    },
                )
                for example in self.examples
            ]

    def _tables(self, example: TypedExample) -> dict[str, pa.Table]:
        return {name: given.table(example.records[name]) for name, given in self.samples.items()}

    def _compared(self, example: TypedExample, records: Mapping[str, Records]) -> ExampleDifferences:
        detection = self.fitted.detect(records, example.slot, self.budget.memory, self.budget.folder)
        return compare(example.expect, [shape(group, example, self.rule.dataset) for group in detection.groups])


def _streamed(table: pa.Table) -> Streamed:
    return Streamed(lambda columns: table.select(list(columns)).to_reader())
