"""Cleaning changes the planned fields and no other byte, in any dialect, encoding and mixture of line ends."""

from __future__ import annotations

import codecs
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chance import examples, few
from tests.support.csv_target import CsvFileTarget
from tests.support.files import records

MARKS = {"utf-8-sig": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
ENCODINGS = ("utf-8", "utf-8-sig", "cp1252", "utf-16-le", "utf-16-be", "cp932")
NAMES = ("id", "email", "name")
any_text = st.text(st.sampled_from("aZ 0.\"',;\t|\r\né-"), max_size=6)


@dataclass(frozen=True)
class WrittenRecord:
    """A record as a program wrote it: its texts, its fields as they are written, what follows them, lines before it."""

    texts: tuple[str, ...]
    fields: tuple[str, ...]
    end: str
    above: str = ""


@dataclass(frozen=True)
class WrittenFile:
    """A file as a program wrote it, and the settings by which it is read."""

    delimiter: str
    encoding: str
    preamble: str
    header: str
    records: tuple[WrittenRecord, ...]
    footer: str

    def bytes(self) -> bytes:
        body = "".join(f"{r.above}{self.delimiter.join(r.fields)}{r.end}" for r in self.records)
        text = f"{self.preamble}{self.header}{body}{self.footer}"
        codec = "utf-8" if self.encoding == "utf-8-sig" else self.encoding
        return MARKS.get(self.encoding, b"") + text.encode(codec, errors="replace")

    def settings(self) -> dict[str, object]:
        named = {} if self.encoding in MARKS else {"encoding": self.encoding}
        return {
            "delimiter": self.delimiter,
            "skip": self.preamble.count("\n"),
            "skip_footer": bool(self.footer),
            **named,
        }

    def without(self, gone: set[str]) -> WrittenFile:
        """The file without some records; the lines above a removed one stay."""
        kept: list[WrittenRecord] = []
        above = ""
        for record in self.records:
            if record.texts[0] in gone:
                above += record.above
            else:
                kept.append(replace(record, above=above + record.above))
                above = ""
        return replace(self, records=tuple(kept), footer=above + self.footer)

    def with_text(self, identifier: str, column: int, written: str) -> WrittenFile:
        def changed(record: WrittenRecord) -> WrittenRecord:
            fields = (*record.fields[:column], written, *record.fields[column + 1 :])
            return replace(record, fields=fields) if record.texts[0] == identifier else record

        return replace(self, records=tuple(map(changed, self.records)))


@st.composite
def written_files(draw: st.DrawFn) -> WrittenFile:
    delimiter = draw(st.sampled_from(",;\t|"))
    encoding = draw(st.sampled_from(ENCODINGS))
    ends = st.sampled_from(draw(st.sampled_from([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"]])))
    number = draw(st.integers(1, 7))
    rows = []
    for identifier in range(1, number + 1):
        texts = (str(identifier), *(draw(any_text) for _ in NAMES[1:]))
        if encoding == "cp932":
            texts = tuple(text.replace("é", "高") for text in texts)
        fields = tuple(draw(_field(text, delimiter)) for text in texts)
        extra = draw(st.sampled_from(["", "", delimiter]))
        rows.append(WrittenRecord(texts, fields, extra + draw(ends), draw(st.sampled_from(["", "", draw(ends)]))))
    footer = draw(st.sampled_from(["", f"Total{delimiter}7\n", f"Total{delimiter}7"]))
    if not footer and draw(st.booleans()):
        rows[-1] = replace(rows[-1], end="")
    preamble = draw(st.sampled_from(["", "Exported today\nby hand\n"]))
    return WrittenFile(delimiter, encoding, preamble, delimiter.join(NAMES) + draw(ends), tuple(rows), footer)


def _field(text: str, delimiter: str) -> st.SearchStrategy[str]:
    doubled = text.replace('"', '""')
    quoted = st.builds(
        lambda before, after: f'{before}"{doubled}"{after}',
        st.sampled_from(["", "", " "]),
        st.sampled_from(["", "", "  "]),
    )
    must_be = any(mark in text for mark in (delimiter, "\r", "\n")) or text.lstrip(" ").startswith('"')
    return quoted if must_be else st.one_of(st.just(text), quoted)


@pytest.mark.chaos
@settings(max_examples=examples(few(25, 400), 12), deadline=None)
@given(file=written_files(), data=st.data())
def test_only_planned_bytes_change_and_undo_gives_the_former_file(file: WrittenFile, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target = CsvFileTarget(Path(folder), file.settings()).write(file.bytes())
        ids = [record.texts[0] for record in file.records]
        former, undo, now = file.bytes(), [], file
        order = data.draw(st.permutations(ids))
        split = data.draw(st.integers(0, len(order)))
        deleted, marked = order[:split], order[split : split + 2]
        for chunk in (deleted[: split // 2], deleted[split // 2 :]):
            if chunk:
                undo.append(target.change(dict.fromkeys(chunk)))
                now = now.without(set(chunk))
                assert target.path.read_bytes() == now.bytes()
        for identifier in marked:
            undo.append(target.change({identifier: {"name": "twin"}}))
            [record] = [record for record in file.records if record.texts[0] == identifier]
            now = now.with_text(identifier, 2, _as_before("twin", record))
            assert target.path.read_bytes() == now.bytes()

        read, _ = records(Path(folder), "customers.csv", list(NAMES), **file.settings())
        assert [row[0] for row in read] == [identifier for identifier in ids if identifier not in deleted]
        for changes in data.draw(st.permutations(undo)):
            target.make(changes)

        assert target.path.read_bytes() == former
        assert {name for name in target.beside() if "-former" not in name} <= {".customers.csv.reconcile"}


def _as_before(text: str, record: WrittenRecord) -> str:
    """A text is quoted if the one before was, or if there was none, as the fields beside it."""
    former = record.fields[2]
    beside = [field for field in record.fields[:2] if field]
    is_quoted = '"' in former if former and _was_quoted(former) else not former and all(map(_was_quoted, beside))
    return f'"{text}"' if is_quoted else text


def _was_quoted(field: str) -> bool:
    return field.lstrip(" ").startswith('"')


@pytest.mark.chaos
@settings(max_examples=examples(few(20, 400), 12), deadline=None)
@given(file=written_files())
def test_records_and_their_values_are_those_of_a_scan(file: WrittenFile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target = CsvFileTarget(Path(folder), file.settings()).write(file.bytes())
        names = [*NAMES, "_file", "_row"]
        scanned, _ = records(Path(folder), "customers.csv", names, **file.settings())

        rows = target.rows(*(record.texts[0] for record in file.records))

        assert [tuple(row.values[name] for name in names) for row in rows] == scanned
