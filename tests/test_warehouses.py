"""Rules inside warehouses: the same findings as in plain Python, from SQL that each warehouse's grammar parses.

DuckDB stands for the warehouses (`warehouse_support`), and PostgreSQL for Redshift. RECONCILE_ORACLE_PAIRS is how many
pairs of a table and a rule each is asked about, RECONCILE_SEED where they begin.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from oracle_check_support import compare
from oracle_engines_support import Home
from oracle_random_support import random_case
from sql_support import execute, postgres_url
from warehouse_support import NOW, REDSHIFT_FUNCTIONS, STAND_INS, on_postgres, stand_in

from rules.functions import WAREHOUSES

__all__ = ["postgres_url"]
PAIRS = int(os.environ.get("RECONCILE_ORACLE_PAIRS") or 60)
SEED = int(os.environ.get("RECONCILE_SEED") or random.randrange(10**6))


@pytest.mark.slow
@pytest.mark.parametrize("warehouse", WAREHOUSES)
def test_every_rule_over_every_table_says_what_the_docs_say(warehouse: str, tmp_path: Path) -> None:
    print(f"\n{warehouse}: RECONCILE_SEED={SEED} RECONCILE_ORACLE_PAIRS={PAIRS}")
    sent = STAND_INS[warehouse].sent
    sent.clear()
    cases = [random_case(seed) for seed in range(SEED, SEED + PAIRS)]

    tally = compare(tmp_path, cases, Home(warehouse, "pushdown", stand_in(warehouse, tmp_path)))

    print({"pairs": tally.pairs, "inside": tally.pushed, "with groups": tally.with_groups, "statements": len(sent)})
    assert not tally.differences, "\n\n".join(map(str, tally.differences[:5]))
    assert tally.pushed >= 0.15 * PAIRS
    assert all(times == ({NOW} if warehouse != "redshift" else set()) for _, times in sent)


@pytest.mark.server
@pytest.mark.slow
def test_what_is_sent_to_redshift_runs_on_postgresql_word_for_word(postgres_url: str, tmp_path: Path) -> None:
    """Rules with a gap, a window or an overlap are left out: their DATEDIFF has no counterpart in PostgreSQL."""
    execute(postgres_url, *REDSHIFT_FUNCTIONS)
    cases = [case for case in map(random_case, range(SEED, SEED + 2 * PAIRS)) if case.rule.cut is None]

    tally = compare(tmp_path, cases, Home("postgresql as redshift", "pushdown", on_postgres(postgres_url)))

    print({"seed": SEED, "pairs": tally.pairs, "inside": tally.pushed, "with groups": tally.with_groups})
    assert not tally.differences, "\n\n".join(map(str, tally.differences[:5]))
    assert tally.pushed >= 0.15 * tally.pairs
