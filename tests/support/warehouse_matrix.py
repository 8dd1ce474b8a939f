"""Every feature of a rule of kind `duplicates` once, over one table of awkward records."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

ROWS = (
    "(1, 'A1', 'x', 10.50, 5, '2026-03-01 10:00:00', '2026-03-01 10:30:00', '2026-03-01', true, 'Müller')",
    "(2, 'A1 ', 'x', 10.55, 6, '2026-03-01 10:10:00', '2026-03-01 10:20:00', '2026-03-02', true, 'müller')",
    "(3, 'a1', 'y', 10.61, 9, '2026-03-01 10:20:00.000001', '2026-03-01 11:00:00', '2026-03-05', false, 'Mueller')",
    "(4, chr(160) || 'A1', 'x', 10.50, 5, '2026-03-01 10:10:00.5', null, '2026-03-01', true, 'Muller')",
    "(5, 'A1' || chr(9), 'y', -3.00, -7, '2026-03-02 10:00:00', '2026-03-02 10:00:00', null, null, 'M-07')",
    "(6, 'A1', 'x', 10.50, 5, '2026-03-01 23:59:59.999999', '2026-03-02 01:00:00', '2026-03-01', true, 'M 07')",
    "(7, 'a\\b''c', null, null, null, null, null, '2026-02-28', false, '%')",
    "(8, 'a\\b''c', 'y', 0.05, 9223372036854775807, '2026-03-02 00:00:00', null, '2026-02-28', false, 'm%')",
    "(9, ' ', 'y', 0.00, -9223372036854775808, '2026-03-02 00:10:00', null, '2026-03-03', true, '')",
    "(10, null, 'x', 10.50, 5, '2026-03-01 10:00:00', '2026-03-01 10:30:00', '2026-03-01', true, null)",
    "(11, 'ß', 'x', 10.50, 5, '2026-03-01 10:05:00', '2026-03-01 10:30:00', '2026-03-01', true, 'SS')",
    "(12, 'Kelvin \u212a', 'x', 1.00, 5, '2026-03-01 10:05:00', '2026-03-01 10:30:00', '2026-03-01', true, 'kelvin k')",
    "(13, 'kelvin k', 'x', 1.00, 5, '2026-03-01 10:05:00', '2026-03-01 10:30:00', '2026-03-01', true, 'KELVIN K')",
)
_CHAINS = (
    *("trim", "lower", "upper", "casefold", "nfkc", "unaccent", "alnum", "digits", "letters"),
    *("{prefix: 2}", "{translit: de}", "{map: {A1: B, a1: null, 'a\\b''c': \"it's\"}}"),
)
_CONDITIONS = (
    *(
        "total > 1.5",
        "total = 10.5",
        "total between 0.05 and 10.55",
        "n <> 5",
        "n in (5, 6, 9)",
        "not ok",
        "ok is null",
    ),
    *("day >= '2026-03-01'", "at < '2026-03-01 12:00'", "at > slot() - 9000d", "kind = 'x' or n < 0"),
    *("ref > 'A1'", "ref = 'a\\b''c'", "trim(ref) = 'A1'", "lower(name) = 'm-07'", "upper(name) = 'SS'"),
    *("coalesce(kind, name) = 'x'", "if(ok, kind, name) = 'x'", "name like 'm%'", "name not like '_ül%'"),
)
_KEYS = ("ref", "kind", "n", "total", "day", "ok", "at", "kind, ok, day")
RULES: dict[str, str] = {
    **{f"key-{number}": f"key: [{key}]" for number, key in enumerate(_KEYS)},
    **{f"chain-{number}": f"key: [{{ref: [{chain}]}}]" for number, chain in enumerate(_CHAINS)},
    **{f"names-{number}": f"key: [{{name: [{chain}]}}]" for number, chain in enumerate(_CHAINS)},
    **{
        f"where-{number}": f'key: [kind], where: "{_yaml}"'
        for number, _yaml in enumerate(text.replace("\\", "\\\\") for text in _CONDITIONS)
    },
    "chained": "key: [{ref: [trim, lower, {prefix: 2}]}]",
    "of-day": "key: [{at: [day]}]",
    "gap": "key: [kind], gap: {at: 10m}",
    "window": "key: [kind], window: {at: 10m}",
    "window-of-days": "key: [kind], window: {day: 1d}",
    "window-of-numbers": "key: [kind], window: {n: 1}",
    "window-of-amounts": "key: [kind], window: {total: 0.05}",
    "gap-of-percents": "key: [kind], gap: {total: 1%}",
    "overlap": "key: [kind], overlap: {from: at, to: until}",
    "distinct": "key: [kind], distinct: ref",
    "distinct-amounts": "key: [{ref: [trim]}], distinct: total",
    "having": 'key: [kind], having: "records >= 3 and count_distinct(ref) > 2"',
    "except": "key: [ref], except: [[1, 6]]",
    "minimum": "key: [ref], minimum: 3",
    "nulls": "key: [kind, ref], nulls: {kind: match}",
    "any": "key: {any: [[ref], [name], [kind, total]]}",
    "any-crowded": "key: {any: [[ref], [kind]]}, max_shared: 3",
    "keep": "key: [kind], keep: [{last: at}, {max: n}]",
}
REFUSED: dict[str, tuple[str, ...]] = {
    "bigquery": (" like ",),
    "redshift": (" like ", "[alnum]", "[digits]", "[letters]"),
}
"""Parts of rules that a warehouse does not run."""


def of(warehouse: str) -> dict[str, str]:
    """The rules that the warehouse runs, by name."""
    refused = REFUSED.get(warehouse, ())
    return {name: rule for name, rule in RULES.items() if not any(part in rule for part in refused)}


def write(url: str) -> None:
    """Write the table."""
    columns = 'id bigint, ref varchar, kind varchar, total decimal(12,2), n bigint, "at" timestamptz, until timestamptz'
    engine: Any = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"create table charges ({columns}, day date, ok boolean, name varchar)", ())
        connection.exec_driver_sql(f"insert into charges values {', '.join(ROWS)}", ())
    engine.dispose()


def config(url: str, engine: str, rules: dict[str, str]) -> str:
    """A configuration with these rules, all in that engine."""
    written = "".join(
        f"  {name}: {{kind: duplicates, dataset: charges, engine: {engine}, max_share: 100%, {rule}}}\n"
        for name, rule in rules.items()
    )
    return (
        f'sources: {{lake: {{type: sql, url: "{url}"}}}}\n'
        f"datasets: {{charges: {{source: lake, table: charges, id: id}}}}\nrules:\n{written}"
    )
