"""The tests of rules as people and programs see them: what passed, and how the rest differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from notifications.wording.words import plural
from reconcile.app import Application
from reconcile.detection.examples import ExampleResult, RuleTest, try_examples
from reconcile.documents import JsonObject
from rules.document.mistakes import Mistake, listed
from rules.examples.judging import ExampleDifferences
from rules.examples.typed import GroupShape, TypedExample
from rules.kinds.base import Rule


@dataclass(frozen=True)
class ExamplesReport:
    """The tests of some rules."""

    tests: Sequence[RuleTest]

    @property
    def mistakes(self) -> list[Mistake]:
        return sorted({mistake for test in self.tests for mistake in test.mistakes})

    @cached_property
    def failed(self) -> int:
        return sum(not result.passed for test in self.tests for result in test.results)

    def lines(self) -> Iterator[str]:
        """Yield a line for each example, and below a failed one how the groups differ."""
        for test in self.tests:
            for result in test.results:
                yield from _result_lines(test.rule, result)

    def summary(self) -> Iterator[str]:
        total = sum(len(test.results) for test in self.tests)
        yield f"{plural(total, 'example', 'examples')}: {total - self.failed} passed, {self.failed} failed."
        untested = [test.rule.name for test in self.tests if not test.rule.examples]
        if untested:
            yield f"Without examples: {listed(untested)}."
        for engine, reason, names in self._not_run():
            yield f"Not run by {engine}: {listed(names)}, because {reason}."
        for test in self.tests:
            for dataset, given in test.guessed.items():
                yield f"Types of {listed(given.guessed)} in {dataset} are inferred from the examples: {given.reason}."

    def _not_run(self) -> list[tuple[str, str, list[str]]]:
        names: dict[tuple[str, str], list[str]] = {}
        for test in self.tests:
            for engine, reason in test.not_run.items():
                names.setdefault((engine, reason), []).append(test.rule.name)
        return [(engine, reason, rules) for (engine, reason), rules in names.items()]

    def to_json(self) -> JsonObject:
        return {
            "passed": sum(len(test.results) for test in self.tests) - self.failed,
            "failed": self.failed,
            "mistakes": [str(mistake) for mistake in self.mistakes],
            "rules": [
                {
                    "rule": test.rule.name,
                    "examples": [_result_json(test.rule, result) for result in test.results],
                    "not_run": dict(test.not_run),
                    "inferred": {name: list(given.guessed) for name, given in test.guessed.items()},
                }
                for test in self.tests
            ],
        }


def run(application: Application, rules: Sequence[str]) -> ExamplesReport:
    """Run the examples of these rules, or of all. Raises NameUnknown."""
    chosen = [application.rule(name) for name in rules or application.project.rules]
    datasets = application.project.datasets
    return ExamplesReport([try_examples(rule, datasets, application.subject, application.budget) for rule in chosen])


def _result_lines(rule: Rule, result: ExampleResult) -> Iterator[str]:
    example = result.example.example
    if result.passed:
        yield f"ok      {rule.name}: {example.name} ({', '.join(result.by_engine)})"
        return
    yield f"failed  {rule.name}: {example.name}, {example.place}"
    comparisons = list(result.by_engine.values())
    if all(comparison == comparisons[0] for comparison in comparisons):
        yield from _difference_lines(rule, result.example, comparisons[0])
        return
    for engine, comparison in result.by_engine.items():
        yield f"        {engine}{' agrees' if comparison.agrees else ':'}"
        yield from _difference_lines(rule, result.example, comparison)


def _difference_lines(rule: Rule, example: TypedExample, comparison: ExampleDifferences) -> Iterator[str]:
    words = _Words(rule, example)
    for expected, actual in comparison.different:
        yield f"        expected    {words.group(expected)}"
        yield f"        found       {words.group(actual, with_form=expected.form is not None)}"
    yield from (f"        missing     {words.group(group)}" for group in comparison.missing)
    yield from (f"        unexpected  {words.group(group)}" for group in comparison.unexpected)


def _result_json(rule: Rule, result: ExampleResult) -> JsonObject:
    example, words = result.example.example, _Words(rule, result.example)
    return {
        "example": example.name,
        "file": example.at.file,
        "line": example.at.line,
        "passed": result.passed,
        "engines": {
            engine: {
                "different": [
                    {"expected": words.json(expected), "found": words.json(actual)}
                    for expected, actual in comparison.different
                ],
                "missing": list(map(words.json, comparison.missing)),
                "unexpected": list(map(words.json, comparison.unexpected)),
            }
            for engine, comparison in result.by_engine.items()
        },
    }


@dataclass(frozen=True)
class _Words:
    """Groups in the words of `expect`."""

    rule: Rule
    example: TypedExample

    def group(self, shape: GroupShape, *, with_form: bool = True) -> str:
        parts = (f"{word} {' and '.join(names)}" for word, names in self._records(shape).items())
        return f"{f'{shape.form}: ' if shape.form and with_form else ''}{', '.join(parts)}"

    def json(self, shape: GroupShape) -> JsonObject:
        return {**({"form": shape.form} if shape.form else {}), **self._records(shape)}

    def _records(self, shape: GroupShape) -> Mapping[str, list[str]]:
        words = {role: word for word, role in self.rule.roles.items()}
        names = {role: words.get(role, role) for role in (*words, *shape.records) if role in shape.records}
        return {word: self._names(word, shape, role) for role, word in names.items()}

    def _names(self, word: str, shape: GroupShape, role: str) -> list[str]:
        records = sorted(shape.records[role])
        plain = len(self.rule.member_datasets) == 1 or word in self.rule.dataset_keys()
        return [
            self.example.name(record) if plain else f"{record[0]} {self.example.name(record)}" for record in records
        ]
