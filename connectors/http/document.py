"""An answer as JSON, read as JSON files are, and the values at paths in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from connectors.errors import FileUnreadable
from connectors.files.json.document import DEEPEST, MOST_ARRAYS
from connectors.files.json.values import DECODER, TOO_DEEP, NotJson
from connectors.http.errors import AnswerCut

MISSING = object()
"""The value where a path leads to none."""


def parsed(text: str, where: str) -> Any:
    """The document. Numbers keep their digits. Raises FileUnreadable, also for a key that an object has twice."""
    try:
        return DECODER.decode(text)
    except NotJson as error:
        raise FileUnreadable(where, error.reason, "ask the API's owner to correct it") from None
    except RecursionError:
        raise FileUnreadable(where, TOO_DEEP[0], "read less by `params`") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise AnswerCut(where, f"the answer is not JSON at {place}", "try again; it may be cut short") from None


def value_at(value: Any, path: str) -> Any:
    """The value at a path like `meta.next`, or MISSING. A key may have dots itself: `@odata.nextLink`."""
    if not path:
        return value
    if isinstance(value, dict):
        if path in value:
            return value[path]
        inside = (value_at(value[key], path[len(key) + 1 :]) for key in value if path.startswith(f"{key}."))
        return next((each for each in inside if each is not MISSING), MISSING)
    if isinstance(value, list):
        first, _, rest = path.partition(".")
        if first.isdecimal() and first.isascii() and int(first) < len(value):
            return value_at(value[int(first)], rest)
    return MISSING


def records_of(document: Any, path: str | None, where: str) -> Sequence[Mapping[str, Any]]:
    """The list of records at a path. Raises FileUnreadable, with the paths that have lists of objects."""
    records = value_at(document, path or "")
    if not isinstance(records, list):
        raise FileUnreadable(where, f"the answer has no list {_at(path)}{_and_error(document)}", _remedy(document))
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            place = f"{where}, record {number}"
            raise FileUnreadable(place, "it is not a JSON object", "correct `records`, which names a list of objects")
    return records


def _at(path: str | None) -> str:
    return f"at `records: {path}`" if path else "at its top"


def _and_error(document: Any) -> str:
    """Say that the answer reports an error, without its words, which may hold values."""
    named = isinstance(document, dict) and next((key for key in ("error", "errors") if document.get(key)), None)
    return f", and has `{named}`" if named else ""


def _remedy(document: Any) -> str:
    paths = list(islice(_lists(document, ()), MOST_ARRAYS))
    if not paths:
        return "no other place in it has a list of objects; check `path` and `params`"
    if paths == [""]:
        return "leave out `records`: the answer itself is the list"
    return f"set {' or '.join(f'`records: {path}`' for path in paths if path)}"


def _lists(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """The paths of lists of objects."""
    if isinstance(value, dict) and len(path) < DEEPEST:
        for key in value:
            yield from _lists(value[key], (*path, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield ".".join(path)
