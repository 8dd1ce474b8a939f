"""The labelled sets by name. Only the types of their columns are named; rows are shuffled.

They are read from ../shared/data and from a folder to which bench/similar/export.py writes those that come inside
packages; RECONCILE_DATA and RECONCILE_SETS name other folders. An absent set is skipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from bench.similar import made_up
from bench.similar.labelled import Labelled, linked, same_entity, shuffled

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("RECONCILE_DATA", ROOT.parent / "shared" / "data"))
EXPORTED = Path(os.environ.get("RECONCILE_SETS", ROOT / "bench" / ".data" / "similar"))

_FEBRL = {
    "given_name": "given_name",
    "surname": "surname",
    "street_number": "number",
    "address_1": "address",
    "address_2": "address",
    "suburb": "city",
    "postcode": "postcode",
    "state": "exact",
    "date_of_birth": "date",
    "soc_sec_id": "exact",
}


def _febrl(number: int) -> Labelled:
    table = shuffled(parquet.read_table(EXPORTED / f"febrl{number}.parquet"), number)
    links = parquet.read_table(EXPORTED / f"febrl{number}-links.parquet")
    row = {record: place for place, record in enumerate(table["rec_id"].to_pylist())}
    pairs = zip(links["a"].to_pylist(), links["b"].to_pylist(), strict=True)
    truth = {(min(row[a], row[b]), max(row[a], row[b])) for a, b in pairs}
    return Labelled([table], _FEBRL, truth)


def _febrl4() -> Labelled:
    tables = [shuffled(parquet.read_table(EXPORTED / f"febrl4{side}.parquet"), 4 + n) for n, side in enumerate("ab")]
    links = parquet.read_table(EXPORTED / "febrl4-links.parquet")
    pairs = zip(links["a"].to_pylist(), links["b"].to_pylist(), strict=True)
    left, right = (table["rec_id"].to_pylist() for table in tables)
    return Labelled(tables, _FEBRL, linked(left, right, pairs), one_to_one=True)


def _people() -> Labelled:
    table = shuffled(parquet.read_table(DATA / "people-historical/people.parquet"), 5)
    types = {
        "full_name": "name",
        "first_and_surname": "name",
        "first_name": "given_name",
        "surname": "surname",
        "dob": "date",
        "birth_place": "city",
        "postcode_fake": "postcode",
        "gender": "exact",
        "occupation": "text",
    }
    return Labelled([table], types, same_entity(table["cluster"].to_pylist()))


def _early_childhood() -> Labelled:
    path = DATA / "early-childhood/sites-with-true-ids.csv"
    table = shuffled(csv.read_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True)), 6)
    table = table.rename_columns([name.strip().lower().replace(" ", "_") for name in table.column_names])
    types = {"site_name": "company", "address": "address", "zip": "postcode", "phone": "phone"}
    return Labelled([table], types, same_entity(table["true_id"].to_pylist()))


def _restaurants() -> Labelled:
    left, right = (
        shuffled(csv.read_csv(DATA / f"restaurants/{name}.csv"), seed) for seed, name in ((7, "fodors"), (8, "zagats"))
    )
    links = csv.read_csv(DATA / "restaurants/matches_fodors_zagats.csv")
    pairs = zip(links["fodors_id"].to_pylist(), links["zagats_id"].to_pylist(), strict=True)
    types = {"name": "company", "addr": "address", "city": "city", "phone": "phone", "type": "text"}
    truth = linked(left["id"].to_pylist(), right["id"].to_pylist(), pairs)
    return Labelled([left, right], types, truth, one_to_one=True)


def _products() -> Labelled:
    left, right = (_text(shuffled(csv.read_csv(DATA / f"products/{n}.csv"), s)) for s, n in ((9, "abt"), (10, "buy")))
    ids, partners = left["unique_id"].to_pylist(), right["unique_id"].to_pylist()
    truth = {(a, len(ids) + b) for a, value in enumerate(ids) for b, partner in enumerate(partners) if value == partner}
    types = {"title": "product", "description": "text", "price": "amount"}
    return Labelled([left, right], types, truth, one_to_one=True)


def _text(table: pa.Table) -> pa.Table:
    return pa.table({name: table[name].cast(pa.string()) for name in table.column_names})


def _transfers() -> Labelled:
    left, right = (
        shuffled(parquet.read_table(DATA / f"transfers/{name}.parquet"), seed)
        for seed, name in ((11, "sent"), (12, "received"))
    )
    links = parquet.read_table(DATA / "transfers/matches.parquet")
    pairs = zip(links["sent_id"].to_pylist(), links["received_id"].to_pylist(), strict=True)
    types = {"memo": "text", "transaction_date": "date", "amount": "amount"}
    truth = linked(left["id"].to_pylist(), right["id"].to_pylist(), pairs)
    return Labelled([left, right], types, truth, one_to_one=True)


def _hell(name: str, types: Mapping[str, str]) -> Labelled:
    table = shuffled(parquet.read_table(EXPORTED / f"{name}.parquet"), 13)
    return Labelled([table], types, same_entity(table["master_id"].to_pylist()))


_PERSONS = {
    "given_name": "given_name",
    "family_name": "surname",
    "birth_date": "date",
    "email_address": "email",
    "mobile_phone": "phone",
    "residential_address_line1": "address",
    "residential_city": "city",
    "residential_postal_code": "postcode",
    "tax_id": "exact",
}
_COMPANIES = {
    "legal_name": "company",
    "trading_name": "company",
    "registration_number": "exact",
    "date_of_incorporation": "date",
    "registered_address_line1": "address",
    "registered_city": "city",
    "business_email": "email",
    "phone_number": "phone",
}
_CONTACTS = {
    "first_name": "given_name",
    "last_name": "surname",
    "email": "email",
    "phone": "phone",
    "company_name": "company",
    "city": "city",
}
_ACCOUNTS = {
    "account_name": "company",
    "duns_number": "exact",
    "phone": "phone",
    "address_line1": "address",
    "city": "city",
    "postal_code": "postcode",
}

SETS: dict[str, Callable[[], Labelled]] = {
    "febrl1": lambda: _febrl(1),
    "febrl2": lambda: _febrl(2),
    "febrl3": lambda: _febrl(3),
    "febrl4": _febrl4,
    "restaurants": _restaurants,
    "products": _products,
    "early-childhood": _early_childhood,
    "people-historical": _people,
    "transfers": _transfers,
    "hell-persons": lambda: _hell("hell-persons", _PERSONS),
    "hell-companies": lambda: _hell("hell-companies", _COMPANIES),
    "hell-contacts": lambda: _hell("hell-contacts", _CONTACTS),
    "hell-accounts": lambda: _hell("hell-accounts", _ACCOUNTS),
    "made-up-companies": lambda: made_up.companies(5_000),
    "made-up-products": lambda: made_up.products(5_000),
    "persons-10k": lambda: made_up.persons(10_000),
    "persons-100k": lambda: made_up.persons(100_000),
    "persons-1m": lambda: made_up.persons(1_000_000),
}
DEFAULT = tuple(name for name in SETS if name != "persons-1m")


def load(name: str) -> Labelled | None:
    """Return a set, None if its files are absent."""
    try:
        return SETS[name]()
    except FileNotFoundError:
        return None
