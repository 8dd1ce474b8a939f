"""Ways in which a record is written differently: each takes a record and returns it changed in that way alone.

A way that does not apply to a record, such as a nickname for Petra, returns None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date

from bench.similar.background import (
    ABBREVIATIONS,
    LEGAL_FORMS,
    NICKNAMES,
    ROLES,
    STREET_TYPES,
    Background,
    Record,
)

Mutation = Callable[[Background, Record], Record | None]

_LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "Ü": "Ue", "Ö": "Oe", "Ä": "Ae"}
_PLAIN = str.maketrans("äöüÄÖÜøéëíèœ", "aouAOUoeeieo")
_CYRILLIC = {
    "sch": "ш", "ch": "х", "sh": "ш", "ya": "я", "yu": "ю", "zh": "ж", "th": "т", "ph": "ф", "ck": "к", "a": "а",
    "b": "б", "c": "к", "d": "д", "e": "е", "f": "ф", "g": "г", "h": "х", "i": "и", "j": "й", "k": "к", "l": "л",
    "m": "м", "n": "н", "o": "о", "p": "п", "q": "к", "r": "р", "s": "с", "t": "т", "u": "у", "v": "в", "w": "в",
    "x": "кс", "y": "и", "z": "з", "ä": "е", "ö": "е", "ü": "ю", "ß": "с",
}  # fmt: skip


def typo(column: str) -> Mutation:
    """One character substituted, deleted, inserted or swapped with the next; a digit in place of a digit."""

    def mutated(background: Background, record: Record) -> Record | None:
        text = record[column]
        return None if text is None else record | {column: _edited(background, text)}

    return mutated


def _edited(background: Background, text: str) -> str:
    place = int(background.generator.integers(0, len(text)))
    way = int(background.generator.integers(0, 4))
    letter = background.digits(1) if text[place].isdigit() else background.pick(_LETTERS)
    if way == 3 and place + 1 < len(text) and text[place] != text[place + 1]:
        return text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    if way == 1 and len(text) > 2:
        return text[:place] + text[place + 1 :]
    return text[:place] + letter + text[place + (way != 2) :]


def missing(*columns: str) -> Mutation:
    return lambda _, record: record | dict.fromkeys(columns)


def replaced(*columns: str) -> Mutation:
    """Other values, those of another record of the kind."""

    def mutated(background: Background, record: Record) -> Record:
        fresh: Record = background.person() if "given_name" in record else {}
        if "given_name" not in record:
            fresh = {**background.contact(), **background.company(), **background.product(), **background.place()}
        return record | {column: fresh[column] for column in columns}

    return mutated


def rewritten(column: str, change: Callable[[str], str]) -> Mutation:
    """A column as a function of its text; texts that it leaves alone do not count."""

    def mutated(_: Background, record: Record) -> Record | None:
        before = record[column]
        text = before and change(before)
        return None if text == before or not text else record | {column: text}

    return mutated


def together(*mutations: Mutation) -> Mutation:
    """Several ways at once, in a record to which all apply."""

    def mutated(background: Background, record: Record) -> Record | None:
        changed: Record | None = record
        for mutation in mutations:
            changed = None if changed is None else mutation(background, changed)
        return changed

    return mutated


def nickname(text: str) -> str:
    first, _, rest = text.partition(" ")
    return f"{NICKNAMES.get(first, first)} {rest}".strip()


def initial(text: str) -> str:
    first, _, rest = text.partition(" ")
    return f"{first[0]}. {rest}".strip()


def in_cyrillic(text: str) -> str:
    pattern = "|".join(sorted(_CYRILLIC, key=len, reverse=True))
    return re.sub(pattern, lambda match: _CYRILLIC[match[0]], text.lower()).title()


def scanned_digits(text: str) -> str:
    return text.replace("0", "O").replace("1", "l")


def scanned_letters(text: str) -> str:
    return text.replace("rn", "m").replace("l", "1").replace("o", "0")


def spelled_out(text: str) -> str:
    return "".join(_UMLAUTS.get(letter, letter) for letter in text)


def without_marks(text: str) -> str:
    return text.translate(_PLAIN)


def day_and_month_swapped(text: str) -> str:
    day = date.fromisoformat(text)
    return text if day.day > 12 else day.replace(month=day.day, day=day.month).isoformat()


def written_by_day(text: str) -> str:
    return date.fromisoformat(text).strftime("%d.%m.%Y")


def national(text: str) -> str:
    area, _, number = text.removeprefix("+49 ").partition(" ")
    return f"(0{area}) {number[:3]}-{number[3:]}" if number else text


def at_another_domain(text: str) -> str:
    return f"{text.partition('@')[0]}@elsewhere.example"


def without_legal_form(text: str) -> str:
    return next((text.removesuffix(form).strip() for form in LEGAL_FORMS if text.endswith(form)), text)


def with_another_legal_form(text: str) -> str:
    return f"{without_legal_form(text)} Corp."


def abbreviated(text: str) -> str:
    return " ".join(ABBREVIATIONS.get(word, word) for word in text.split())


def acronym(text: str) -> str:
    return "".join(word[0] for word in without_legal_form(text).split() if word[0].isalpha())


def without_last_word(text: str) -> str:
    words = without_legal_form(text).split()
    return text if len(words) < 3 else " ".join(words[:-1])


def reordered(text: str) -> str:
    first, _, rest = text.partition(" ")
    return f"{rest} {first}"


def surname_first(text: str) -> str:
    first, _, rest = text.rpartition(" ")
    return f"{rest}, {first}"


def _abbreviated_street(text: str) -> str:
    for whole, short in STREET_TYPES.items():
        text = re.sub(f"{whole}\\b", short, text)
    return text


def _dearer(text: str) -> str:
    return f"{float(text) * 1.03:.2f}"


def _model(text: str) -> str:
    return next((word for word in text.split() if "-" in word), "")


def _double(background: Background, record: Record) -> Record:
    return record | {"surname": f"{record['surname']}-{background.surname()}"}


def _sibling(background: Background, record: Record) -> Record:
    given = background.pick(("Ulrike", "Bernhard", "Tamara"))
    born = background.person()["birth_date"]
    return record | {
        "given_name": given,
        "birth_date": born,
        "email": background.email(given, str(record["surname"])),
    }


def _next_house(text: str) -> str:
    street, _, number = text.rpartition(" ")
    return f"{street} {int(number) + 2}"


def _next_model(text: str) -> str:
    model = _model(text)
    return text.replace(model, re.sub(r"\d+", lambda match: str(int(match[0]) + 1), model))


def _without_model(text: str) -> str:
    return " ".join(word for word in text.split() if "-" not in word)


def _brand_and_model(text: str) -> str:
    return f"{text.split(maxsplit=1)[0]} {_model(text)}" if _model(text) else text


def _another_person(background: Background, record: Record) -> Record:
    person = background.contact()
    return record | {"name": person["name"]}


def _at_a_role(mutation: Mutation) -> Mutation:
    """A way for records with the mailbox of a role alone."""

    def mutated(background: Background, record: Record) -> Record | None:
        return mutation(background, record) if str(record["email"]).partition("@")[0] in ROLES else None

    return mutated


_MOVED = ("address", "postcode", "city")
_SON = rewritten("surname", lambda text: text.replace(" Sr.", " Jr."))
_SCRIPT = together(rewritten("given_name", in_cyrillic), rewritten("surname", in_cyrillic))

MUTATIONS: Mapping[str, Mapping[str, Mutation]] = {
    "persons": {
        **{f"typo in {column}": typo(column) for column in ("given_name", "surname", "birth_date", "email", "phone")},
        **{f"typo in {column}": typo(column) for column in _MOVED},
        "names swapped": lambda _, record: record | {"given_name": record["surname"], "surname": record["given_name"]},
        **{f"{column} missing": missing(column) for column in ("given_name", "surname", "birth_date", "email")},
        "e-mail, phone and address missing": missing("email", "phone", "address"),
        "nickname": rewritten("given_name", nickname),
        "initial": rewritten("given_name", initial),
        "moved house": replaced(*_MOVED),
        "moved house, other phone and e-mail": replaced(*_MOVED, "phone", "email"),
        "married name": replaced("surname"),
        "married name, other e-mail": replaced("surname", "email"),
        "hyphenated double name": _double,
        "name in another script": _SCRIPT,
        "name in another script, other e-mail": together(_SCRIPT, replaced("email")),
        "umlaut spelled ae, oe, ue": rewritten("surname", spelled_out),
        "umlaut without marks": rewritten("surname", without_marks),
        "OCR: 0 and 1 as O and l": together(rewritten("phone", scanned_digits), rewritten("postcode", scanned_digits)),
        "OCR: l, o, rn as 1, 0, m": rewritten("surname", scanned_letters),
        "day and month swapped": rewritten("birth_date", day_and_month_swapped),
        "date as 31.12.1999": rewritten("birth_date", written_by_day),
        "phone in another format": rewritten("phone", national),
        "e-mail at another domain": rewritten("email", at_another_domain),
        "Sr. left out": rewritten("surname", lambda text: text.removesuffix(" Sr.")),
        "Jr. added": rewritten("surname", lambda text: text if text.endswith("Sr.") else f"{text} Jr."),
    },
    "contacts": {
        **{f"typo in {column}": typo(column) for column in ("name", "email", "phone", "city")},
        **{f"{column} missing": missing(column) for column in ("name", "email", "phone", "city")},
        "e-mail and phone missing": missing("email", "phone"),
        "surname first, with a comma": rewritten("name", surname_first),
        "title added": rewritten("name", lambda text: f"Dr. {text}"),
        "middle name added": rewritten("name", lambda text: text.replace(" ", " Maria ", 1)),
        "nickname": rewritten("name", nickname),
        "initial": rewritten("name", initial),
        "initial, e-mail missing": together(rewritten("name", initial), missing("email")),
        "name in another script": rewritten("name", in_cyrillic),
        "umlaut spelled ae, oe, ue": rewritten("name", spelled_out),
        "phone in another format": rewritten("phone", national),
        "OCR: 0 and 1 as O and l": rewritten("phone", scanned_digits),
        "e-mail at another domain": rewritten("email", at_another_domain),
        "moved, other phone": replaced("city", "phone"),
        "other e-mail and phone": replaced("email", "phone"),
    },
    "companies": {
        **{f"typo in {column}": typo(column) for column in ("name", "address", "postcode", "city", "phone")},
        **{f"{column} missing": missing(column) for column in ("address", "phone")},
        "all but name and city missing": missing("address", "postcode", "phone"),
        "legal form dropped": rewritten("name", without_legal_form),
        "legal form dropped, all but name and city missing": together(
            rewritten("name", without_legal_form), missing("address", "postcode", "phone")
        ),
        "another legal form": rewritten("name", with_another_legal_form),
        "abbreviated words": rewritten("name", abbreviated),
        "acronym": rewritten("name", acronym),
        "last word dropped": rewritten("name", without_last_word),
        "words in another order": rewritten("name", reordered),
        "& as and": rewritten("name", lambda text: text.replace("&", "and")),
        "name in another script": rewritten("name", in_cyrillic),
        "umlaut spelled ae, oe, ue": rewritten("name", spelled_out),
        "moved": replaced(*_MOVED),
        "moved, other phone": replaced(*_MOVED, "phone"),
        "phone in another format": rewritten("phone", national),
        "OCR: 0 and 1 as O and l": together(rewritten("phone", scanned_digits), rewritten("postcode", scanned_digits)),
    },
    "products": {
        "typo in title": typo("title"),
        "price missing": missing("price"),
        "price 3% higher": rewritten("price", _dearer),
        "words in another order": rewritten("title", reordered),
        "abbreviated words": rewritten("title", abbreviated),
        "last word dropped": rewritten("title", without_last_word),
        "words added": rewritten("title", lambda text: f"{text} NEW, free shipping"),
        "number and unit in one word": rewritten("title", lambda text: text.replace(" W ", "W ")),
        "model number without hyphen": rewritten("title", lambda text: text.replace("-", "")),
        "model number in two words": rewritten("title", lambda text: text.replace("-", " ")),
        "model number missing": rewritten("title", _without_model),
        "only brand and model number": rewritten("title", _brand_and_model),
        "OCR: 0 and 1 as O and l": rewritten("title", scanned_digits),
    },
    "addresses": {
        **{f"typo in {column}": typo(column) for column in _MOVED},
        **{f"{column} missing": missing(column) for column in ("postcode", "city")},
        "street abbreviated": rewritten("address", _abbreviated_street),
        "number first": rewritten("address", lambda text: " ".join(reversed(text.split()))),
        "street spelled ss, ue": rewritten("address", spelled_out),
        "city in another script": rewritten("city", in_cyrillic),
        "flat added": rewritten("address", lambda text: f"{text}, Apt 4"),
        "OCR: 0 and 1 as O and l": together(
            rewritten("address", scanned_digits), rewritten("postcode", scanned_digits)
        ),
    },
    "colleagues": {
        **{f"typo in {column}": typo(column) for column in ("name", "company", "email")},
        "email missing": missing("email"),
        "initial": rewritten("name", initial),
        "typo in name, at the mailbox of a role": _at_a_role(typo("name")),
        "initial, at the mailbox of a role": _at_a_role(rewritten("name", initial)),
        "surname first, at the mailbox of a role": _at_a_role(rewritten("name", surname_first)),
        "phone in another format": rewritten("phone", national),
    },
}
"""What is the same thing, by kind of record and name of the mutation."""

CONTROLS: Mapping[str, Mapping[str, Mutation]] = {
    "persons": {
        "another member of the household": _sibling,
        "another person of that name": replaced("birth_date", "email", "phone", *_MOVED),
        "the son of that name at the address": together(_SON, replaced("birth_date", "email")),
        "the son, birth_date and email missing": together(_SON, missing("birth_date", "email")),
    },
    "contacts": {"another person of that name": replaced("email", "phone", "city")},
    "companies": {"another company at the address": replaced("name", "phone")},
    "products": {"the next model": rewritten("title", _next_model)},
    "addresses": {"the next house": rewritten("address", _next_house)},
    "colleagues": {
        "another person at the same mailbox of a role": _at_a_role(_another_person),
        "another person at the company": together(_another_person, missing("email")),
    },
}
"""What is not the same thing, but looks like it."""
