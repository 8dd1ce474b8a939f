"""Made-up people, some of them written twice."""

from __future__ import annotations

import random

import pyarrow as pa

from rules.kinds.similar.settings import Settings

COMPARE = {
    "first": "given_name",
    "last": "surname",
    "born": "date",
    "email": "email",
    "street": "address",
    "city": "city",
}
SETTINGS = Settings.of(COMPARE)
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]


def _name(choose: random.Random, syllables: int) -> str:
    return "".join(choose.choice(_SYLLABLES) for _ in range(syllables)).title()


def _typo(choose: random.Random, text: str) -> str:
    place = choose.randrange(len(text))
    return text[:place] + choose.choice("aeiounrst") + text[place + 1 :]


def people(persons: int, twins: int, seed: int = 1) -> pa.Table:
    """Return persons, of whom the first `twins` have a second record with one typo; `person` is the same for both."""
    choose = random.Random(seed)
    firsts, lasts = ([_name(choose, size) for _ in range(40)] for size in (2, 3))
    cities = [_name(choose, 3) for _ in range(8)]
    rows = []
    for person in range(persons):
        first, last = choose.choice(firsts), choose.choice(lasts)
        born = f"{choose.randrange(1940, 2005)}-{choose.randrange(1, 13):02d}-{choose.randrange(1, 29):02d}"
        email = f"{first}.{last}{choose.randrange(1000)}@mail.example".lower()
        street = f"{choose.randrange(1, 200)} {choose.choice(lasts)} Street"
        rows.append((person, first, last, born, email, street, choose.choice(cities)))
    for person in range(twins):
        row = list(rows[person])
        field = choose.randrange(1, 7)
        row[field] = _typo(choose, row[field])
        rows.append(tuple(row))
    return pa.table(
        {name: list(column) for name, column in zip(("person", *COMPARE), zip(*rows, strict=True), strict=True)}
    )
