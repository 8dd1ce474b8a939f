"""The setting `except` of a duplicates rule: pairs of ids, or the dataset that lists them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag, WithJsonSchema

from rules.models import Strict


class RecordOf(Strict):
    """The id of a record of one of several datasets: `{shop: "4"}`; or its columns in a dataset of pairs."""

    dataset: str
    id: tuple[str, ...]


Named = tuple[str, ...] | RecordOf
"""The id of a record, or its columns; without a dataset, of the rule's first."""


def _pair(value: Any) -> Any:
    if (pair := _two(value)) is not None:
        return pair
    raise ValueError("write a line of except as two different ids: [id, id]; an id of two columns is itself a list")


def _columns(value: Any) -> Any:
    if value is None or (pair := _two(value)) is not None:
        return None if value is None else pair
    raise ValueError("write the columns of the two ids: [first_id, second_id]; an id of two columns is a list")


def _two(value: Any) -> tuple[Any, Any] | None:
    """Return two different records; None if the value is anything else."""
    if isinstance(value, (list, tuple)) and len(value) == 2:
        first, second = (_record(record) for record in value)
        if first != second and None not in (first, second):
            return first, second
    return None


def _record(value: Any) -> Any:
    """Return the id of a record as a tuple, or with its dataset as RecordOf; None if it is neither."""
    if isinstance(value, RecordOf):
        return value
    if isinstance(value, dict) and len(value) == 1:
        [(dataset, written)] = value.items()
        record = _record(written)
        return RecordOf(dataset=dataset, id=record) if isinstance(record, tuple) else None
    record = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    return record if all(isinstance(part, str) for part in record) else None


_PAIR_SCHEMA = {"type": "array", "minItems": 2, "maxItems": 2}
Pair = Annotated[tuple[Named, Named], BeforeValidator(_pair)]
Pairs = tuple[Pair, ...]


class ListedPairs(Strict):
    """`except: {dataset: known_different, columns: [first_id, second_id]}`: each record of the dataset is a pair."""

    dataset: str
    columns: Annotated[tuple[Named, Named] | None, BeforeValidator(_columns)] = None


def _form(value: Any) -> str:
    return "listed" if isinstance(value, (dict, ListedPairs)) else "pairs"


ExceptSetting = Annotated[
    Annotated[ListedPairs, Tag("listed")] | Annotated[Pairs, Tag("pairs")],
    Discriminator(_form),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": _PAIR_SCHEMA},
                {
                    "type": "object",
                    "required": ["dataset"],
                    "additionalProperties": False,
                    "properties": {"dataset": {"type": "string"}, "columns": _PAIR_SCHEMA},
                },
            ]
        }
    ),
]
