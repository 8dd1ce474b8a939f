"""Before-images are sealed with a key of the configuration: they open with it, as what they are, and not otherwise."""

import base64
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile import config
from reconcile.app import Application
from reconcile.findings.states import PlanState
from reconcile.store.sealing import (
    NotSealed,
    RowsUnreadable,
    SealBroken,
    SealKeyMissing,
    Seals,
    SealUnknown,
    is_sealed,
    key_id,
)
from tests.support.config import loaded
from tests.support.world import DELETE, World, commit_unanswered
from tests.support.world import TWO as CUSTOMERS

ONE, TWO = bytes(range(32)), bytes(range(1, 33))
CANARY = "maria@example.com"
TEXT = """\
sources: {shop: {type: files}}
datasets: {charges: {source: shop, path: a.csv, id: id}}
rules: {twice: {kind: duplicates, dataset: charges, key: [order_id]}}
"""


@given(text=st.text(), of=st.text(max_size=40))
def test_what_was_sealed_opens_as_it_was(text: str, of: str) -> None:
    seals = Seals([ONE])

    sealed = seals.seal(text, of)

    assert is_sealed(sealed)
    assert seals.open(sealed, of) == text


def test_a_sealed_text_tells_nothing_but_its_form_its_key_and_its_length() -> None:
    seals = Seals([ONE])

    first, second = seals.seal(CANARY, "b1"), seals.seal(CANARY, "b1")

    assert first != second
    assert CANARY not in first
    assert first.split(".")[:2] == ["rs1", key_id(ONE)]
    assert ONE.hex() not in first + repr(seals) + key_id(ONE)


def test_a_text_sealed_by_the_first_version_opens_for_ever() -> None:
    """The form is a promise: this text was written by the version that brought it."""
    golden = "rs1.29d9bc0a.7I5BwH8eIi7OzrZtlL69KSVOo0tsk8FWWhyXvU8ZxwpmkF_Y55J0z076qw=="

    assert Seals([ONE]).open(golden, "bnd1_golden") == '{"before":"é"}'


def test_without_a_key_texts_stay_as_they_are() -> None:
    text = json.dumps({"changes": []})

    assert Seals().seal(text, "b1") == text
    assert Seals().open(text, "b1") == text


def test_once_there_is_a_key_only_sealed_texts_are_opened() -> None:
    with pytest.raises(NotSealed, match="`reconcile seal`"):
        Seals([ONE]).open('{"a":1}', "b1")


@pytest.mark.parametrize("text", ["", "rs1", "rs1.", "rsx.a.b", "{}", "[1.5, 2.5]", '"rs1.a.b"', "rs1.a"])
def test_json_is_never_taken_for_a_sealed_text(text: str) -> None:
    assert not is_sealed(text)


def test_after_a_rotation_older_texts_open_and_newer_ones_are_sealed_with_the_new_key() -> None:
    before = Seals([ONE]).seal("old", "b1")
    rotated = Seals([TWO, ONE])

    after = rotated.seal("new", "b2")

    assert (rotated.open(before, "b1"), rotated.open(after, "b2")) == ("old", "new")
    assert after.split(".")[1] == key_id(TWO)
    assert Seals([TWO]).open(after, "b2") == "new"


@pytest.mark.parametrize(("keys", "known"), [([], "has none"), ([TWO], f"has {key_id(TWO)}")])
def test_without_its_key_it_says_which_one_is_missing(keys: list[bytes], known: str) -> None:
    sealed = Seals([ONE]).seal(CANARY, "b1")

    with pytest.raises(SealKeyMissing) as wrong:
        Seals(keys).open(sealed, "b1")

    assert f"the key {key_id(ONE)}" in str(wrong.value)
    assert known in str(wrong.value)
    assert "Nothing was changed" in str(wrong.value)


def test_a_text_put_into_another_row_does_not_open() -> None:
    seals = Seals([ONE])
    sealed = seals.seal(CANARY, "b1")

    with pytest.raises(SealBroken):
        seals.open(sealed, "b2")


@given(st.data())
def test_any_change_of_a_sealed_text_is_seen(data: st.DataObject) -> None:
    seals = Seals([ONE])
    sealed = seals.seal(CANARY, "b1")
    place = data.draw(st.integers(0, len(sealed) - 1))
    second = data.draw(st.sampled_from("ABCabc019-_.=|é"))
    changed = sealed[:place] + second + sealed[place + 1 :]

    if changed == sealed:
        return
    try:
        opened = seals.open(changed, "b1")
    except RowsUnreadable:
        return
    pytest.fail(f"opened as {opened!r}")


def test_a_form_of_a_later_version_is_told() -> None:
    with pytest.raises(SealUnknown, match="the form rs2 of a later version"):
        Seals([ONE]).open(Seals([ONE]).seal("x", "b1").replace("rs1.", "rs2."), "b1")


def test_a_key_of_another_length_never_gets_this_far() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Seals([b"short"])


# From the configuration


@pytest.mark.parametrize("written", [ONE.hex(), "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="])
def test_a_key_is_read_from_hex_and_from_base64(written: str, tmp_path: Path) -> None:
    project = loaded(tmp_path, TEXT + "encryption_key: '${secret:KEY}'\n", {"KEY": written})

    assert project.encryption_keys == (ONE,)
    assert written not in repr(project)
    assert written not in project.canonical


def test_the_store_seals_with_the_configured_keys(tmp_path: Path) -> None:
    text = TEXT + "encryption_key: ['${secret:NEW}', '${secret:OLD}']\n"
    old = Seals([ONE]).seal("old", "b1")

    with Application(loaded(tmp_path, text, {"NEW": TWO.hex(), "OLD": ONE.hex()})) as application:
        seals = application.store.seals

        assert seals.kid == key_id(TWO)
        assert seals.open(old, "b1") == "old"
    with sqlite3.connect(tmp_path / "reconcile.db") as connection:
        assert not [line for line in connection.iterdump() if ONE.hex() in line or TWO.hex() in line]


def test_the_key_is_no_part_of_the_release_and_its_name_is(tmp_path: Path) -> None:
    text = TEXT + "encryption_key: ${secret:KEY}\n"

    first, second = (loaded(tmp_path, text, {"KEY": key.hex()}) for key in (ONE, TWO))
    renamed = loaded(tmp_path, text.replace("KEY", "TOKEN"), {"TOKEN": ONE.hex()})

    assert first.release == second.release
    assert first.release != renamed.release


@dataclass
class Sealed:
    """A world whose plans are sealed, with one of two keys."""

    world: World

    @contextmanager
    def open(self, key: str) -> Iterator[Application]:
        path = self.world.folder / key
        path.write_text(base64.b64encode(key.encode() * 32).decode())
        path.chmod(0o600)
        self.world.config["encryption_key"] = f"${{file:{path}}}"
        self.world.write()
        with Application(config.load(self.world.folder / "reconcile.yaml", {}), sleep=lambda _: None) as application:
            yield application

    def approve_all(self) -> None:
        with self.open("a") as application:
            application.run("nightly")
            for name in sorted(self.world.findings()):
                application.decisions("anna").approve(name, later=True)


@pytest.fixture
def sealed(tmp_path: Path) -> Sealed:
    return Sealed(World.at(tmp_path / "w", *CUSTOMERS, twins=DELETE))


@pytest.mark.slow
def test_a_plan_whose_key_is_gone_waits_for_it_and_keeps_nothing_else_from_running(sealed: Sealed) -> None:
    sealed.approve_all()
    sealed.world.add((8, "c@x", "Cleo"), (9, "c@x", "Clio"))

    with sealed.open("b") as application:
        [rule] = application.run("nightly").rules
        assert (rule.cleaning.proposed, rule.cleaning.held_up) == (1, True)
        assert "add that key" in rule.cleaning.reasons[0]
        for name in sealed.world.findings():
            application.decisions("anna").approve(name)
    assert sealed.world.shop.ids() == [1, 2, 3, 8]

    with sealed.open("a") as application:
        application.decisions("anna").retry(min(sealed.world.plans(), key=lambda plan: plan.created_at).finding)
    assert (sealed.world.shop.ids(), sealed.world.intact()) == ([1, 3, 8], True)


@pytest.mark.slow
def test_a_plan_in_doubt_whose_key_is_gone_waits_for_it(sealed: Sealed) -> None:
    sealed.approve_all()

    with commit_unanswered(), sealed.open("a") as application:
        application.clean_due()
    sealed.world.bury()

    with sealed.open("b") as application:
        application.clean_due()
        assert application.run("nightly").status == "succeeded"

    [plan] = sealed.world.plans()
    assert (plan.state, plan.owner) == (PlanState.UNKNOWN, None)


@pytest.mark.slow
def test_a_sealed_plan_that_was_damaged_goes_into_quarantine(sealed: Sealed) -> None:
    sealed.approve_all()
    with closing(sqlite3.connect(sealed.world.folder / "reconcile.db")) as connection:
        connection.execute("UPDATE plans SET content = substr(content, 1, 60) || 'AAAA' || substr(content, 65)")
        connection.commit()

    with sealed.open("a") as application:
        application.clean_due()

    assert sealed.world.findings() == {sealed.world.only(): "quarantined"}
