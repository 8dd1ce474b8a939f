"""Normalisers: functions of a value, in Python always and in SQL where that is identical.

`NORMALISERS` holds all of them by name; third parties add theirs through `register`.
"""

from rules.normalise.address import ADDRESS
from rules.normalise.chain import (
    chain_function,
    chain_sql,
    chain_type,
    emptying_step,
    never_blank,
    never_empty,
    normalise,
)
from rules.normalise.company import COMPANY
from rules.normalise.contact import CONTACT
from rules.normalise.normaliser import NORMALISERS, Exactness, Normaliser, register, weakest
from rules.normalise.numbers import NUMBERS
from rules.normalise.person import PERSON
from rules.normalise.text import TEXT
from rules.normalise.times import TIMES

for _normaliser in (*TEXT, *CONTACT, *PERSON, *COMPANY, *ADDRESS, *NUMBERS, *TIMES):
    register(_normaliser)

__all__ = [
    "NORMALISERS",
    "Exactness",
    "Normaliser",
    "chain_function",
    "chain_sql",
    "chain_type",
    "emptying_step",
    "never_blank",
    "never_empty",
    "normalise",
    "register",
    "weakest",
]
