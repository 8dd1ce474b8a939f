"""Columns of Arrow as integers: codes of equal values, days, and amounts in their smallest unit; never floats."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

Integers = np.ndarray[tuple[int], np.dtype[np.int64]]
Amounts = np.ndarray[tuple[int], np.dtype[Any]]
"""int64, or Python ints in an object array where they can be larger."""
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]

_WIDEST = 2**62
_EXACT = decimal.Context(prec=1_000)


def codes(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[Integers, Integers]:
    """Return a number for each value of both columns, equal for equal values; nulls are equal."""
    both = pa.chunked_array([*left.chunks, *right.chunks], type=left.type).dictionary_encode()
    indices = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in both.chunks]
    numbers = np.concatenate([np.empty(0, np.int64), *indices])
    return numbers[: len(left)], numbers[len(left) :]


def combined(parts: Sequence[tuple[Integers, Integers]], sizes: tuple[int, int]) -> tuple[Integers, Integers]:
    """Return one number for several numbers of each record, equal if all of them are equal; at least 0."""
    total = np.zeros(sum(sizes), np.int64)
    greatest = 0
    for left, right in parts:
        numbers = np.concatenate([left, right])
        if not len(numbers):
            break
        lowest = int(numbers.min())
        width = int(numbers.max()) - lowest + 1
        if (greatest + 1) * width >= _WIDEST:
            total = np.unique(total, return_inverse=True)[1].astype(np.int64)
            greatest = int(total.max())
            numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
            lowest, width = 0, int(numbers.max()) + 1
        total = total * width + (numbers - lowest)
        greatest = (greatest + 1) * width - 1
    return total[: sizes[0]], total[sizes[0] :]


def days(column: pa.ChunkedArray) -> Integers:
    """Return a column of dates as days since 1970; null is 0."""
    numbers: Integers = column.cast(pa.int32()).fill_null(0).to_numpy().astype(np.int64)
    return numbers


def is_null(column: pa.ChunkedArray) -> Flags:
    flags: Flags = column.is_null().to_numpy()
    return flags


class Scaled:
    """Decimals as integers: each times 10 to the power of `places`."""

    def __init__(self, values: Amounts, places: int) -> None:
        self.values = values
        self.places = places

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Scaled:
        """Read a column of numbers; null is 0, and a float is the decimal it is written as."""
        if pa.types.is_integer(column.type):
            if pa.types.is_uint64(column.type):
                return cls._of_decimals(column.cast(pa.decimal128(20, 0)))
            return cls(column.fill_null(0).cast(pa.int64()).to_numpy().astype(np.int64), 0)
        if pa.types.is_decimal(column.type):
            return cls._of_decimals(column.cast(pa.decimal128(column.type.precision, column.type.scale)))
        return cls._of_written(column)

    @classmethod
    def _of_decimals(cls, column: pa.ChunkedArray) -> Scaled:
        wholes = [_wholes(chunk) for chunk in column.chunks]
        if all(whole.dtype == np.int64 for whole in wholes):
            return cls(np.concatenate([np.empty(0, np.int64), *wholes]), column.type.scale)
        values = np.concatenate([np.empty(0, object), *(whole.astype(object) for whole in wholes)])
        return cls(values, column.type.scale).trimmed()

    @classmethod
    def _of_written(cls, column: pa.ChunkedArray) -> Scaled:
        """Read floats and texts, by way of their different values."""
        encoded = column.combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        numbers = [_decimal(value) for value in encoded.dictionary.to_pylist()]
        places = max([0, *(-int(number.as_tuple().exponent) for number in numbers)])
        wholes = np.array([*(_whole(number, places) for number in numbers), 0], object)
        return cls(_narrow(wholes)[encoded.indices.fill_null(len(numbers)).to_numpy(zero_copy_only=False)], places)

    def trimmed(self) -> Scaled:
        """Return the same numbers with the fewest places, so that they fit into 64 bits if possible."""
        values, places = self.values, self.places
        while places and len(values) and not (values % 10).any():
            values, places = values // 10, places - 1
        return Scaled(_narrow(values), places)

    def to(self, places: int) -> Amounts:
        """Return the integers for that many places, not fewer than these."""
        factor = 10 ** (places - self.places)
        return times(self.values, factor)


def times(values: Amounts, factor: int) -> Amounts:
    """Multiply exactly."""
    if values.dtype == np.int64 and len(values) and largest(values) * factor >= _WIDEST:
        values = values.astype(object)
    return values * factor


def largest(values: Amounts) -> int:
    """Return the size of the largest number."""
    return max(abs(int(values.max())), abs(int(values.min()))) if len(values) else 0


def sum_fits(values: Amounts) -> Amounts:
    """Return the numbers in a type in which any sum of them is exact."""
    return values if values.dtype == object or largest(values) * len(values) < _WIDEST else values.astype(object)


def aligned(left: Scaled, right: Scaled, places: int = 0) -> tuple[Amounts, Amounts, int]:
    """Return both columns with the same number of places, at least these, and of the same type."""
    places = max(left.places, right.places, places)
    ours, theirs = left.to(places), right.to(places)
    if ours.dtype != theirs.dtype:
        ours, theirs = ours.astype(object), theirs.astype(object)
    return ours, theirs, places


def scaled(number: Decimal, places: int) -> int:
    """Return the number in that unit, rounded down to a whole number of it."""
    return int(_EXACT.scaleb(number, places).to_integral_value(decimal.ROUND_FLOOR))


def decimal_places(number: Decimal | None) -> int:
    return 0 if number is None else max(0, -int(number.as_tuple().exponent))


def _wholes(chunk: pa.Array) -> Amounts:
    """Return the unscaled integers of decimals: int64 if all fit."""
    halves = np.frombuffer(chunk.buffers()[1], np.int64).reshape(-1, 2)[chunk.offset : chunk.offset + len(chunk)]
    low, high = halves[:, 0], halves[:, 1]
    if chunk.null_count:
        present = chunk.is_valid().to_numpy(zero_copy_only=False)
        low, high = np.where(present, low, 0), np.where(present, high, 0)
    wholes: Amounts = low
    if (high != low >> 63).any() or (np.abs(low) >= _WIDEST).any():
        wholes = high.astype(object) * 2**64 + low.astype(np.uint64).astype(object)
    return wholes


def _narrow(values: Amounts) -> Amounts:
    fits = values.dtype == object and largest(values) < _WIDEST
    return values.astype(np.int64) if fits else values


def _decimal(value: Any) -> Decimal:
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return number if number.is_finite() else Decimal(0)


def _whole(number: Decimal, places: int) -> int:
    return int(_EXACT.scaleb(number, places))
