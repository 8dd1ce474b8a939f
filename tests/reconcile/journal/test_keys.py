"""Idempotency keys: the same for the same effect on the same record for ever, another one for anything else."""

import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reconcile.findings.identity import record_of
from reconcile.journal.holds import key_id, key_of, name_of, subject_of
from rules.values import Value, canonical
from tests.support.folders import ROOT

SECRET = bytes(range(32))
SAID: dict[str, str] = {
    "namespace": "st_" + "5" * 32,
    "target": "postgresql:7300000000000000000:shop",
    "effect": "delete",
}
GOLDEN = {
    (("t-1",), 1): "rk1.6fis7v.56wxzsocaiq26jmvbtr3s5x5cwgl4yiiyp7oqliavyy57jwdcieq",
    ((7,), 1): "rk1.6fis7v.pd2zdmt5z2yatm2tnzqcy4tqifmwijxq4cdus6hsb5lfjwkbo2ia",
    ((7,), 2): "rk1.6fis7v.cp6zaylx53i4ckiajuaipy5yztai4e5xgmtnsourpdurkz6fqqva",
    (("é", Decimal("1.50"), None), 1): "rk1.6fis7v.lpivgl5sumb4omp4kxudrror2kug6edqbp6hnj53p7hxvqljqlwa",
}
"""What keys are for ever: receipts in targets hold them. A change here loses every effect that was ever made."""


def key(*record: Value, generation: int = 1, table: str = "customers", secret: bytes = SECRET, **settings: str) -> str:
    name = name_of(table, record_of(record))
    return key_of(secret, **(SAID | settings), record=name, generation=generation)


@pytest.mark.parametrize(("of", "expected"), GOLDEN.items(), ids=str)
def test_keys_are_what_they_were_when_they_were_first_made(of: tuple[tuple[Value, ...], int], expected: str) -> None:
    record, generation = of

    assert key(*record, generation=generation) == expected


def test_a_key_names_its_version_and_its_secret_and_shows_nothing_of_the_record() -> None:
    version, kid, digest = key("eve@example.org").split(".")

    assert (version, kid, len(digest)) == ("rk1", key_id(SECRET), 52)
    assert "eve" not in digest
    assert key_id(SECRET) != key_id(SECRET[::-1])


@pytest.mark.parametrize(
    "same",
    [
        (1, 1.0, Decimal("1.00"), Decimal("1E0")),
        (0, 0.0, -0.0, Decimal("-0")),
        (100, Decimal("1E+2"), 100.0),
        (0.1, Decimal("0.1"), Decimal("0.10")),
    ],
    ids=str,
)
def test_one_number_is_one_key_however_the_source_types_it(same: tuple[Value, ...]) -> None:
    assert len({key(item) for item in same}) == 1


@pytest.mark.parametrize(
    "different",
    [
        ("é", "e\u0301"),  # composed and decomposed: two rows of the source, and so two records
        ("İ", "i", "I", "ı", "i\u0307"),
        ("1", 1, True, b"1"),
        ("", " ", None, "\u00a0"),
        ("ß", "ss", "SS"),
        (2**53, 2**53 + 1),
        ("a", "A", "a "),
    ],
    ids=str,
)
def test_what_the_source_tells_apart_has_keys_apart(different: tuple[Value, ...]) -> None:
    assert len({key(item) for item in different}) == len(different)


@pytest.mark.parametrize(
    "change",
    [{"effect": "set"}, {"target": "mysql:x"}, {"namespace": "st_other"}, {"table": "orders"}, {"generation": 2}],
    ids=lambda change: next(iter(change)),
)
def test_another_effect_target_store_table_or_life_is_another_key(change: dict[str, str]) -> None:
    assert key("a", **change) != key("a")


def test_another_secret_makes_other_keys_and_other_subjects() -> None:
    second = bytes(32)

    assert key("a", secret=second) != key("a")
    assert subject_of(second, "a") != subject_of(SECRET, "a")


IDS = st.one_of(st.text(), st.integers(), st.decimals(allow_nan=False, allow_infinity=False), st.booleans(), st.none())


@example(("a", None), ("a",))
@example(('a","b',), ("a", "b"))
@given(st.lists(IDS, min_size=1, max_size=3).map(tuple), st.lists(IDS, min_size=1, max_size=3).map(tuple))
def test_keys_are_equal_exactly_where_the_ids_are(one: tuple[Value, ...], other: tuple[Value, ...]) -> None:
    same = [canonical(part) for part in one] == [canonical(part) for part in other]

    assert (key(*one) == key(*other)) == same


@pytest.mark.slow
def test_a_key_is_the_same_in_every_process_whatever_its_hash_seed_and_locale() -> None:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from {__name__} import key; print(key('é', 1, None))"

    def elsewhere(seed: str, locale: str) -> str:
        environment = {"PYTHONHASHSEED": seed, "LC_ALL": locale, "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert {elsewhere("1", "C"), elsewhere("2", "tr_TR.UTF-8")} == {key("é", 1, None)}
