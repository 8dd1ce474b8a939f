"""What the default finds of records that were written differently in one way, among thousands of made-up ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from bench.similar import report
from bench.similar.background import TYPES, Background, Record
from bench.similar.labelled import reported_pairs
from bench.similar.made_up import table_of
from bench.similar.mutations import CONTROLS, MUTATIONS, Mutation
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Settings

RECORDS = 4_000
"""So many records are the background of each kind."""
COPIES = 100
"""So many of other records are mutated in each way."""


@dataclass(frozen=True)
class Mutated:
    """The records of a kind; `origin` gives, of a mutated one, its way and the row of the record that it was."""

    rows: list[Record]
    origin: dict[int, tuple[str, int]]

    @classmethod
    def of(cls, kind: str, records: int = RECORDS, copies: int = COPIES) -> Mutated:
        background = Background(7)
        source = background.records(kind)
        rows = list(islice(source, records))
        origin: dict[int, tuple[str, int]] = {}
        for way, mutation in (MUTATIONS[kind] | CONTROLS[kind]).items():
            for record, twin in islice(_changed(background, mutation, source), copies):
                rows += [record, twin]
                origin[len(rows) - 1] = (way, len(rows) - 2)
        return cls(rows, origin)


def _changed(background: Background, mutation: Mutation, source: Iterator[Record]) -> Iterator[tuple[Record, Record]]:
    """Yield records to which a mutation applies, with what it makes of them."""
    for record in islice(source, 100 * COPIES):
        twin = mutation(background, record)
        if twin is not None and twin != record:
            yield record, twin


def sections() -> str:
    """Return the section with a table for each kind of record."""
    return report.section("Mutations", _ABOUT, *map(_of_kind, MUTATIONS))


_ABOUT = (
    f"Built-in weights, default threshold. For each way {COPIES} records that it applies to, each with a copy changed "
    f"in that way alone, beside {RECORDS:,} others of the kind, all in one table; of persons, 15% live with the person "
    "before them. False pairs join the copy with a record that it was not; the last rows are no twins, so any share "
    "found is an error."
)


def _of_kind(kind: str) -> str:
    mutated = Mutated.of(kind)
    settings = Settings.of(TYPES[kind])
    reported = reported_pairs(Matching(Records.of([table_of(mutated.rows, kind)], settings), settings))
    recognised, false, plain = Counter[str](), Counter[str](), 0
    for low, high in reported:
        way, original = mutated.origin.get(high, ("", -1))
        if original == low:
            recognised[way] += 1
        elif high in mutated.origin or low in mutated.origin:
            false[way or mutated.origin[low][0]] += 1
        else:
            plain += 1
    copies = Counter(way for way, _ in mutated.origin.values())
    rows = [
        [way, report.rate(recognised[way] / copies[way]), str(false[way])] for way in MUTATIONS[kind] if copies[way]
    ]
    rows += [[f"*{way}*", report.rate(recognised[way] / copies[way]), str(false[way])] for way in CONTROLS[kind]]
    columns = ", ".join(f"{column} ({type_name})" for column, type_name in TYPES[kind].items())
    told = f"**{kind.capitalize()}** by {columns}; {plain} false pairs among records without a copy."
    return f"{told}\n\n{report.table(['way', 'found', 'false pairs'], rows)}"
