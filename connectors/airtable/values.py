"""Values of Airtable's cells: as rules see them, as cells of a target, and as they are written back.

The list of records, and the list of changes (webhooks), write some types differently: an option is its name here and an
object there, a linked record its id here and an object there. `plain` makes the two equal.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from connectors.airtable.schema import DECIMALS, TEXTS, AirtableField
from connectors.target import Cell

DECIMAL = pa.decimal128(38, 12)
INSTANT = pa.timestamp("us", "UTC")
_WHOLE = frozenset({"rating", "autoNumber", "count"})
_INSTANTS = frozenset({"dateTime", "createdTime", "lastModifiedTime"})
_PEOPLE = frozenset({"singleCollaborator", "createdBy", "lastModifiedBy"})
_PARTS = {"barcode": "text", "button": "label", "aiText": "value", "externalSyncSource": "name"}
_EXACT = 2**53
_TRUE, _FALSE = ("true", "yes", "y", "t", "1"), ("false", "no", "n", "f", "0")
PLANNED = "t"
"""The tag of a text; a planned one fits any field."""


class Unreadable(ValueError):
    """A cell that has no value of its column's type; its text is the reason for people, without the value."""


class Unwritable(ValueError):
    """A planned value that a field cannot hold; its text is the reason as a clause."""


# As rules see them


def arrow_type(field: AirtableField) -> pa.DataType:
    """The type of a field's column: lists, and types that we do not know, are JSON texts."""
    if field.kind == "multipleLookupValues":
        return pa.string()
    kind = field.result.kind
    if kind in _WHOLE or (kind == "number" and field.result.places == 0 and not field.is_computed):
        return pa.int64()
    if kind in DECIMALS:
        return DECIMAL
    if kind == "checkbox":
        return pa.bool_()
    if kind == "date":
        return pa.date32()
    return INSTANT if kind in _INSTANTS else pa.string()


def read(field: AirtableField, value: Any) -> Any:
    """The value of a cell for its column. Raises Unreadable, for errors of formulas too."""
    if field.kind == "multipleLookupValues":
        return _list(value)
    if value is None:
        return False if field.kind == "checkbox" else None
    if isinstance(value, dict) and (mistake := value.get("error") or value.get("specialValue")):
        raise Unreadable(f"Airtable could not compute it ({mistake})" if _is_word(mistake) else "an error of Airtable")
    kind = arrow_type(field)
    if kind == pa.int64():
        return _integer(value)
    if kind == DECIMAL:
        return _decimal(value)
    if kind == pa.bool_():
        return _checked(value, bool, "not a checkbox")
    if kind == pa.date32():
        return _moment(value, dt.date.fromisoformat, "not a date")
    if kind == INSTANT:
        return _moment(value, instant, "not an instant")
    return _text(field, value)


def _is_word(text: Any) -> bool:
    return isinstance(text, str) and len(text) < 20 and text.replace("#", "").replace("!", "").isalpha()


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable("not an integer")
    if value != value or abs(value) >= 2**63 or int(value) != value:  # noqa: PLR0124 - not a number
        raise Unreadable("not an integer")
    return int(value)


def _decimal(value: Any) -> Decimal:
    """The number in the 15 digits that a table shows of it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable("not a number")
    number = Decimal(value) if isinstance(value, int) else Decimal(format(value, ".15g"))
    if not number.is_finite() or number.adjusted() >= 26:
        raise Unreadable("a number with too many digits")
    return number.quantize(Decimal(1).scaleb(-12)) if -number.as_tuple().exponent > 12 else number  # type: ignore[operator]


def _checked(value: Any, kind: type, reason: str) -> Any:
    if not isinstance(value, kind):
        raise Unreadable(reason)
    return value


def _moment(value: Any, parse: Callable[[str], Any], reason: str) -> Any:
    try:
        return parse(_checked(value, str, reason))
    except ValueError as error:
        raise Unreadable(reason) from error


def instant(text: str) -> dt.datetime:
    """The instant of an ISO 8601 text; without an offset it is in UTC. Raises ValueError."""
    moment = dt.datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)


def _text(field: AirtableField, value: Any) -> str | None:
    kind = field.result.kind
    if isinstance(value, dict) and kind in _PARTS:
        value = value.get(_PARTS[kind])
    elif isinstance(value, dict) and kind in _PEOPLE:
        value = _person(value)
    elif isinstance(value, list):
        return _list(value)
    if kind == "richText" and isinstance(value, str):
        value = value.rstrip("\n")  # Airtable adds the last line end to each rich text
    if value is None or isinstance(value, str):
        return value or None
    return _json(value)


def _list(value: Any) -> str | None:
    """A list as JSON, in Airtable's order; attachments without their addresses, which expire."""
    if value is None or value == []:
        return None
    if isinstance(value, dict) and isinstance(value.get("linkedRecordIds"), list):
        by_record = value.get("valuesByLinkedRecordId") or {}
        value = [item for record in value["linkedRecordIds"] for item in by_record.get(record, [])]
    return _json([_element(item) for item in value] if isinstance(value, list) else [_element(value)])


def _element(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    if "filename" in item or "url" in item:
        return {name: item[name] for name in ("id", "filename", "size", "type") if name in item}
    if "email" in item or "id" in item:
        return _person(item)
    return item


def _person(item: Mapping[str, Any]) -> Any:
    return item.get("email") or item.get("name") or item.get("id")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


# As they are compared and written


def plain(field: AirtableField, value: Any) -> Any:
    """A value as plain JSON, the same from a list of records and from a list of changes; None for an empty cell."""
    if value is None or value in ("", []) or value is False:
        return None
    if field.kind == "richText" and isinstance(value, str):
        return value.rstrip("\n") or None
    if isinstance(value, list):
        return [_plain_element(field.kind, item) for item in value]
    if field.kind == "singleSelect" and isinstance(value, dict):
        return value.get("name")
    if field.kind in _PEOPLE and isinstance(value, dict):
        return value.get("id")
    if field.kind == "barcode" and isinstance(value, dict):
        return {name: item for name, item in value.items() if item is not None}
    if field.kind in _INSTANTS and isinstance(value, str):
        try:
            return _written_instant(instant(value))
        except ValueError:
            return value
    if isinstance(value, float) and value == int(value) and abs(value) < _EXACT:
        return int(value)
    return value


def _plain_element(kind: str, item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return item.get("name") if kind == "multipleSelects" else item.get("id", item)


def cell(field: AirtableField, value: Any) -> Cell:
    """The cell of a target: texts as they are, anything else as JSON."""
    value = plain(field, value)
    if field.kind == "checkbox":
        return ("j", "true" if value else "false")
    if value is None:
        return None
    return (PLANNED, value) if isinstance(value, str) else ("j", _json(value))


def written(field: AirtableField, planned: Cell) -> Any:
    """The JSON that a request sets a field to. Raises Unwritable."""
    if planned is None:
        return None
    tag, text = planned
    if tag == "j":
        value = json.loads(text)
        return value if field.kind != "checkbox" or value else False
    if field.kind in TEXTS:
        return text
    if text == "":
        return None
    writer = _WRITERS.get(field.kind)
    if writer is None:
        raise Unwritable(f"a field of type {field.kind} is not written to")
    return writer(field, text)


def _number(field: AirtableField, text: str) -> int | float:
    try:
        number = Decimal(text.strip())
    except InvalidOperation as error:
        raise Unwritable("it is not a number") from error
    whole = number == number.to_integral_value() if number.is_finite() else False
    value: int | float = int(number) if whole else float(number)
    if not number.is_finite() or (whole and abs(number) > _EXACT) or (not whole and Decimal(repr(value)) != number):
        raise Unwritable("Airtable holds no number with so many digits")
    if field.kind in ("rating", "number") and not whole and not field.places:
        raise Unwritable("the field holds whole numbers")
    return value


def _boolean(field: AirtableField, text: str) -> bool:
    del field
    low = text.strip().lower()
    if low not in _TRUE + _FALSE:
        raise Unwritable("it is not true or false")
    return low in _TRUE


def _date(field: AirtableField, text: str) -> str:
    del field
    try:
        return dt.date.fromisoformat(text.strip()).isoformat()
    except ValueError as error:
        raise Unwritable("it is not a date like 2026-03-01") from error


def _instant(field: AirtableField, text: str) -> str:
    del field
    try:
        return _written_instant(instant(text.strip()))
    except ValueError as error:
        raise Unwritable("it is not a time like 2026-03-01T10:00:00Z") from error


def _written_instant(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _option(field: AirtableField, text: str) -> str:
    if text not in field.choices:
        raise Unwritable("the field has no such option; add it at Airtable, or choose an existing one")
    return text


def _options(field: AirtableField, text: str) -> list[str]:
    return [_option(field, item) for item in _texts(text)]


def _links(field: AirtableField, text: str) -> list[str]:
    del field
    links = _texts(text)
    if not all(link.startswith("rec") and link.isalnum() for link in links):
        raise Unwritable("a link is a record's id, which begins with rec")
    return links


def _texts(text: str) -> list[str]:
    """The texts of a JSON list, or the text alone."""
    if not text.startswith("["):
        return [text]
    try:
        items = json.loads(text)
    except ValueError as error:
        raise Unwritable("it is not a list in JSON") from error
    if not all(isinstance(item, str) for item in items):
        raise Unwritable("it is not a list of texts")
    return list(items)


_WRITERS: Mapping[str, Callable[[AirtableField, str], Any]] = {
    **dict.fromkeys((*DECIMALS, "rating"), _number),
    "checkbox": _boolean,
    "date": _date,
    "dateTime": _instant,
    "singleSelect": _option,
    "multipleSelects": _options,
    "multipleRecordLinks": _links,
}
