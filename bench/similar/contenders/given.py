"""What every specialist is given: the tables cleaned, the types of the columns, and good blocking rules by set.

`left.parquet` and, for two tables, `right.parquet` hold the compared columns and `row`; `set.json` says the rest. As
the guides of the specialists advise, texts are trimmed and in lower case, dates in one form, amounts numbers, phones
digits.
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

Rules = list[list[str]]
"""Blocking rules: records are compared if they agree in all expressions of one of them."""


@dataclass(frozen=True)
class Blocking:
    """Blocking rules of a set, rules that are nearly always right, and rules to train on.

    Without rules that are right, each record of the left table has a partner, as in the demo of Splink for transfers.
    """

    compare: Rules
    certain: Rules
    train: Rules


_FEBRL = Blocking(
    [["soc_sec_id"], ["given_name"], ["surname"], ["date_of_birth"], ["postcode"]],
    [["soc_sec_id"], ["given_name", "surname", "date_of_birth"]],
    [["date_of_birth"], ["postcode"]],
)
_PERSONS = Blocking(
    [
        ["email"],
        ["first_name", "surname"],
        ["surname", "birth_date"],
        ["first_name", "birth_date"],
        ["postcode"],
        ["city", "birth_date"],
    ],
    [["first_name", "surname", "birth_date"], ["email"]],
    [["first_name", "surname"], ["birth_date"]],
)
_BLOCKING = {
    **{f"febrl{number}": _FEBRL for number in (1, 2, 3, 4)},
    **{f"persons-{size}": _PERSONS for size in ("10k", "100k", "1m")},
    "restaurants": Blocking([["phone"], ["name"], ["addr"], ["city"]], [["phone"]], [["phone"], ["city"]]),
    "products": Blocking([["1"]], [], [["price"], ["substr(title, 1, 5)"]]),
    "early-childhood": Blocking(
        [["phone"], ["address"], ["site_name"], ["zip", "substr(site_name, 1, 4)"]],
        [["site_name", "phone"], ["site_name", "address"]],
        [["phone"], ["site_name"]],
    ),
    "people-historical": Blocking(
        [
            ["substr(first_name, 1, 3)", "substr(surname, 1, 4)"],
            ["surname", "dob"],
            ["first_name", "dob"],
            ["postcode_fake", "first_name"],
            ["postcode_fake", "surname"],
            ["dob", "birth_place"],
            ["substr(postcode_fake, 1, 3)", "dob"],
            ["substr(postcode_fake, 1, 3)", "first_name", "surname"],
        ],
        [["first_name", "surname", "dob"], ["substr(first_name, 1, 2)", "surname", "substr(postcode_fake, 1, 2)"]],
        [["first_name", "surname"], ["dob"]],
    ),
    "transfers": Blocking(
        [
            ["substr(transaction_date, 1, 7)", "substr(memo, 1, 3)", "round(ln(abs(amount) + 1), 1)"],
            ["substr(memo, 1, 9)"],
            ["amount"],
            ["transaction_date", "round(ln(abs(amount) + 1), 1)"],
        ],
        [],
        [["memo"], ["amount"]],
    ),
    "hell-persons": Blocking(
        [
            ["given_name", "family_name"],
            ["family_name", "birth_date"],
            ["given_name", "birth_date"],
            ["residential_address_line1"],
            ["residential_postal_code"],
            ["email_address"],
            ["mobile_phone"],
        ],
        [["given_name", "family_name", "birth_date"]],
        [["given_name", "family_name"], ["birth_date"]],
    ),
    "hell-companies": Blocking(
        [["legal_name"], ["trading_name"], ["registered_address_line1"], ["date_of_incorporation"], ["phone_number"]],
        [["legal_name", "date_of_incorporation"]],
        [["legal_name"], ["date_of_incorporation"]],
    ),
    "hell-contacts": Blocking(
        [["email"], ["phone"], ["first_name", "last_name"], ["last_name", "company_name"]],
        [["email"], ["first_name", "last_name", "company_name"]],
        [["first_name", "last_name"], ["email"]],
    ),
    "hell-accounts": Blocking(
        [["account_name"], ["duns_number"], ["phone"], ["address_line1"], ["postal_code"]],
        [["duns_number"], ["account_name", "postal_code"]],
        [["account_name"], ["address_line1"]],
    ),
    "made-up-companies": Blocking(
        [["phone"], ["address"], ["postcode"], ["substr(name, 1, 8)"]],
        [["phone"], ["name", "city"]],
        [["phone"], ["name"]],
    ),
    "made-up-products": Blocking(
        [["price"], ["substr(title, 1, 12)"]],
        [["title"]],
        [["price"], ["substr(title, 1, 12)"]],
    ),
}


@dataclass(frozen=True)
class Given:
    """A set as a specialist gets it. The truth serves only to label pairs for those that need labels."""

    folder: Path
    name: str
    types: dict[str, str]
    one_to_one: bool
    tables: list[pd.DataFrame]

    @classmethod
    def read(cls) -> "Given":
        folder = Path(sys.argv[1])
        description = json.loads((folder / "set.json").read_text())
        types = description["types"]
        paths = [folder / "left.parquet", folder / "right.parquet"]
        tables = [cleaned(parquet.read_table(path), types) for path in paths if path.exists()]
        return cls(folder, description["name"], types, description["one_to_one"], tables)

    @property
    def blocking(self) -> Blocking:
        columns = [[column] for column in self.types]
        return _BLOCKING.get(self.name, Blocking(columns, [[*self.types]], columns[:2]))

    @property
    def independent(self) -> dict[str, str]:
        """The types without full names that repeat a given name and a surname."""
        kinds = set(self.types.values())
        repeats = {"given_name", "surname"} <= kinds
        return {column: kind for column, kind in self.types.items() if not (repeats and kind == "name")}

    @property
    def truth(self) -> set[tuple[int, int]]:
        table = parquet.read_table(self.folder / "truth.parquet")
        return set(zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True))


def cleaned(table: pa.Table, types: dict[str, str]) -> pd.DataFrame:
    frame = table.to_pandas()
    for column, kind in types.items():
        values = frame[column].astype("string").str.strip().str.lower()
        if kind == "amount":
            digits = values.str.replace(r"[^0-9.-]+", "", regex=True)
            frame[column] = pd.to_numeric(digits, errors="coerce").astype("float64")
        else:
            kept = values.str.replace(r"\.0$", "", regex=True) if kind in {"phone", "postcode"} else values
            kept = kept.str.replace(r"[^0-9]+", "", regex=True) if kind == "phone" else kept
            kept = kept.map(_day) if kind == "date" else kept
            frame[column] = kept.where(kept.notna() & (kept != ""), None).astype(object).where(kept.notna(), None)
    return frame.set_index("row", drop=False)


def _day(text: object) -> object:
    match = re.fullmatch(r"(\d{4})-?(\d\d)-?(\d\d)(?:[ t].*)?", text) if isinstance(text, str) else None
    return "-".join(match.groups()) if match else text


def answer(pairs: set[tuple[int, int]], lines: int) -> None:
    """Write the pairs of rows into the file that the second argument names, and print the number of lines."""
    ordered = sorted((min(pair), max(pair)) for pair in pairs)
    table = pa.table({"a": [a for a, _ in ordered], "b": [b for _, b in ordered]})
    parquet.write_table(table.cast(pa.schema([("a", pa.int64()), ("b", pa.int64())])), sys.argv[2])
    print(json.dumps({"lines": lines}))


def within(groups: "list[list[int]]") -> set[tuple[int, int]]:
    """Return all pairs of rows of the same group."""
    return {(a, b) for group in groups for a in group for b in group if a < b}
