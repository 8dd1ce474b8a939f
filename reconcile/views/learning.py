"""What a rule would learn, for people and programs: what to expect, the largest changes, and the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from notifications.wording.words import plural
from reconcile.config.settings import Project
from reconcile.documents import JsonObject
from rules.groups.learning import Expected, Learnt, LearntLevel
from rules.kinds.base import Rule

_CHANGES = 8
"""Levels whose weights change most, which people see."""
_LITTLE = 0.5
"""Bits of a change that is not worth a line."""
_FEW_JUDGED = 10
_NEARLY_ALL = 0.999


@dataclass(frozen=True)
class LearntView:
    """A learnt model with the rule."""

    project: Project
    rule: Rule
    learnt: Learnt

    @property
    def is_named(self) -> bool:
        """True if the rule names the file of its weights already."""
        return self._named is not None

    @property
    def path(self) -> Path:
        """The file to write."""
        return self._named or self.project.directory.absolute() / "models" / f"{self.rule.name}.yaml"

    @property
    def file(self) -> str:
        """That file from the folder of the configuration."""
        return self.path.relative_to(self.project.directory.absolute()).as_posix()

    @property
    def _named(self) -> Path | None:
        named = self.project.file_of(self.rule.name, self.learnt.setting)
        return None if named is None else named.absolute()

    @property
    def heading(self) -> str:
        learnt = self.learnt
        judged = f" and {plural(learnt.judged, 'judged pair', 'judged pairs')}" if learnt.judged else ""
        return f"{self.rule.name} learns from {plural(learnt.records, 'record', 'records')}{judged}"

    def sentences(self) -> Iterator[str]:
        learnt = self.learnt
        yield f"About {plural(round(learnt.matches), 'pair is', 'pairs are')} the same thing."
        yield f"The rule now takes {_in_words(learnt.at_now)}."
        yield f"With the learnt weights, it takes {_in_words(learnt.at)}."
        if learnt.judged < _FEW_JUDGED:
            yield f"These are estimates. Judge {_FEW_JUDGED} pairs or more, and they follow from what people said."

    def curve(self) -> Sequence[tuple[str, ...]]:
        """Return the rows below threshold, pairs, right, and share of all right pairs; the chosen one is marked."""
        rows = {expected.threshold: expected for expected in (*self.learnt.curve, self.learnt.at)}
        ordered = [rows[threshold] for threshold in sorted(rows)]
        shown = [
            expected
            for expected, after in zip(ordered, [*ordered[1:], None], strict=True)
            if after is None or after.pairs != expected.pairs or expected.threshold == self.learnt.at.threshold
        ]
        return [
            (
                f"{100 * expected.threshold:.4g}%",
                f"{expected.pairs:,}",
                _percent(expected.precision),
                _percent(expected.recall),
                "chosen" if expected.threshold == self.learnt.at.threshold else "",
            )
            for expected in shown
        ]

    def changes(self) -> Sequence[tuple[str, ...]]:
        """Return the rows below column, agreement, weight now, weight learnt: the largest changes."""
        levels = sorted(self.learnt.levels, key=lambda level: -abs(level.weight - level.now))
        return [
            (level.column, level.words, f"{level.now:+.1f}", f"{level.weight:+.1f}")
            for level in levels[:_CHANGES]
            if _changes(level)
        ]

    @cached_property
    def difference(self) -> Sequence[str]:
        """The unified diff from the file that the rule has now; empty if it has none, or the same."""
        if self.learnt.now is None:
            return ()
        before, after = self.learnt.now.splitlines(), self.learnt.text.splitlines()
        lines = difflib.unified_diff(before, after, f"{self.file} now", f"{self.file} learnt", lineterm="", n=1)
        return list(lines)

    def to_json(self) -> JsonObject:
        learnt = self.learnt
        return {
            "rule": self.rule.name,
            "file": self.file,
            "records": learnt.records,
            "matches": round(learnt.matches, 1),
            "judged": learnt.judged,
            "doubt": learnt.doubt,
            "now": asdict(learnt.at_now),
            "learnt": asdict(learnt.at),
            "curve": [asdict(expected) for expected in learnt.curve],
            "levels": [asdict(level) for level in learnt.levels],
            "yaml": learnt.text,
        }


def _in_words(expected: Expected) -> str:
    right, share = _percent(expected.precision), _percent(expected.recall)
    if not expected.pairs:
        return "no pair"
    return f"{plural(expected.pairs, 'pair', 'pairs')}, {right} of them right, which are {share} of all right pairs"


def _percent(share: float) -> str:
    """Return a share that is an estimate, so that it is never quite everything."""
    return "over 99.9%" if share > _NEARLY_ALL else f"{100 * share:.3g}%"


def _changes(level: LearntLevel) -> bool:
    return abs(level.weight - level.now) >= _LITTLE
