"""`reconcile keys`: what programs claimed, and what a person changes about it."""

from pathlib import Path

import pytest

from reconcile.guard import Claim, Guard, claiming
from tests.support.cli import FILES, ORDERS, Project


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    """A project whose program claimed three keys and completed one."""
    (tmp_path / "orders.csv").write_text(ORDERS)
    project = Project(tmp_path).write(f"{FILES}guard: {{welcome: {{}}, refunds: {{}}}}\n")
    with Guard.open(tmp_path / "reconcile.yaml") as guard:
        for customer in (1, 2, 3):
            claim = guard.claim("welcome", ("customer", customer))
            assert isinstance(claim, Claim)
            if customer == 1:
                claim.complete({"message": "ada@example.com"})
    return project


def test_keys_in_progress_are_listed_and_others_by_their_state(shop: Project) -> None:
    open_keys, done = shop("keys", "--json").json, shop("keys", "--state", "done", "--json").json
    table = shop("keys")

    assert [row["state"] for row in open_keys] == ["in_progress"] * 2
    assert [(row["state"], row["attempts"]) for row in done] == [("done", 1)]
    assert "in progress" in table.out
    assert open_keys[0]["key"][:19] in table.out
    assert "No keys are in progress." in shop("keys", "--namespace", "refunds").err
    assert "There are more; these are the first 1" in shop("keys", "--limit", "1").err
    assert shop("keys", "-o", "csv").out.splitlines()[0].startswith("key,namespace,state")


def test_a_key_is_shown_by_its_parts_or_the_beginning_of_its_name_but_not_its_result(shop: Project) -> None:
    in_clear = shop("keys", "show", "customer", "1", "--namespace", "welcome", "--json").json
    by_name = shop("keys", "show", in_clear["key"][:19])

    assert (in_clear["state"], in_clear["result_bytes"]) == ("done", 29)
    assert f"key         {in_clear['key']}" in by_name.out
    assert "ada@example.com" not in by_name.said + shop("keys", "show", in_clear["key"], "--json").said


def test_a_person_releases_a_key_and_ends_a_lease_with_a_reason(shop: Project) -> None:
    without = shop("keys", "release", "customer", "1", "--namespace", "welcome")
    released = shop("keys", "release", "customer", "1", "--namespace", "welcome", "--reason", "it bounced")
    expired = shop("keys", "expire", "customer", "2", "--namespace", "welcome", "--reason", "it crashed", "--json")
    again = shop("keys", "expire", "customer", "1", "--namespace", "welcome", "--reason", "it crashed")

    assert (without.code, released.code, expired.code, again.code) == (2, 0, 0, 4)
    assert "is released: the next claim does its work" in released.out
    assert expired.json["seconds"] == 0
    assert "it has no lease to end" in again.err
    assert [entry["event"] for entry in shop("audit", "--event", "key", "--json").json] == [
        "key.released",
        "key.expired",
    ]
    assert "it bounced" in shop("audit", "--event", "key").out
    with Guard.open(shop.folder / "reconcile.yaml") as guard:
        claim = guard.claim("welcome", ("customer", 1))
    assert isinstance(claim, Claim)
    assert claim.attempt == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("show", "gk1.abcdef.abcdefgh"), "There is no key gk1.abcdef.abcdefgh"),
        (("show", "customer"), "There is no key customer"),
        (("show", "a", "b"), "give one KEY as listed, or --namespace and its parts"),
        (("show", "1", "--namespace", "welcom"), "did you mean `welcome`"),
        (("--state", "open"), "is not a state"),
    ],
)
def test_what_is_not_there_is_told(shop: Project, words: tuple[str, ...], sentence: str) -> None:
    answer = shop("keys", *words)

    assert (answer.code, sentence in " ".join(answer.err.split())) == (2, True), answer.said


def test_a_beginning_that_several_keys_share_is_refused(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    [name, *_] = [row["key"] for row in shop("keys", "--json").json]
    too_short = shop("keys", "show", name[:11])
    monkeypatch.setattr(claiming, "SHORTEST_NAME", 1)
    shared = shop("keys", "show", name[:11])

    assert (too_short.code, "There is no key" in too_short.err) == (2, True)
    assert (shared.code, "Several keys begin with" in shared.err) == (2, True)
