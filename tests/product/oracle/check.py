"""Compares the product with the oracle."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import sqlalchemy as sa

from tests.product.oracle.case import Answer, Case, Cell
from tests.product.oracle.engines import (
    Home,
    Refused,
    answers,
    comparable,
    dataset_of,
    rule_of,
    write_files,
    write_parquet,
    write_tables,
    write_workbook,
)
from tests.product.oracle.plain import answer as oracle_answer

NOT_PUSHED = ("engine: pushdown", "engine: spark")
"""With one of them a sentence says that a database does not compare as Reconcile does; then the rule is asked here."""


DATABASES = ("sqlite", "postgresql", "mariadb")


@dataclass(frozen=True)
class Difference:
    """A case about which product and oracle say different things."""

    case: Case
    home: Home
    expected: Answer | None
    seen: Answer | Refused | None

    @property
    def parts(self) -> frozenset[str]:
        """The parts of the answers that differ."""
        if not isinstance(self.seen, Answer) or self.expected is None:
            return frozenset([type(self.seen).__name__])
        names = [part.name for part in fields(Answer)]
        return frozenset(name for name in names if getattr(self.seen, name) != getattr(self.expected, name))

    def __str__(self) -> str:
        case = self.case
        lines = [f"seed {case.seed}, {self.home.name}, {self.home.engine}: {', '.join(sorted(self.parts))}"]
        lines += [str(dataset_of(case, self.home)), str(rule_of(case, self.home.engine))]
        lines += [", ".join(f"{c.name} {c.kind}{'' if c.as_text else ' typed'}" for c in case.columns)]
        lines += ["  " + ", ".join(ascii(row[column.name]) for column in case.columns) for row in case.rows]
        for name in sorted(self.parts):
            lines += [f"{name}: expected {getattr(self.expected, name, self.expected)!a}"]
            lines += [f"{' ' * len(name)}  seen     {getattr(self.seen, name, self.seen)!a}"]
        return "\n".join(lines)


@dataclass
class Tally:
    """What was compared in one home."""

    pairs: int = 0
    pushed: int = 0
    with_groups: int = 0
    impossible: int = 0
    """Rules that are refused because they cannot find anything."""
    refused: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)


def compare(folder: Path, cases: Sequence[Case], home: Home) -> Tally:
    """Ask the product about each case, embedded where the database does not answer itself, and compare."""
    cases = [replace(case, is_file=home.url is None) for case in cases]
    if home.name == "workbook":
        cases = [replace(case, rows=tuple(filter(_has_a_cell, case.rows))) for case in cases]
    _write(folder, cases, home)
    seen = answers(folder, cases, home)
    here = replace(home, engine="embedded")
    elsewhere = {
        case.seed
        for case in cases
        if any(setting in getattr(seen[case.seed], "sentence", "") for setting in NOT_PUSHED)
    }
    cases = [case for case in cases if case.seed not in elsewhere or _is_asked_here(case, home)]
    seen |= answers(folder, [case for case in cases if case.seed in elsewhere], here)
    tally = Tally(len(cases), sum(case.seed not in elsewhere for case in cases) if home.engine != "embedded" else 0)
    for case in cases:
        expected = comparable(oracle_answer(case))
        tally.with_groups += bool(expected and expected.groups)
        _judge(tally, Difference(case, here if case.seed in elsewhere else home, expected, seen[case.seed]))
    return tally


def _has_a_cell(row: Mapping[str, Cell]) -> bool:
    """Return True for a row that a sheet has: rows without a cell are none."""
    return any(cell not in (None, "") for cell in row.values())


def _is_asked_here(case: Case, home: Home) -> bool:
    """Of the rules that no database answers itself, each is asked for over the tables of one database."""
    return DATABASES[case.seed % len(DATABASES)] == home.name


def _judge(tally: Tally, judged: Difference) -> None:
    seen, expected = judged.seen, judged.expected
    if isinstance(seen, Refused) and not seen.broken:
        tally.refused[seen.sentence] += 1
        if expected is None or not expected.groups or "more than 38 digits" in seen.sentence:
            tally.impossible += 1
            return
    if isinstance(seen, Answer) and expected is not None and seen.unread is None:
        judged = replace(judged, expected=replace(expected, unread=None))
    elif expected is not None and _is_hardly_read(expected):
        judged = replace(judged, expected=None)
    if judged.seen != judged.expected:
        tally.differences.append(judged)


def _is_hardly_read(answer: Answer) -> bool:
    """Return True if a column cannot be read in more than half of the records, or in 20 and more than a tenth."""
    return any(n * 2 > answer.read or (n >= 20 and n * 10 > answer.read) for n in (answer.unread or {}).values())


def _write(folder: Path, cases: Sequence[Case], home: Home) -> None:
    if home.url is None:
        return (write_workbook if home.name == "workbook" else write_files)(folder, cases)
    if home.name == "spark":
        return write_parquet(folder, cases, home)
    engine = sa.create_engine(home.url)
    try:
        return write_tables(engine, cases, home)
    finally:
        engine.dispose()
