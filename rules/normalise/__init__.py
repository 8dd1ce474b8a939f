"""Normalisers: what each does to a value, in Python for everybody and in SQL where that is identical.

`NORMALISERS` holds all of them by name; third parties add theirs to the same dict, through `register`.
"""

from rules.normalise.chain import chain_function, chain_sql, chain_type, emptying_step, never_blank, normalise
from rules.normalise.contact import CONTACT
from rules.normalise.normaliser import NORMALISERS, Exactness, Normaliser, register, weakest
from rules.normalise.numbers import NUMBERS
from rules.normalise.text import TEXT
from rules.normalise.times import TIMES

for _one in (*TEXT, *CONTACT, *NUMBERS, *TIMES):
    register(_one)

__all__ = [
    "NORMALISERS",
    "Exactness",
    "Normaliser",
    "chain_function",
    "chain_sql",
    "chain_type",
    "emptying_step",
    "never_blank",
    "normalise",
    "register",
    "weakest",
]
