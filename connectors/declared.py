"""The declarations of `columns:` and a dataset's notation of values. `connectors.coerce` converts the values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connectors.errors import ColumnTypeUnknown

if TYPE_CHECKING:
    import pyarrow as pa

WORDS = ("text", "integer", "decimal", "float", "boolean", "date", "instant")
EPOCHS = {"epoch s": "seconds", "epoch ms": "milliseconds", "epoch us": "microseconds"}
"""The forms of instants that are numbers since 1970, with their unit."""


@dataclass(frozen=True)
class Declared:
    """A column type as a user declared it."""

    word: str
    precision: int = 38
    scale: int = 12
    formats: tuple[str, ...] = ()
    epoch: str | None = None
    """The unit of an instant that is a number since 1970: s, ms or us."""

    @property
    def arrow(self) -> pa.DataType:
        import pyarrow as pa  # noqa: PLC0415 - a configuration is read long before values are converted

        types: dict[str, pa.DataType] = {
            "text": pa.string(),
            "integer": pa.int64(),
            "decimal": pa.decimal128(self.precision, self.scale),
            "float": pa.float64(),
            "boolean": pa.bool_(),
            "date": pa.date32(),
            "instant": pa.timestamp("us", "UTC"),
        }
        return types[self.word]

    @property
    def is_any_decimal(self) -> bool:
        """Return True for `decimal` without a size: decimals that have a type keep theirs."""
        return self == Declared("decimal")

    @property
    def reason(self) -> str:
        """The reason why a value became null, for people."""
        if self.word == "decimal":
            return (
                f"not a decimal with at most {self.precision - self.scale} digits before the mark and "
                f"{self.scale} after it"
            )
        if self.epoch:
            return f"not an instant as {EPOCHS[f'epoch {self.epoch}']} since 1970"
        article = "an" if self.word[0] == "i" else "a"
        return f"not {article} {self.word}" + (f" as {' | '.join(self.formats)}" if self.formats else "")


def declared(column: str, text: str) -> Declared:
    """Read one value of `columns:`. Raises ColumnTypeUnknown, which names the column and the possible types."""
    word, _, tail = text.strip().partition(" ")
    formats = tuple(form.strip() for form in tail.split("|") if form.strip())
    sized = re.fullmatch(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)", text.strip())
    if sized and 1 <= int(sized[1]) <= 38 and int(sized[2]) <= int(sized[1]):
        return Declared("decimal", int(sized[1]), int(sized[2]))
    if word == "instant" and (unit := " ".join(tail.split())) in EPOCHS:
        return Declared(word, epoch=unit.removeprefix("epoch "))
    if word not in WORDS or (formats and word not in ("date", "instant")):
        raise ColumnTypeUnknown(column, text)
    for form in formats:
        _check_format(column, word, form)
    return Declared(word, formats=formats)


def _check_format(column: str, word: str, form: str) -> None:
    if word == "date" and "%z" in form:
        raise ColumnTypeUnknown(column, f"{word} {form}")
    import duckdb  # noqa: PLC0415 - reading a configuration rarely needs it

    with duckdb.connect() as con:
        try:
            con.execute("select try_strptime('', $1)::varchar", [form]).fetchall()
        except duckdb.Error as error:
            raise ColumnTypeUnknown(column, f"{word} {form}") from error


@dataclass(frozen=True)
class Notation:
    """A dataset's notation of numbers and nulls, and the zone of its naive times. `decimal` is None if not set."""

    decimal: str | None = None
    null_values: tuple[str, ...] = ()
    timezone: str = "UTC"

    @property
    def mark(self) -> str:
        return self.decimal or "."
