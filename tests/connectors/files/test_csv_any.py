"""Any CSV is read as an independent reader reads it, or refused: line ends, quotes, header cells, encodings, footers.

The reader here is written from RFC 4180 and docs/configuration.md, character by character; it shares nothing with ours.
A short form runs in CI; `make chaos` goes on for minutes (RECONCILE_CHAOS_SECONDS).
"""

import gzip
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, note, seed, settings
from hypothesis import strategies as st

from connectors.errors import ConnectorError
from tests.support.chance import SEED
from tests.support.files import by_duckdb, records

SECONDS = int(os.environ.get("RECONCILE_CHAOS_SECONDS") or 0)
EXAMPLES = max(20, SECONDS // 2)
LINE_ENDS = ("\n", "\r\n", "\r")
DELIMITERS = (",", ";", "\t", "|")

pytestmark = pytest.mark.chaos
hard = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


class Wrong(Exception):
    """The text is no CSV."""


@dataclass
class Independent:
    """Reads a text. Blanks around a quoted field are not part of it; a line without characters is no record."""

    text: str
    delimiter: str
    at: int = 0

    def records(self) -> list[list[str]]:
        collected = []
        while self.at < len(self.text):
            if self._next() in ("\r", "\n"):
                self._line_end()
            else:
                collected.append(self._record())
        return collected

    def _record(self) -> list[str]:
        fields = [self._field()]
        while self._next() == self.delimiter:
            self.at += 1
            fields.append(self._field())
        self._line_end()
        return fields

    def _field(self) -> str:
        begin = self.at
        self._blanks()
        if self._next() == '"':
            return self._quoted()
        self.at = begin
        while self._next() not in ("", self.delimiter, "\r", "\n"):
            self.at += 1
        return self.text[begin : self.at]

    def _quoted(self) -> str:
        value = ""
        self.at += 1
        while self.text[self.at : self.at + 2] == '""' or self._next() != '"':
            if self._next() == "":
                raise Wrong
            value += self._next()
            self.at += 2 if self._next() == '"' else 1
        self.at += 1
        self._blanks()
        if self._next() not in ("", self.delimiter, "\r", "\n"):
            raise Wrong
        return value

    def _blanks(self) -> None:
        while self._next() == " ":
            self.at += 1

    def _line_end(self) -> None:
        self.at += 2 if self.text[self.at : self.at + 2] == "\r\n" else 1

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]


def independent(text: str) -> list[list[str]]:
    """The records below the header of a text with commas and two columns. Raises Wrong where it is none."""
    record = Independent(text, ",").records()[1:]
    if any(len(row) < 2 or any(row[2:]) for row in record):
        raise Wrong
    return [row[:2] for row in record]


def as_read(value: str) -> str | None:
    return value or None


@dataclass
class Written:
    """A CSV file, what stands in it, and how a dataset says so."""

    content: bytes
    header: list[str]
    rows: list[tuple[str | None, ...]]
    settings: dict[str, object]
    name: str = "a.csv"


CELL_END = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])
CELL = st.lists(
    st.one_of(st.sampled_from([*"ab1 ", ",", ";", "|", "\t", '"', '""', "'", "\\", '\\"', "é", "ß", "  "]), CELL_END),
    max_size=5,
).map("".join)


@st.composite
def written(draw: st.DrawFn) -> Written:
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1", "utf-16-le"]))
    delimiter, ends = draw(st.sampled_from(DELIMITERS)), draw(st.sampled_from(LINE_ENDS))
    width = draw(st.integers(2, 4))
    header = [f"n{i}{draw(st.one_of(st.just(''), CELL))}x" for i in range(width)]
    table = draw(st.lists(st.lists(CELL, min_size=width, max_size=width), max_size=6))
    everything = draw(st.booleans())

    def field(value: str) -> str:
        must = any(item in value for item in ('"', "\r", "\n", *DELIMITERS)) or value.strip(" ") != value
        if everything or must or draw(st.booleans()):
            return '"' + value.replace('"', '""') + '"'
        return value

    lines = [delimiter.join(map(field, row)) for row in [header, *table]]
    mixed = draw(st.booleans()) and draw(st.booleans())
    blank = draw(st.sampled_from([0, 0, 0, 1, 2]))
    parts = [line + (draw(st.sampled_from(LINE_ENDS)) if mixed else ends) for line in lines]
    parts += [ends] * blank
    footer = draw(st.sampled_from([0, 0, 1, 2]))
    parts += [
        f"Total{delimiter if n else ''} {draw(st.sampled_from(['', '7', 'of all']))}{ends}" for n in range(footer)
    ]
    text = "".join(parts)
    if draw(st.booleans()) and not text.endswith("\r\n" * 2):
        text = text.removesuffix(ends) if not blank or footer else text
    above = draw(st.sampled_from([0, 0, 1, 2]))
    text = "".join(f'Title "{n}{ends}' for n in range(above)) + text
    options: dict[str, object] = {"encoding": encoding} if encoding in ("latin-1", "utf-16-le") else {}
    options |= {"skip": above} if above else {}
    options |= {"skip_footer": footer} if footer else {}
    options |= {"delimiter": delimiter} if draw(st.booleans()) else {}
    content, name = text.encode(encoding), "a.csv"
    if draw(st.sampled_from([False, False, True])):
        content, name = gzip.compress(content), "a.csv.gz"
    return Written(content, header, [tuple(map(as_read, row)) for row in table], options, name)


def both_ways(file: Written, columns: list[str], **more: object) -> list[tuple[str | None, ...]]:
    """The records in their order; the stream and DuckDB agree."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / file.name).write_bytes(file.content)
        rows, problems = records(Path(folder), file.name, **file.settings, **more)
        assert problems == ()
        names = [column.strip() for column in columns]
        answer = by_duckdb(Path(folder), file.name, names, **file.settings, **more)
        assert answer is not None
        assert sorted(map(repr, answer[1])) == sorted(map(repr, rows))
        return rows


@seed(SEED)
@hard
@given(written())
@example(Written(b'a,"b\nc",d\r\n1,2,3\r\n4,5,6\r\n', ["a", "b\nc", "d"], [("1", "2", "3"), ("4", "5", "6")], {}))
@example(Written(b'"a\r\nb",c\n1,2\n', ["a\r\nb", "c"], [("1", "2")], {}))
@example(Written(b'a,b\n1,"x\ry"\r\n2,"\r\n"\n', ["a", "b"], [("1", "x\ry"), ("2", "\r\n")], {}))
@example(Written(b'a;"b,\n""c"\n1;2\n', ["a", 'b,\n"c'], [("1", "2")], {}))
def test_a_csv_file_is_read_as_it_was_written(file):
    note(repr(file.content))

    assert both_ways(file, file.header) == file.rows


TOKENS = st.sampled_from(
    [
        *'ab",',
        '""',
        ' "',
        '" ',
        '\\"',
        ' \\"',
        " ",
        "\n",
        "\r\n",
        "\r",
        ",\n",
        '"\n',
        ',"',
        '",',
        "\n\n",
        "\t",
        "\ufeff",
        "x",
    ]
)


@seed(SEED)
@hard
@given(st.lists(TOKENS, max_size=25).map("".join))
@example('1, "a \\"b\\" c"\n')
@example('1,5" pipe\n2,"x"\n')
def test_any_text_is_read_as_an_independent_reader_reads_it_or_refused_by_both(text):
    text = f"x,y\n{text}"
    note(repr(text))
    file = Written(text.encode(), ["x", "y"], [], {"delimiter": ","})
    try:
        expected = independent(text)
    except Wrong:
        with pytest.raises(ConnectorError, match=r"a\.csv:\d+: (text follows|a quote opened|this record has)"):
            both_ways(file, file.header)
        return

    assert both_ways(file, file.header) == [tuple(map(as_read, row)) for row in expected]
