"""The semantic types of compared columns."""

from __future__ import annotations

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

WORDED = frozenset(
    {SemanticType.NAME, SemanticType.ADDRESS, SemanticType.COMPANY, SemanticType.PRODUCT, SemanticType.TEXT}
)
"""Types that are compared word by word."""

SEVERAL_VALUED = frozenset({SemanticType.EMAIL, SemanticType.PHONE})
"""Types whose cells can hold several values."""

SHARED = frozenset(
    {
        SemanticType.PHONE,
        SemanticType.ADDRESS,
        SemanticType.POSTCODE,
        SemanticType.CITY,
    }
)
"""Types whose values neighbours share: members of a household, companies in a building."""
