"""Proposals of `check` for a dataset of files or a sheet, from its first records: decimal mark, types and formats.

A type is proposed only if it reads every value. Of the data, only short texts without digits among numbers or days
are shown, such as `n.v.`, and only if they are not personal.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from connectors import amounts
from connectors.base import DatasetSettings, Queryable
from connectors.coerce import Coercion
from connectors.declared import Notation, declared
from reconcile.detection import epochs, unseen
from reconcile.detection.subject import Subject
from rules.document.mistakes import listed
from rules.values import PLACE

SAMPLE = 1_000
MOST_COLUMNS = 200
"""The most text columns that are checked; nobody declares more by hand."""
MOST_ODD = 3
LONGEST_ODD = 10
DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d")
SHORT_DAYS = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y")
TIMES = ("%H:%M:%S", "%H:%M")
_DAY = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{2,4}")
_TIME = re.compile(_DAY.pattern + r"[ T]\d{1,2}:\d\d.*")
_NUMBER = re.compile("[-+\u2212]?[0-9][0-9., \u00a0\u202f\u2009'\u2019]*[-\u2212]?")
_COMMA = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_NUMERIC = ("integer", "decimal", "float")

Columns = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Proposals:
    """Remarks with settings to copy to the dataset; `wrong` holds sentences about declared types that read no value.

    `types` are those of undeclared columns whose texts are all numbers or times.
    """

    remarks: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Forms:
    """The forms of a dataset's texts in its first records: settings that read them all.

    `types` has only types that are certain; `unclear` has columns that several types read. `marks` are the decimal
    marks that read most numbers, `odd` the few texts of a column that are no value of its type, like `n.v.`.
    """

    settings: DatasetSettings
    cells: Mapping[str, Counter[str]]
    odd: Mapping[str, set[str]]
    types: Mapping[str, str]
    marks: Sequence[str | None]
    unclear: Columns

    @property
    def mark(self) -> str | None:
        return self.marks[0] if len(self.marks) == 1 else self.settings.decimal

    @property
    def columns(self) -> dict[str, str]:
        """Declared and proposed types."""
        return self.settings.columns | dict(self.types)

    @property
    def nulls(self) -> list[str]:
        """Odd texts of typed columns."""
        return sorted({text for name in self.odd if name in self.columns for text in self.odd[name]})

    @property
    def values(self) -> dict[str, list[str]]:
        """The texts of each column without the odd ones."""
        return {name: sorted(counts.keys() - self.odd.get(name, ())) for name, counts in self.cells.items()}

    @property
    def proposed(self) -> DatasetSettings:
        return self.settings.model_copy(update={"columns": self.columns, "decimal": self.mark})


def forms_of(subject: Subject, personal: Collection[str]) -> Forms:
    """Read the first records. No text of a `personal` column is odd. Raises a ConnectorError like a scan."""
    settings = subject.dataset.settings
    cells = _sampled(subject, settings)
    odd = {name: texts for name, counts in cells.items() if (texts := _odd_texts(counts, is_personal=name in personal))}
    read = Forms(settings, cells, odd, {}, (settings.decimal,), {})
    readings = dict(_days(read.values, settings))
    types = {name: reading[0] for name, reading in readings.items() if len(reading) == 1}
    marks = _marks(read.values, settings, readings)
    mark = marks[0] if len(marks) == 1 else settings.decimal
    numbers = _numbers(read.values, settings, readings) if len(marks) == 1 else ()
    types |= epochs.of_integers(subject)
    types |= {name: "decimal" for name in numbers if _reads(read.values[name], "decimal", mark)}
    unclear = {name: reading for name, reading in readings.items() if len(reading) > 1}
    return Forms(settings, cells, odd, types, marks, unclear)


def proposals(subject: Subject) -> Proposals:
    """Propose settings from the first records. Raises a ConnectorError like a scan."""
    if isinstance(subject.source, Queryable):
        return Proposals()  # a database has its own types
    forms = forms_of(subject, subject.dataset.pii)
    wrong, partial = _unreadable(subject, forms.settings, forms.proposed, forms.cells, forms.odd)
    remarks = _remarks(forms.types, forms.marks, forms.settings, forms.nulls, forms.values)
    texts = {name: counts for name, counts in forms.cells.items() if forms.columns.get(name, "text") == "text"}
    more = (*_questions(forms.unclear), *partial, *_mixtures(forms), *unseen.sentences(texts))
    undeclared = {name: word for name, word in forms.types.items() if name not in forms.settings.columns}
    return Proposals((*remarks, *more), wrong, undeclared)


def compared_as_text(dataset: str, named: Iterable[str], types: Mapping[str, str]) -> str:
    """Return a sentence about the columns that a rule names though their texts are numbers or times; or nothing."""
    texts = {name: word for name, word in types.items() if name in set(named)}
    if not texts:
        return ""
    lines = ", ".join(f"{_quoted(name)}: {_quoted(word)}" for name, word in texts.items())
    return (
        f"compares {listed(texts)} of `{dataset}` as text, character by character; to compare values, declare "
        f"`columns: {{{lines}}}`"
    )


def _mixtures(forms: Forms) -> Iterator[str]:
    """Yield a warning for each decimal column whose amounts are in several currencies."""
    for name, counts in forms.cells.items():
        if forms.columns.get(name, "").startswith("decimal"):
            currencies: Counter[str] = Counter()
            for text, count in counts.items():
                if not text.isdecimal() and (currency := amounts.currency_of(text)) is not None:
                    currencies[currency] += count
            if warning := amounts.mixture(name, currencies):
                yield warning


def reads_all(texts: Sequence[str], word: str, mark: str | None) -> bool:
    """Return True if a column type reads every text."""
    return _reads(texts, word, mark)


def _odd_texts(counts: Counter[str], *, is_personal: bool) -> set[str]:
    """Return the few short texts among values with digits; none of a personal column."""
    texts = {text for text in counts if not any(map(str.isdigit, text))}
    fits = len(texts) <= MOST_ODD and all(len(text) <= LONGEST_ODD for text in texts) and not is_personal
    return texts if fits and 2 * sum(counts[text] for text in texts) < counts.total() else set()


def _unreadable(
    subject: Subject,
    settings: DatasetSettings,
    proposed: DatasetSettings,
    cells: Mapping[str, Counter[str]],
    odd: Mapping[str, set[str]],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return sentences about columns without any readable value, and about columns with some unreadable values."""
    unreadable, partial = [], []
    for name, word in proposed.columns.items():
        if name not in cells:
            continue
        current = settings if name in settings.columns else proposed
        unread = _unread_texts(list(cells[name]), settings.columns.get(name, word), current.decimal, current.timezone)
        if not unread:
            continue
        count, total = sum(cells[name][text] for text in unread), cells[name].total()
        sentence = f"{total - count:,} of {total:,} values of `{name}` can be read as {current.columns[name]}"
        remedy = _remedy(name, sorted(cells[name].keys() - odd.get(name, ())), settings, proposed)
        if count == total:
            unreadable.append(sentence + remedy)
            continue
        first = _first(subject, current, name)
        shown = [text for text in unread if text in odd.get(name, ())]
        if len(shown) == len(unread):
            texts = ", ".join(f"`{text}`" for text in shown)
            remedy = f": `{_nulls(settings, shown)}`"
            partial.append(f"{sentence}; {texts} at {first}{remedy}")
        else:
            partial.append(f"{sentence}; the first unreadable value is at {first}{remedy}")
    return tuple(unreadable), tuple(partial)


def _remedy(name: str, texts: Sequence[str], settings: DatasetSettings, proposed: DatasetSettings) -> str:
    word = proposed.columns[name]
    if not _reads(texts, word, proposed.decimal, proposed.timezone):
        is_decimal = word == "integer" and _reads(texts, "decimal", settings.decimal)
        return f"; `columns: {{{_quoted(name)}: decimal}}` reads all" if is_decimal else ""
    line = f'decimal: "{proposed.decimal}"' if word.startswith(_NUMERIC) else f"columns: {{{_quoted(name)}: {word}}}"
    return f"; `{line}` reads all"


def _first(subject: Subject, settings: DatasetSettings, name: str) -> str:
    """Return the place of the column's first unreadable value."""
    scan = subject.source.scan(settings, [name])
    try:
        next(iter(scan.reader), None)
        return next((problem.first for problem in scan.problems() if not problem.skipped), "the first records")
    finally:
        scan.close()


def _nulls(settings: DatasetSettings, texts: Iterable[str]) -> str:
    return f"null_values: [{', '.join(map(_json, dict.fromkeys((*settings.null_values, *texts))))}]"


def _remarks(
    types: Mapping[str, str],
    marks: Sequence[str | None],
    settings: DatasetSettings,
    nulls: Sequence[str],
    values: Columns,
) -> Iterator[str]:
    lines = []
    if len(marks) == 1 and marks[0] not in (None, settings.decimal):
        lines.append(f'decimal: "{marks[0]}"')
    if types:
        lines.append(f"columns: {{{', '.join(f'{_quoted(name)}: {_quoted(word)}' for name, word in types.items())}}}")
    if lines and nulls:
        lines.append(_nulls(settings, nulls))
    if lines:
        yield f"the first records can all be read with {' and '.join(f'`{line}`' for line in lines)}"
    if len(marks) > 1 and any(_COMMA.fullmatch(text) for texts in values.values() for text in texts):
        yield 'numbers like `1,234` mean 1234 with `decimal: "."`, or 1.234 with `decimal: ","`; set one of them'
    elif len(marks) > 1:
        yield 'numbers like `1.234` mean 1.234 with `decimal: "."`, or 1234 with `decimal: ","`; set one of them'


def _questions(unclear: Columns) -> Iterator[str]:
    for name, forms in unclear.items():
        ways = " or ".join(f"`columns: {{{_quoted(name)}: {form}}}`" for form in forms)
        yield f"the first records can all be read with {ways}; set one of them"


def _quoted(text: str) -> str:
    return (
        text if all(map(_PLAIN.fullmatch, text.split(" ")[:1])) and not set(text) & set("|:,{}[]#\"'") else _json(text)
    )


def _json(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _sampled(subject: Subject, settings: DatasetSettings) -> dict[str, Counter[str]]:
    """Return the texts of the first records with their counts, by column; columns without any text are left out."""
    untyped = settings.model_copy(update={"columns": {}})
    fields = [field for field in subject.source.describe(untyped) if pa.types.is_string(field.type)]
    readable = [field.name for field in fields if b"refused" not in (field.metadata or {})]
    names = [name for name in readable if name not in PLACE][:MOST_COLUMNS]
    if not names:
        return {}
    scan = subject.source.scan(untyped, names)
    try:
        batch = next(iter(scan.reader), None)
    finally:
        scan.close()
    columns = batch.slice(0, SAMPLE).to_pydict() if batch is not None else {}
    texts = {name: (cell.strip() for cell in cells if cell is not None) for name, cells in columns.items()}
    counts = {name: Counter(filter(None, cells)) for name, cells in texts.items()}
    return {name: count for name, count in counts.items() if count}


def _days(values: Columns, settings: DatasetSettings) -> Iterator[tuple[str, list[str]]]:
    """Yield the types that read each column of days or times without such a type; several if all its values fit."""
    for name, texts in values.items():
        word = settings.columns.get(name)
        if word is not None and (
            word.split(" ")[0] not in ("date", "instant") or _reads(texts, word, None, settings.timezone)
        ):
            continue
        ways: tuple[Iterable[str], ...] = ()
        if all(map(_DAY.fullmatch, texts)):
            ways = (["date"], (f"date {form}" for form in (*DAYS, *SHORT_DAYS)), _mixed_days())
        elif all(map(_TIME.fullmatch, texts)):
            ways = (["instant"], _times())
        elif since_1970 := epochs.declaration(name, texts):
            ways = ([since_1970],)
        for way in ways:
            if reading := [form for form in way if _reads(texts, form, None, settings.timezone)]:
                yield name, reading
                break


def _mixed_days() -> Iterator[str]:
    """Yield day formats that accept years of four and of two digits."""
    short = {day.replace("%y", "%Y"): day for day in SHORT_DAYS}
    yield from (f"date {day} | {short[day]}" for day in DAYS if day in short)


def _times() -> Iterator[str]:
    yield from (f"instant {day} {time}" for day, time in itertools.product((*DAYS, *SHORT_DAYS), TIMES))


def _numbers(values: Columns, settings: DatasetSettings, forms: Collection[str]) -> list[str]:
    """Return undeclared columns of numbers with marks or currencies; digits alone are more often ids than amounts."""
    return [
        name
        for name, texts in values.items()
        if name not in settings.columns and name not in forms
        if all(_NUMBER.fullmatch(amounts.bare(text)) for text in texts)
        and any(set(text) & set(".,") or amounts.currency_of(text) for text in texts)
    ]


def _marks(values: Columns, settings: DatasetSettings, forms: Collection[str]) -> list[str | None]:
    """Return the decimal marks that read most number columns; only the mark that is set if it is one of them."""
    wanted = dict.fromkeys(_numbers(values, settings, forms), "decimal")
    wanted |= {name: word for name, word in settings.columns.items() if word.startswith(_NUMERIC) and name in values}
    marks: tuple[str | None, ...] = (settings.decimal, ".", ",")
    read = {mark: sum(_reads(values[name], word, mark) for name, word in wanted.items()) for mark in marks}
    best = [mark for mark, count in read.items() if count == max(read.values())]
    points = any(set(text) & set(".,") for name in wanted for text in values[name])
    if settings.decimal is None and points and {".", ","} <= set(best):
        return [".", ","]
    return [settings.decimal] if settings.decimal in best else best


def _reads(texts: Sequence[str], word: str, mark: str | None, timezone: str = "UTC") -> bool:
    """Return True if the type reads every text."""
    return not _unread_texts(texts, word, mark, timezone)


def _unread_texts(texts: Sequence[str], word: str, mark: str | None, timezone: str) -> list[str]:
    """Return the texts that the type cannot read."""
    batch: Any = pa.RecordBatch.from_pydict({"value": pa.array(texts, pa.string())})
    coercion = Coercion(batch.schema, {"value": declared("value", word)}, Notation(mark, (), timezone))
    try:
        typed = coercion.batch(batch).column(0)
        return [text for text, value in zip(texts, typed, strict=True) if not value.is_valid]
    finally:
        coercion.close()
