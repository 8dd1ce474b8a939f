"""Find duplicates in a pandas frame, with the kind of rules that finds records with equal keys."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from reconcile.plugins import Kinds
from rules.engines.base import Relation, Streamed
from rules.kinds import BY_KEY
from rules.kinds.base import DoesNotFit, Kind, Rule
from rules.values import schema_from_arrow

if TYPE_CHECKING:
    import pandas as pd

_POSITION = "_position"
_ADDED = ("group", "role")


def find_duplicates(
    frame: pd.DataFrame,
    key: str | Sequence[Any] | Mapping[str, Any],
    *,
    window: Mapping[str, Any] | None = None,
    gap: Mapping[str, Any] | None = None,
    keep: Any = (),
    where: str | None = None,
    nulls: Mapping[str, str] | None = None,
    minimum: int = 2,
    max_shared: int | None = None,
    timezone: str = "UTC",
    slot: dt.datetime | None = None,
) -> pd.DataFrame:
    """Return the rows of `frame` that share a key, or any of several, group by group, keeper first.

    The rows are unchanged and keep their index; two columns come first: `group` (0, 1, …) and `role` (`keeper` or
    `surplus`). The settings are those of a rule of kind `duplicates` (docs/rules.md); naive times are in `timezone`.
    Raises ValueError, in one sentence, for a setting or column that does not fit.
    """
    _check_timezone(timezone)
    table = _arrow(frame, timezone)
    kind: Kind = Kinds("rules").load(BY_KEY)()
    rule = _rule(
        kind.Settings,
        key=[key] if isinstance(key, str) and key != "all" else key,
        window=window,
        gap=gap,
        keep=keep,
        where=where,
        nulls=dict(nulls or {}),
        minimum=minimum,
        max_share="100%",
        **({} if max_shared is None else {"max_shared": max_shared}),
    )
    relation = Relation(dataset="frame", schema=schema_from_arrow(table.schema), id=(_POSITION,), timezone=timezone)
    try:
        fitted = kind.fit(rule, {"frame": relation})
    except DoesNotFit as misfit:
        raise ValueError(" ".join(misfit.mistakes)) from None
    records = Streamed(open=lambda columns: table.select(list(columns)).to_reader())
    detection = fitted.detect({"frame": records}, slot or dt.datetime.now(dt.UTC))
    members = [
        (number, "surplus" if place else "keeper", int(str(member.id[0])))
        for number, group in enumerate(detection.groups)
        for place, member in enumerate(group.members)
    ]
    result = frame.iloc[[position for _, _, position in members]].copy()
    result.insert(0, "group", [number for number, _, _ in members])
    result.insert(1, "role", [role for _, role, _ in members])
    return result


def _check_timezone(timezone: str) -> None:
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{timezone!r} is not a time zone; write one like Europe/Berlin") from None


def _rule(model: type[Rule], **settings: Any) -> Rule:
    try:
        return model.model_validate({"name": "frame", "dataset": "frame", **settings})
    except ValidationError as invalid:
        raise ValueError("; ".join(_sentence(error) for error in invalid.errors())) from None


def _mixed(frame: pd.DataFrame) -> str:
    for name in frame.columns:
        try:
            pa.array(frame[name], from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return f"column {name}"
    return "a column"


def _sentence(error: Any) -> str:
    message = " ".join(str(error["msg"]).removeprefix("Value error, ").split())
    return f"{error['loc'][0]}: {message}" if error["loc"] else message


def _arrow(frame: pd.DataFrame, timezone: str) -> pa.Table:
    """Return the frame as a table of rule types, with the position of each row as its id."""
    clashing = [name for name in _ADDED if name in frame.columns]
    if clashing:
        raise ValueError(f"the frame has a column named {' and '.join(clashing)}, which the result adds; rename it")
    if not frame.columns.is_unique:
        repeated = sorted({str(column) for column in frame.columns[frame.columns.duplicated()]})
        raise ValueError(f"the frame has several columns named {', '.join(repeated)}; rename them")
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"{_mixed(frame)} holds values of several types; convert it, e.g. astype('str')") from error
    for number, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type):
            values = table[number].cast(pa.timestamp("us", tz=column.type.tz), safe=False)
            if column.type.tz is None:
                values = pc.assume_timezone(values, timezone, ambiguous="earliest", nonexistent="latest")
            table = table.set_column(number, column.name, values.cast(pa.timestamp("us", tz="UTC")))
        elif pa.types.is_dictionary(column.type):
            table = table.set_column(number, column.name, table[number].cast(column.type.value_type))
    return table.append_column(_POSITION, pa.array(range(table.num_rows), pa.int64()))
