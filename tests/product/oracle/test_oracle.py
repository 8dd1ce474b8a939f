"""Random rules over random tables say what the docs say, on every engine.

The oracle is plain Python, written from docs/rules.md, docs/configuration.md and docs/findings.md alone.
RECONCILE_ORACLE_PAIRS is how many pairs of a table and a rule each engine is asked about (100; `make chaos` goes on for
minutes), RECONCILE_SEED where they begin (printed). A failure prints the smallest pair that differs in the same part of
the answer.
"""

import ast
import json
import math
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.product.oracle.case import Case
from tests.product.oracle.check import Tally, compare
from tests.product.oracle.engines import Home, rule_of
from tests.product.oracle.random_pairs import random_case
from tests.product.oracle.smaller import smallest
from tests.support.chance import REPORT, lasting
from tests.support.folders import ROOT

PAIRS = int(os.environ.get("RECONCILE_ORACLE_PAIRS") or 100)
SEED = int(os.environ.get("RECONCILE_SEED") or random.randrange(10**6))
BATCH = 50
"""So many rules are in one configuration."""
SHOWN = 5
"""So many differences are made smaller; the others are counted, with their seeds."""


SERVERS = tuple(pytest.param(name, marks=pytest.mark.server) for name in ("postgresql", "mariadb"))


@pytest.fixture(params=["csv", "workbook", "sqlite", *SERVERS])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    if request.param in ("csv", "workbook"):
        return Home(request.param, "embedded")
    urls = {"postgresql": "postgres_url", "mariadb": "mariadb_url"}
    sqlite = f"sqlite:///{tmp_path}/data.db"
    url = request.getfixturevalue(urls[request.param]) if request.param in urls else sqlite
    return Home(request.param, "pushdown", url)


@pytest.mark.chaos
@pytest.mark.timeout(7200)
def test_every_rule_over_every_table_says_what_the_docs_say(home: Home, tmp_path: Path) -> None:
    print(f"\n{home.name}: RECONCILE_SEED={SEED} RECONCILE_ORACLE_PAIRS={PAIRS}")
    tallies: list[Tally] = []
    is_over = lasting(0.06, lambda: len(tallies) * BATCH >= PAIRS)
    while not is_over():
        begin = SEED + len(tallies) * BATCH
        tallies.append(compare(tmp_path, [random_case(seed) for seed in range(begin, begin + BATCH)], home))
    _report(home, tallies)
    differences = [difference for tally in tallies for difference in tally.differences]
    shown = [str(smallest(tmp_path, difference)) for difference in differences[:SHOWN]]
    rest = [f"seed {difference.case.seed}: {set(difference.parts)}" for difference in differences[SHOWN:]]

    assert not differences, "\n\n".join(
        [f"{len(differences)} of {_sum(tallies, 'pairs')} pairs", *shown, "\n".join(rest)]
    )
    pairs = _sum(tallies, "pairs")
    assert _sum(tallies, "with_groups") >= _least(0.4, pairs)
    assert pairs - _sum(tallies, "impossible") >= _least(0.9, pairs)
    assert home.engine == "embedded" or _sum(tallies, "pushed") >= _least(PUSHED[home.name], pairs)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [8190, 8266])
def test_of_records_with_the_same_id_most_complete_sees_the_one_that_the_oracle_sees(seed: int, tmp_path: Path) -> None:
    """The columns that `most_complete` counts came last in the order that says which one of them counts."""
    home = Home("sqlite", "pushdown", f"sqlite:///{tmp_path}/data.db")

    assert compare(tmp_path, [random_case(seed)], home).differences == []


@pytest.mark.slow
def test_a_record_that_is_read_twice_counts_its_unreadable_cells_once(tmp_path: Path) -> None:
    """Records with the key of one that is not ASCII came in two answers: 12 of 16 cells seemed unreadable, not 6."""
    home = Home("sqlite", "pushdown", f"sqlite:///{tmp_path}/data.db")

    assert compare(tmp_path, [random_case(302253)], home).differences == []


PUSHED = {"sqlite": 0.05, "postgresql": 0.2, "mariadb": 0.2}
"""So many of the rules at least are answered by the database itself."""


def _least(share: float, pairs: int) -> float:
    """How many of the pairs at least, where each has the property with this probability: four standard deviations below
    the mean, for a few dozen random pairs say little about a share."""
    return share * pairs - 4 * math.sqrt(share * (1 - share) * pairs)


def _sum(tallies: list[Tally], name: str) -> int:
    return sum(getattr(tally, name) for tally in tallies)


def _report(home: Home, tallies: list[Tally]) -> None:
    counts = {name: _sum(tallies, name) for name in ("pairs", "with_groups", "pushed", "impossible")}
    print(home.name, counts)
    if REPORT:
        line = {"suite": f"oracle, {home.name}", "pairs": counts["pairs"], "verified": True}
        with Path(REPORT).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


@pytest.mark.slow
def test_a_seed_means_the_same_pair_always_and_many_seeds_mean_every_setting() -> None:
    cases = [random_case(seed) for seed in range(600)]

    assert [_written(case) for case in cases] == [_written(random_case(seed)) for seed in range(600)]
    assert {setting for case in cases for setting in _settings(case)} >= SETTINGS


SETTINGS = {
    *("where", "gap", "window", "distinct", "having", "minimum", "except", "nulls", "all", "money", "derived"),
    *(
        "repeats",
        "consecutive",
        "null_values",
        "decimal",
        "most_complete",
        "first",
        "last",
        "max",
        "min",
        "prefer",
        "without id",
        "two columns",
    ),
    *("trim", "squeeze", "lower", "casefold", "nfkc", "unaccent", "alnum", "digits", "letters", "strip_zeros"),
    *("translit", "suffix", "length(", "concat(", "prefix(", "suffix(", "replace(", "split_part(", "upper("),
    *("year(", "quarter(", "month(", "weekday("),
    *("docno", "words", "prefix", "map", "regex", "email", "mailbox", "phone", "round", "abs", "day", "hour", "month"),
    *("upper", "week", "quarter", "year", "weekday", "day(", "hour(", "if(", "business_days("),
}


def _written(case: Case) -> str:
    return repr((rule_of(case, "auto"), case.rows, case.columns, case.id, case.money))


def _settings(case: Case) -> Iterator[str]:
    rule = rule_of(case, "auto")
    yield from rule
    yield from ("all" for _ in [rule["key"]] if rule["key"] == "all")
    yield from rule.get("nulls", {}).values()
    for line in rule.get("keep", []):
        yield from [line] if isinstance(line, str) else line
    for _, chain in case.rule.key or ():
        yield from (name for step in chain for name in ([step] if isinstance(step, str) else step))
    expressions = [case.where, case.rule.where, *case.derived.values()]
    yield from re.findall(r"\w+\(", " ".join(expression.written for expression in expressions if expression))
    yield from (name for name in ("money", "derived", "null_values") if getattr(case, name))
    yield from (name for name, differs in (("decimal", case.mark == ","), ("without id", not case.id)) if differs)
    yield from ["two columns"] if len(case.id) == 2 else []


@pytest.mark.parametrize("module", ["case", "plain", "values", "expressions"])
def test_the_oracle_imports_nothing_of_the_product(module: str) -> None:
    tree = ast.parse((ROOT / "tests" / "product" / "oracle" / f"{module}.py").read_text(encoding="utf-8"))

    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}

    assert not {name for name in imported if name.partition(".")[0] in ("rules", "connectors", "reconcile")}
