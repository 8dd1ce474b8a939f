"""Two tables: each record has at most one partner, the most probable in total."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from rules.kinds.similar.assignment import assign
from rules.kinds.similar.clusters import average_linkage, sparse_linkage
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Settings

COMPARE = {"memo": "text", "booked": "date", "amount": "amount"}


def transfers(size: int) -> tuple[pa.Table, pa.Table]:
    """Return transfers as two banks see them: a day later, some with a fee, the memo cut."""
    generator = np.random.default_rng(3)
    memos = [f"invoice {number:05d} client {generator.integers(0, 50)}" for number in range(size)]
    days = np.datetime64("2026-01-01") + generator.integers(0, 60, size)
    amounts = np.round(generator.uniform(10, 5000, size), 2)
    left = pa.table({"memo": memos, "booked": days.astype(str), "amount": amounts})
    fees = np.where(np.arange(size) % 3 == 0, 0.98, 1.0)
    right = pa.table(
        {
            "text": [memo[:20] for memo in memos],
            "booked": (days + 1).astype(str),
            "amount": np.round(amounts * fees, 2),
        }
    )
    return left, right.take(np.random.default_rng(4).permutation(size))


def test_transfers_find_their_partner_once():
    left, right = transfers(300)
    by = Settings.of(COMPARE, right={"memo": "text"}, one_to_one=True)
    records = Records.of([left, right], by)

    model = Matching(records, by).estimate().model
    pairs = [records.rows[cluster].tolist() for cluster in Matching(records, by, model).clusters()]

    memos = left["memo"].to_pylist()
    texts = right["text"].to_pylist()
    assert len(pairs) > 280
    assert all(len(pair) == 2 for pair in pairs)
    right_ones = sum(texts[max(pair) - 300] == memos[min(pair)][:20] for pair in pairs)
    assert right_ones == len(pairs)


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=5))
def test_an_assignment_gains_the_most(rows: list[list[int]]):
    gains = np.asarray(rows, dtype=np.float64)
    first, second = np.nonzero(gains)
    values = gains[first, second]

    taken = assign(first, second + len(rows), values, len(rows) + 4)

    best = gains[linear_sum_assignment(gains, maximize=True)].sum()
    assert values[taken].sum() == best
    assert len(set(first[taken].tolist())) == len(set(second[taken].tolist())) == taken.sum()


def test_a_chain_is_not_a_cluster():
    """Two pairs that one probable pair connects stay apart if all others speak against it."""
    matrix = np.full((4, 4), -8.0)
    for a, b, bits in ((0, 1, 9.0), (2, 3, 9.0), (1, 2, 3.0)):
        matrix[a, b] = matrix[b, a] = bits

    assert [group.tolist() for group in average_linkage(matrix)] == [[0, 1], [2, 3]]


@given(st.lists(st.integers(-60, 60), min_size=15, max_size=15, unique=True))
def test_both_ways_to_cluster_agree(bits: list[int]):
    """The heap of a large component gives the groups that the matrix of a small one gives."""
    rows, columns = np.triu_indices(6, 1)
    matrix = np.zeros((6, 6))
    values = np.asarray(bits) / 7 + np.arange(15) / 1000
    matrix[rows, columns] = matrix[columns, rows] = values
    scored = dict(zip(zip(rows.tolist(), columns.tolist(), strict=True), values.tolist(), strict=True))

    groups = [group.tolist() for group in average_linkage(matrix) if len(group) > 1]

    assert sparse_linkage(scored, -6.0) == groups
