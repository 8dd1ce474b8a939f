"""A rule in words as every door shows it: masked, and ready to print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from notifications.wording.words import plural
from notifications.wording.words import value as shown
from reconcile.config.settings import Project
from reconcile.documents import JsonObject
from reconcile.findings.identity import public
from reconcile.masking.personal import Masking
from reconcile.runs.explanation import Explanation
from rules.groups.sample import Sample
from rules.values import Value

_WIDEST = 28
"""Characters of a value in a sample: two of them and the column fit into a line of 80."""
_ENGINES = {
    "embedded": "embedded (DuckDB, in this process)",
    "pushdown": "pushed down (inside the source)",
    "spark": "in Spark (on its cluster)",
}


def engine_in_words(engine: str) -> str:
    return _ENGINES.get(engine, engine)


def replica_in_words(source: str, place: str) -> str:
    return f"reads the replica of source {source!r} at {place}"


@dataclass(frozen=True)
class ExplanationView:
    """An explanation with personal data masked, unless `show`."""

    explanation: Explanation
    project: Project
    show: bool = False

    @property
    def title(self) -> str:
        rule = self.explanation.rule
        return f"{rule.name}  {rule.kind} in {' and '.join(rule.member_datasets)}, severity {rule.severity.name}"

    @property
    def is_masked(self) -> bool:
        """Return True if a value of a sample is hidden."""
        samples = (sample for samples in self.explanation.samples.values() for sample in samples)
        return any(
            self._hidden.side(sample.dataset).hides(column) for sample in samples for column, _, _ in sample.compared
        )

    def sections(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield headings with their sentences, samples last."""
        choice = self.explanation.answer.choice
        yield from self.explanation.words.items()
        replicas = [replica_in_words(*replica) for replica in self.explanation.replicas.items()]
        yield "runs", [f"{engine_in_words(choice.engine)}: {choice.reason}", *replicas, *self._increments()]
        yield "finds now", list(self._found())
        for dataset, samples in self.explanation.samples.items():
            if samples:
                yield f"samples of {dataset}", list(self._samples(samples))

    def to_json(self) -> JsonObject:
        explanation, detection = self.explanation, self.explanation.answer.detection
        choice = explanation.answer.choice
        return {
            "rule": explanation.rule.name,
            "kind": explanation.rule.kind,
            "datasets": list(explanation.rule.datasets),
            "words": {heading: list(sentences) for heading, sentences in explanation.words.items()},
            "engine": choice.engine,
            "reason": choice.reason,
            "records": {"read": detection.read, "outside": explanation.outside, "scanned": detection.scanned},
            "skipped": [
                {"column": entry.column, "reason": entry.reason, "records": entry.records, "first": entry.first}
                | ({"dataset": entry.dataset} if entry.dataset is not None else {})
                for entry in explanation.answer.left_out
            ],
            "listed": dict(detection.listed),
            "mapped": dict(detection.mapped),
            "groups": len(detection.groups),
            **({"incremental": increments} if (increments := self.explanation.increments) is not None else {}),
            **({"replicas": dict(replicas)} if (replicas := self.explanation.replicas) else {}),
            "samples": [
                self._sample(dataset, sample) for dataset, samples in explanation.samples.items() for sample in samples
            ],
        }

    @cached_property
    def _hidden(self) -> Masking:
        rule = self.explanation.rule
        return Masking() if self.show else Masking.of(self.project, rule.dataset, rule.name)

    def _increments(self) -> Iterator[str]:
        if self.explanation.increments is not None:
            yield self.explanation.increments

    def _found(self) -> Iterator[str]:
        detection = self.explanation.answer.detection
        records = sum(len(group.members) for group in detection.groups)
        rule, number = self.explanation.rule, len(detection.groups)
        has_nouns = rule.nouns[0] != "finding"
        counted = plural(number, *(rule.nouns if has_nouns else ("group", "groups")))
        held = "" if has_nouns and records == number else f" with {plural(records, 'record', 'records')}"
        yield f"{counted}{held}, of {detection.read:,} read"
        if self.explanation.outside:
            yield f"{plural(self.explanation.outside, 'record is', 'records are')} outside `where`"
        for dataset, pairs in detection.listed.items():
            yield f"leaves out {plural(pairs, 'pair', 'pairs')} of records listed in dataset {dataset}"
        for dataset, values in detection.mapped.items():
            yield f"maps {plural(values, 'value', 'values')} by dataset {dataset}"
        yield from (entry.sentence for entry in self.explanation.answer.left_out)

    def _samples(self, samples: Sequence[Sample]) -> Iterator[str]:
        for sample in samples:
            hidden = self._hidden.side(sample.dataset)
            [name] = self._hidden.names([sample])
            yield f"record {shown(name, 2 * _WIDEST)}"
            for column, before, after in sample.compared:
                texts = [shown(_text(hidden, column, value), _WIDEST) for value in (before, after)]
                yield f"  {column}: {texts[0]}" + (f" → {texts[1]}" if texts[0] != texts[1] else "")

    def _sample(self, dataset: str, sample: Sample) -> JsonObject:
        hidden = self._hidden.side(sample.dataset)
        return {
            "dataset": dataset,
            "record": hidden.record(sample.id),
            "compared": [
                {
                    "column": column,
                    "before": hidden.value(column, public(before)),
                    "after": hidden.value(column, public(after)),
                }
                for column, before, after in sample.compared
            ],
        }


def _text(hidden: Masking, column: str, value: Value) -> str:
    text = hidden.value(column, public(value))
    return "" if text is None else str(text)
