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


def with_households(table: pa.Table, members: int) -> pa.Table:
    """Return persons with a phone each, and as many more who live with one of them."""
    choose = random.Random(2)
    rows = table.to_pylist()
    phones = {row["person"]: f"030 {choose.randrange(10**7):07d}" for row in rows}
    rows = [{**row, "phone": phones[row["person"]]} for row in rows]
    hosts = [row for number, row in enumerate(rows) if row["person"] == number]
    for person, host in enumerate(choose.sample(hosts, members), start=len(rows)):
        first, born = _name(choose, 4), f"{choose.randrange(1940, 2005)}-12-{choose.randrange(29, 32)}"
        email = f"{first}.{host['last']}@example.com".lower()
        rows.append({**host, "person": person, "first": first, "born": born, "email": email})
    return pa.Table.from_pylist(rows, schema=table.schema.append(pa.field("phone", pa.string())))
