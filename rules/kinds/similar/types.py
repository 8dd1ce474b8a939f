"""The semantic types of compared columns."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum


class SemanticType(StrEnum):
    """What a column holds: it decides how two of its values are compared."""

    GIVEN_NAME = "given_name"
    SURNAME = "surname"
    NAME = "name"
    EMAIL = "email"
    PHONE = "phone"
    DATE = "date"
    ADDRESS = "address"
    POSTCODE = "postcode"
    CITY = "city"
    COMPANY = "company"
    PRODUCT = "product"
    TEXT = "text"
    NUMBER = "number"
    AMOUNT = "amount"
    EXACT = "exact"


PERSONAL = frozenset({SemanticType.GIVEN_NAME, SemanticType.SURNAME})
"""Types whose columns can hold each other's values."""

NAMES = PERSONAL | {SemanticType.NAME}
"""Types of the names of persons."""

WORDED = frozenset(
    {SemanticType.NAME, SemanticType.ADDRESS, SemanticType.COMPANY, SemanticType.PRODUCT, SemanticType.TEXT}
)
"""Types that are compared word by word."""

SEVERAL_VALUED = frozenset({SemanticType.EMAIL, SemanticType.PHONE})
"""Types whose cells can hold several values."""

WORDLESS = frozenset({SemanticType.DATE, SemanticType.AMOUNT, SemanticType.PHONE, SemanticType.EMAIL})
"""Types whose values have no words."""

ADDRESSED = frozenset({SemanticType.ADDRESS, SemanticType.POSTCODE, SemanticType.CITY})
"""Types of the parts of an address."""

PLACES = ADDRESSED | {SemanticType.PHONE}
"""Types of what tells where somebody is."""


def shared_by_neighbours(types: Collection[SemanticType]) -> frozenset[SemanticType]:
    """Return the types whose values neighbours share: companies in a building, members of a household.

    Members of a household have an address in common, and most often a surname.
    """
    return PLACES | {SemanticType.SURNAME} if SemanticType.ADDRESS in types else PLACES
