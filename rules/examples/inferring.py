"""Column types for examples whose dataset cannot be asked and does not declare them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rules.examples.example import Cell
from rules.values import Type

_DAY = r"\d{4}-\d{2}-\d{2}"
_FORMS = (
    (Type.INTEGER, re.compile(r"-?(?:0|[1-9]\d{0,17})")),
    (Type.DECIMAL, re.compile(r"-?(?:0|[1-9]\d{0,25})(?:\.\d{1,12})?")),
    (Type.DATE, re.compile(_DAY)),
    (
        Type.INSTANT,
        re.compile(rf"{_DAY}(?:[T ]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d{{1,6}})?)?(?:Z|[+-]\d{{2}}(?::?\d{{2}})?)?)?"),
    ),
    (Type.BOOLEAN, re.compile("true|false")),
)


def inferred(cells: Iterable[Cell]) -> Type:
    """Return the first type whose form all values have: integer, decimal, date, instant, boolean; otherwise text.

    A column with a value in quotes is text.
    """
    written = [cell for cell in cells if cell.text is not None]
    if not written or any(cell.quoted for cell in written):
        return Type.TEXT
    texts = [cell.text or "" for cell in written]
    return next((kind for kind, form in _FORMS if all(map(form.fullmatch, texts))), Type.TEXT)
