"""The front door over HTTP: each answer can be asked for again, and every token does what its role allows."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from reconcile.audit import log
from reconcile.guard import Claim
from reconcile.people import tokens
from reconcile.store import guarded_keys
from tests.support.web import Browser, Page, Site, cheap_hashes, site_of
from tests.support.world import Kept, World

__all__ = ["cheap_hashes"]

Json = dict[str, Any]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    world = World.at(tmp_path_factory.mktemp("prepared") / "w", (1, "a@x", "A"), twins={})
    world.config["guard"] = {"welcome": {"lease": "1m"}, "refunds": {}}
    return world.kept()


@pytest.fixture
def site(prepared: Kept) -> Iterator[Site]:
    with site_of(prepared.restored()) as site:
        yield site


class Program:
    """A program with a token of a user."""

    def __init__(self, site: Site, user: str) -> None:
        with site.store.begin() as tx:
            token = tokens.add(tx, f"of-{user}", user, by="ada")
        self.browser = Browser(site.listener.address, {"Authorization": f"Bearer {token}"})

    def post(self, path: str, body: Json) -> Page:
        return self.browser.ask(
            "POST", f"/api/v1/keys/{path}", json.dumps(body), **{"Content-Type": "application/json"}
        )

    def get(self, path: str = "") -> Page:
        return self.browser.get(f"/api/v1/keys{path}")


@pytest.fixture
def zap(site: Site) -> Program:
    return Program(site, "otto")


CLAIM: Json = {"namespace": "welcome", "key": ["17", "welcome"], "payload": {"template": 3}, "by": "execution-1"}


def test_a_key_is_claimed_completed_and_answered_from_its_result(zap: Program) -> None:
    claimed = zap.post("claim", CLAIM).json
    second = zap.post("claim", CLAIM | {"by": "execution-2"}).json
    completed = zap.post(f"{claimed['key']}/complete", {"fence": claimed["fence"], "result": {"message": "m-1"}})
    repeated = zap.post("claim", CLAIM | {"by": "execution-3"}).json

    assert (claimed["answer"], claimed["attempt"], claimed["result"]) == ("yours", 1, None)
    assert (second["answer"], second["fence"], 0 < second["seconds"] <= 60) == ("in_progress", None, True)
    assert (completed.status, completed.json["state"], completed.json["result_bytes"]) == (200, "done", 17)
    assert (repeated["answer"], repeated["result"]) == ("done", {"message": "m-1"})


def test_every_request_may_be_sent_again(zap: Program) -> None:
    first, second = zap.post("claim", CLAIM).json, zap.post("claim", CLAIM).json
    renewed = [zap.post(f"{first['key']}/renew", {"fence": first["fence"], "lease": "5m"}).status for _ in range(2)]
    end = {"fence": first["fence"], "result": [1]}
    completed = [zap.post(f"{first['key']}/complete", end).status for _ in range(2)]
    another = zap.post(f"{first['key']}/complete", end | {"result": [2]})
    failed = zap.post(f"{first['key']}/fail", {"fence": first["fence"], "reason": "no"})

    assert first == second
    assert (renewed, completed) == ([200, 200], [200, 200])
    assert (another.status, failed.status) == (409, 409)
    assert "has ended" in failed.json["detail"]


def test_a_failed_key_is_free_again(zap: Program) -> None:
    first = zap.post("claim", CLAIM).json
    failed = [zap.post(f"{first['key']}/fail", {"fence": first["fence"], "reason": "no stock"}) for _ in range(2)]
    again = zap.post("claim", CLAIM | {"payload": {"template": 4}, "by": "execution-2"}).json

    assert [answer.status for answer in failed] == [200, 200]
    assert (failed[0].json["state"], failed[0].json["reason"]) == ("failed", "no stock")
    assert (again["answer"], again["attempt"]) == ("yours", 2)


def test_the_same_key_is_claimed_from_python_and_over_http(site: Site, zap: Program) -> None:
    with site.office.guard() as guard:
        claim = guard.claim("refunds", (17, "refund"), {"amount": 20.0})
        assert isinstance(claim, Claim)
        claim.complete("re_1")

    answer = zap.post("claim", {"namespace": "refunds", "key": ["17", "refund"], "payload": {"amount": 20}})

    assert (answer.json["answer"], answer.json["result"]) == ("done", "re_1")


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"payload": 4}, 422, "claimed for something else"),
        ({"namespace": "welcom"}, 404, "did you mean `welcome`"),
        ({"key": " "}, 422, "empty"),
        ({"key": []}, 422, "key"),
        ({"key": 1.5}, 422, "key"),
        ({"key": True}, 422, "key"),
        ({"lease": "3w"}, 422, "not between"),
        ({"lease": "soon"}, 422, "not a duration"),
        ({"unknown": 1}, 422, "unknown"),
        ({"by": "a\0b"}, 422, "by"),
    ],
)
def test_a_claim_that_cannot_be_is_refused_in_a_sentence(zap: Program, change: Json, status: int, words: str) -> None:
    zap.post("claim", CLAIM)

    answer = zap.post("claim", CLAIM | {"by": "execution-2"} | change)

    assert (answer.status, words in answer.json["detail"]) == (status, True), answer.json


def test_an_unknown_key_is_not_found(zap: Program) -> None:
    for path in ("complete", "fail", "renew", "release", "expire"):
        body: Json = {"reason": "x"} if path in ("release", "expire") else {"fence": 1}
        assert zap.post(f"gk1.abcdef.nothing/{path}", body).status == 404
    assert zap.get("/gk1.abcdef.nothing").status == 404
    assert zap.get("/%25").status == 404


def test_a_person_releases_and_expires_keys_with_a_reason_in_the_log(site: Site, zap: Program) -> None:
    first = zap.post("claim", CLAIM).json

    expired = zap.post(f"{first['key']}/expire", {"reason": "the flow crashed"})
    lost = zap.post(f"{first['key']}/complete", {"fence": first["fence"]})
    without = zap.post(f"{first['key']}/release", {})
    released = zap.post(f"{first['key']}/release", {"reason": "do it again"})

    assert (expired.json["seconds"], lost.status, without.status) == (0, 409, 422)
    assert released.json["state"] == "released"
    with site.store.read() as tx:
        told = [(entry.event, entry.actor) for entry in log.entries(tx, event="key")]
    assert told == [("key.expired", "otto"), ("key.released", "otto")]


def test_keys_are_listed_by_state_and_namespace_in_pages(site: Site, zap: Program) -> None:
    claimed = [zap.post("claim", CLAIM | {"key": number}).json for number in range(5)]
    zap.post("claim", {"namespace": "refunds", "key": "x"})
    zap.post(f"{claimed[0]['key']}/complete", {"fence": claimed[0]["fence"]})

    first = zap.get("?namespace=welcome&limit=3").json
    second = zap.get(f"?namespace=welcome&limit=3&cursor={first['cursor']}").json
    done = Program(site, "vic").get("?state=done").json

    listed = [item["key"] for item in (*first["keys"], *second["keys"])]
    assert sorted(listed) == sorted(item["key"] for item in claimed[1:])
    assert (second["cursor"], [item["key"] for item in done["keys"]]) == (None, [claimed[0]["key"]])
    assert zap.get("?cursor=x").status == 422
    assert zap.get("?state=open").status == 422
    assert zap.get("?namespace=nothing").status == 404
    assert zap.get(f"/{claimed[0]['key'][:19]}").json["state"] == "done"


def test_only_operators_claim_and_everybody_with_a_token_lists(site: Site) -> None:
    reviewer = Program(site, "bob")

    assert reviewer.post("claim", CLAIM).status == 403
    assert reviewer.get().status == 200
    assert Browser(site.listener.address).get("/api/v1/keys").status == 401


def test_what_happened_over_http_is_counted_for_the_whole_process(site: Site, zap: Program) -> None:
    for number in range(3):
        zap.post("claim", CLAIM | {"key": number})

    site.office.counts.save(site.store)

    with site.store.read() as tx:
        assert guarded_keys.counts(tx) == {("welcome", "created"): 3}
