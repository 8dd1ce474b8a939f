"""People and their twins for tests of kind `similar`, and the rule asked about them without a source or a run."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rules.groups.detection import Detection
from rules.groups.group import DuplicateGroup
from rules.kinds.similar import SimilarRule
from rules.kinds.similar.detection import FittedSimilar
from rules.values import Type, Value
from tests.support.rules import Rows

SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
TYPES = dict.fromkeys(("id", "name", "email", "phone", "born", "city", "note"), Type.TEXT) | {"balance": Type.DECIMAL}
COMPARE = {"name": "name", "email": "email", "phone": "phone", "born": "date"}
_NAMES = "Iris Holm, Bela Varga, Tom Ayers, Lena Kraus, Igor Petrov, Maya Singh, Omar Haddad, Sara Lund"
Row = dict[str, Value]


def person(identifier: str, name: str | None, **values: Value) -> Row:
    """A record whose other columns follow from the name unless they are given."""
    first, last = (name or "No Body").lower().replace(",", "").split()[:2]
    digits = sum(map(ord, f"{first}{last}")) * 7919 % 10_000_000
    usual = {
        "email": f"{first}.{last}@example.com",
        "phone": f"+49 30 {digits:07d}",
        "born": f"19{50 + digits % 40}-0{1 + digits % 9}-1{digits % 8}",
        "city": "Berlin",
    }
    return {"id": identifier, "name": name, **usual, **values}


ADA = person("a1", "Ada Lovelace", email="ada@example.com", phone="+44 20 7946 0123", born="1985-12-10")
TWIN = ADA | {"id": "a2", "name": "Lovelace, Ada", "email": "ada.l@example.org", "phone": "020 79460123"}
"""Another record of ADA: the name turned round, another address, the number in another form."""
STRANGERS = [person(f"s{number}", name) for number, name in enumerate(_NAMES.split(", "))]
PEOPLE = [*STRANGERS, ADA, TWIN]


def detect(
    rows: Sequence[Row] | Mapping[str, Sequence[Row]],
    *,
    data: Any = None,
    types: Mapping[str, Mapping[str, Type]] | None = None,
    **settings: Any,
) -> Detection:
    """What a rule finds in rows, or in the rows of several datasets by name.

    `data` are settings of the datasets, `types` those of columns by dataset where they are not as usual.
    """
    of_dataset = rows if isinstance(rows, Mapping) else {"things": rows}
    names = {"datasets": list(of_dataset)} if isinstance(rows, Mapping) else {"dataset": "things"}
    rule = SimilarRule.model_validate({"name": "twins", "compare": COMPARE} | names | settings)
    given = {name: _rows(own, (types or {}).get(name, {}), data or {}) for name, own in of_dataset.items()}
    relations = {name: replace(own.relation(), dataset=name) for name, own in given.items()}
    fitted = FittedSimilar.of(rule, relations)
    return fitted.detect({name: own.streamed() for name, own in given.items()}, SLOT)


def groups(rows: Sequence[Row] | Mapping[str, Sequence[Row]], **settings: Any) -> list[DuplicateGroup]:
    every_group = list(detect(rows, **settings).groups)
    assert all(isinstance(group, DuplicateGroup) for group in every_group)
    return every_group  # type: ignore[return-value]  # asserted above


def ids(rows: Sequence[Row] | Mapping[str, Sequence[Row]], **settings: Any) -> list[list[Value]]:
    """The ids of each group, keeper first."""
    return [[member.id[0] for member in group.members] for group in groups(rows, **settings)]


def _rows(rows: Sequence[Row], types: Mapping[str, Type], settings: Mapping[str, Any]) -> Rows:
    columns = dict.fromkeys(name for row in rows for name in row)
    return Rows({name: types.get(name, TYPES.get(name, Type.TEXT)) for name in columns}, rows, **settings)
