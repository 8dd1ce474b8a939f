"""The API: what its description promises, what tokens may do, and that a repeated request is carried out once."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import schemathesis
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from reconcile.audit import log
from reconcile.decisions import once
from reconcile.people import tokens, users
from reconcile.store import keyed_requests, tables
from tests.support.chance import few
from tests.support.web import PII, Browser, Page, Site, cheap_hashes, site_of
from tests.support.world import Kept, World

__all__ = ["cheap_hashes"]

LEFT_OUT = [positive_data_acceptance, negative_data_rejection]
"""A fitting id names nothing here; and our token replaces the header that made a request unfit."""
ROWS = ((1, "anna.secret@x", "Anna"), (2, "anna.secret@x", "Ann"), (3, "b@x", "Bob"), (4, "b@x", "Bo"))
Json = dict[str, Any]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    world = World.at(tmp_path_factory.mktemp("prepared") / "w", *ROWS, twins={"clean": {"action": "delete"}})
    world.config["datasets"] = {"customers": PII}
    world.run()
    return world.kept()


@pytest.fixture
def site(prepared: Kept) -> Iterator[Site]:
    """Two groups of twins by a personal column, whose plans wait for approval."""
    with site_of(prepared.restored()) as site:
        yield site


def program(site: Site, user: str) -> Browser:
    """A program with a token of a user."""
    with site.store.begin() as tx:
        token = tokens.add(tx, f"of-{user}", user, by="ada")
    return Browser(site.listener.address, {"Authorization": f"Bearer {token}"})


def send(program: Browser, path: str, body: Json, key: str | None = None) -> Page:
    headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
    return program.ask("POST", f"/api/v1{path}", json.dumps(body), **headers)


def get(program: Browser, path: str) -> Any:
    return program.get(f"/api/v1{path}").json


# The description


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_answer_is_one_of_the_description_and_none_is_an_error_of_ours(site: Site, mode: GenerationMode) -> None:
    """schemathesis sends what fits the description and what does not, and checks each answer against it."""
    described = schemathesis.openapi.from_url(f"{site.url}/api/v1/openapi.json")
    headers = program(site, "ada").headers
    checked = set()

    for result in described.get_all_operations():
        operation = result.ok()

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=few(8, 100), deadline=None, suppress_health_check=list(HealthCheck), database=None)
        def check(case: schemathesis.Case) -> None:
            case.call_and_validate(headers=headers, excluded_checks=LEFT_OUT)
            checked.add(case.operation.label)

        check()

    assert len(checked) == len(list(described.get_all_operations()))


def test_the_description_is_for_everybody_and_names_every_route(site: Site) -> None:
    document = site.browser().get("/api/v1/openapi.json").json

    assert document["openapi"].startswith("3.1")
    assert {"/api/v1/findings", "/api/v1/findings/{finding}/{decision}", "/api/v1/decisions"} <= set(document["paths"])
    assert all(path.startswith("/api/v1/") for path in document["paths"])


# Tokens


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer rct_wrong", "Basic YWRhOmE=", "rct_wrong"])
def test_without_a_token_nothing_is_told(site: Site, header: str) -> None:
    answer = site.browser(**({"Authorization": header} if header else {})).get("/api/v1/findings")

    assert (answer.status, answer.headers["Content-Type"]) == (401, "application/problem+json")
    assert answer.headers["Www-Authenticate"] == "Bearer"
    assert answer.json["detail"].startswith("Sign in first; a program sends `Authorization: Bearer TOKEN`")


def test_a_session_of_the_console_is_no_token_so_another_site_cannot_use_it(site: Site) -> None:
    browser = site.browser("ada")
    [first, _] = sorted(site.world.findings())

    assert send(browser, f"/findings/{first}/dismiss", {}).status == 401
    assert set(site.world.findings().values()) == {"awaiting_approval"}


def test_a_token_does_what_its_role_allows_and_ends_with_its_user(site: Site) -> None:
    [first, _] = sorted(site.world.findings())
    viewer, reviewer = program(site, "vic"), program(site, "bob")

    seen = get(viewer, "/findings")["findings"]
    refused = send(viewer, f"/findings/{first}/dismiss", {})
    not_undone = send(reviewer, f"/findings/{first}/undo", {})
    decided = send(reviewer, f"/findings/{first}/dismiss", {"note": "two people"})
    with site.store.begin() as tx:
        users.disable(tx, "bob", by="ada")
        actors = [entry.actor for entry in log.entries(tx) if entry.event == "finding.dismissed"]

    assert ([finding["state"] for finding in seen], refused.status, not_undone.status) == (
        ["awaiting_approval"] * 2,
        403,
        403,
    )
    assert (decided.status, decided.json["changed"], actors) == (200, True, ["bob"])
    assert reviewer.get("/api/v1/me").status == 401


def test_a_token_with_a_higher_role_than_its_user_is_refused(site: Site) -> None:
    admin = program(site, "ada")

    refused = send(admin, "/tokens", {"name": "beyond", "user": "bob", "role": "operator"})
    answer = send(admin, "/tokens", {"name": "within", "user": "bob", "role": "viewer"})

    assert (refused.status, answer.status, answer.json["role"]) == (409, 200, "viewer")
    assert refused.json["detail"].startswith("bob is reviewer, so a token of theirs cannot be operator")


def test_personal_data_is_masked_and_shown_to_whom_it_is_allowed_with_a_record(site: Site) -> None:
    [first, second] = sorted(site.world.findings())
    rita = program(site, "rita")
    with site.store.begin() as tx:
        users.set_role(tx, "rita", by="ada", sees_personal=True)

    masked = [rita.get(f"/api/v1{path}").body for path in ("/findings", f"/findings/{first}", f"/findings/{second}")]
    shown = [send(rita, f"/findings/{name}/reveal", {}).body for name in (first, second)]
    refused = send(program(site, "ada"), f"/findings/{first}/reveal", {})

    assert not any(b"secret@x" in body for body in masked)
    assert any(b"anna.secret@x" in body for body in shown)
    assert refused.status == 403


# Reading


def test_pages_of_findings_follow_each_other_and_end(site: Site) -> None:
    viewer = program(site, "vic")

    first = get(viewer, "/findings?limit=1")
    second = get(viewer, f"/findings?limit=1&cursor={first['cursor']}")
    names = [finding["id"] for page in (first, second) for finding in page["findings"]]

    assert (sorted(names), second["cursor"]) == (sorted(site.world.findings()), None)
    assert viewer.get("/api/v1/findings?cursor=x").status == 422
    assert viewer.get("/api/v1/findings?rule=nothing").status == 404


def test_rules_runs_jobs_and_the_log_are_there(site: Site) -> None:
    viewer = program(site, "vic")
    [run] = get(viewer, "/runs")["runs"]

    detail = get(viewer, f"/runs/{run['run']}")
    entries = get(viewer, "/audit?event=finding&limit=1")
    older = get(viewer, f"/audit?event=finding&before={entries['before']}")

    assert (run["status"], [rule["rule"] for rule in detail["rules"]]) == ("succeeded", ["twins"])
    assert [(rule["rule"], rule["waiting"]) for rule in get(viewer, "/rules")["rules"]] == [("twins", 2)]
    assert "kind: duplicates" in get(viewer, "/rules/twins")["definition"]
    assert [job["job"] for job in get(viewer, "/jobs")["jobs"]] == ["nightly"]
    assert entries["entries"][0]["seq"] > older["entries"][0]["seq"]
    assert viewer.get("/api/v1/runs/run1_nothing").status == 404


# Deciding


def test_an_approval_is_of_the_plan_that_was_shown_and_is_carried_out(site: Site) -> None:
    reviewer = program(site, "bob")
    [first, second] = sorted(site.world.findings())
    shown = get(reviewer, f"/findings/{first}")

    blind = send(reviewer, f"/findings/{second}/approve", {})
    answer = send(reviewer, f"/findings/{second}/approve", {"plan_hash": "0" * 64})
    done = send(reviewer, f"/findings/{first}/approve", {"plan_hash": shown["plan"]["plan_hash"]})
    site.clean()

    assert (blind.status, answer.status, done.status) == (409, 409, 200)
    assert site.world.findings() == {first: "cleaned", second: "awaiting_approval"}
    assert site.woken == ["clean"]


def test_many_are_decided_each_by_itself(site: Site) -> None:
    reviewer = program(site, "bob")
    [first, second] = sorted(site.world.findings())
    version = get(reviewer, f"/findings/{first}")["version"]
    shown = [{"finding": first, "version": version}, {"finding": second, "version": 7}, {"finding": "F-NOBODY"}]

    answer = send(reviewer, "/decisions", {"decision": "snooze", "findings": shown, "until": "2090-01-01T00:00:00Z"})

    assert [finding["status"] for finding in answer.json["findings"]] == ["decided", "not_done", "not_done"]
    assert site.world.findings() == {first: "snoozed", second: "awaiting_approval"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/findings/F-NOBODY/dismiss", {}, 404),
        ("/findings/F-NOBODY/explode", {}, 422),
        ("/findings/F-NOBODY/dismiss", {"surprise": 1}, 422),
        ("/findings/F-NOBODY/snooze", {"until": "tomorrow"}, 422),
        ("/findings/F-NOBODY/snooze", {"until": "2090-01-01T08:00:00"}, 422),
        ("/findings/F-NOBODY/snooze", {"until": 3800000000}, 422),
        ("/findings/F-NOBODY/snooze", {"until": "9999-12-31T23:59:59-14:00"}, 422),
        ("/findings/F-NOBODY/dismiss", {"note": "\0"}, 422),
        ("/findings/F-NOBODY/dismiss", {"note": "\ud800"}, 422),
        ("/findings/F-NOBODY/dismiss", {"version": "1"}, 422),
        ("/decisions", {"decision": "dismiss", "findings": []}, 422),
        ("/jobs/nothing/runs", {}, 404),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(site: Site, path: str, body: Json, status: int) -> None:
    answer = send(program(site, "otto"), path, body)

    assert (answer.status, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert len(answer.json["detail"]) > 10
    assert set(site.world.findings().values()) == {"awaiting_approval"}


def test_a_finding_is_handled_once_with_a_key_and_its_rule_is_right(site: Site) -> None:
    [first, second] = sorted(site.world.findings())
    reviewer = program(site, "bob")

    answers = [send(reviewer, f"/findings/{first}/handle", {"note": "refunded"}, key="case-1") for _ in range(2)]
    many = send(reviewer, "/decisions", {"decision": "handle", "findings": [{"finding": second}]})
    [rule] = get(reviewer, "/rules")["rules"]

    assert [answer.json["changed"] for answer in answers] == [True, True]
    assert answers[1].headers["Idempotency-Replayed"] == "true"
    assert many.json["decided"] == 1
    assert set(site.world.findings().values()) == {"handled"}
    assert (rule["confirmed"], rule["rejected"], rule["precision"], rule["waiting"]) == (2, 0, 1.0, 0)
    assert rule["seconds_to_decision"] is not None


def test_a_finding_is_assigned_to_users_only_from_every_door(site: Site) -> None:
    reviewer, console = program(site, "bob"), site.browser("bob")
    [first, _] = sorted(site.world.findings())

    refused = send(reviewer, f"/findings/{first}/assign", {"to": "Rita"})
    in_console = console.send(f"/findings/{first}/assign", f"/findings/{first}", to="ritta")
    at_terminal = site.world.command("assign", first, "zzz")
    done = send(reviewer, f"/findings/{first}/assign", {"to": "rita"})
    taken_back = send(reviewer, f"/findings/{first}/assign", {})

    sentence = f"{first} was not assigned: there is no user"
    assert (refused.status, refused.json["detail"]) == (422, f"{sentence} `Rita`; did you mean `rita`?")
    assert f"{sentence} `ritta`; did you mean `rita`?" in in_console.text
    assert (at_terminal.code, f"{sentence} `zzz`; `reconcile users` lists all users" in at_terminal.err) == (2, True)
    assert (done.json["changed"], taken_back.json["changed"]) == (True, True)


@pytest.mark.parametrize("decision", ["approve", "reject", "dismiss", "handle", "snooze", "assign"])
def test_a_decision_about_another_version_is_refused(site: Site, decision: str) -> None:
    reviewer = program(site, "bob")
    [first, _] = sorted(site.world.findings())
    shown = get(reviewer, f"/findings/{first}")

    body = {"version": shown["version"] + 5, "plan_hash": shown["plan"]["plan_hash"], "to": "ada"}
    answer = send(reviewer, f"/findings/{first}/{decision}", body)

    assert (answer.status, "changed since it was shown. Nothing" in answer.json["detail"]) == (409, True)
    assert site.world.findings()[first] == "awaiting_approval"


def test_a_repeated_approval_changes_nothing_and_one_that_names_no_plan_says_so(site: Site) -> None:
    reviewer = program(site, "bob")
    [first, second] = sorted(site.world.findings())
    body = {"plan_hash": get(reviewer, f"/findings/{first}")["plan"]["plan_hash"]}

    changed = [send(reviewer, f"/findings/{first}/approve", body).json["changed"] for _ in range(2)]
    unnamed = send(reviewer, f"/findings/{second}/approve", {})

    assert (changed, unnamed.status) == ([True, False], 409)
    assert "its plan was not named" in unnamed.json["detail"]


# Idempotency keys


def test_a_request_that_is_sent_again_gets_the_first_answer_and_does_nothing(site: Site) -> None:
    """Even after somebody took the decision back: a retry that arrives late must not decide again."""
    reviewer = program(site, "bob")
    [first, _] = sorted(site.world.findings())

    answer = send(reviewer, f"/findings/{first}/dismiss", {}, key="order-7")
    send(reviewer, f"/findings/{first}/reopen", {})
    again = send(reviewer, f"/findings/{first}/dismiss", {}, key="order-7")
    different = send(reviewer, f"/findings/{first}/dismiss", {"note": "x"}, key="order-7")
    of_another = send(program(site, "rita"), f"/findings/{first}/dismiss", {}, key="order-7")

    assert (again.status, again.json, again.headers["Idempotency-Replayed"]) == (200, answer.json, "true")
    assert (different.status, "used for a different request" in different.json["detail"]) == (422, True)
    assert (of_another.status, of_another.json["changed"]) == (200, True)


def test_a_refused_request_leaves_its_key_and_an_interrupted_one_does_not(site: Site) -> None:
    reviewer = program(site, "bob")
    [first, second] = sorted(site.world.findings())

    refused = send(reviewer, f"/findings/{first}/reopen", {}, key="a")
    send(reviewer, f"/findings/{first}/dismiss", {})
    accepted = send(reviewer, f"/findings/{first}/reopen", {}, key="a")
    with site.store.begin() as tx:  # what a process that was killed leaves
        keyed_requests.begin(tx, "bob", "b", once.digest_of(["decide", second, "dismiss", _body()]))
    interrupted = send(reviewer, f"/findings/{second}/dismiss", {}, key="b")

    assert (refused.status, accepted.status, interrupted.status) == (409, 200, 409)
    assert "is in progress or was interrupted" in interrupted.json["detail"]
    assert site.world.findings()[second] == "awaiting_approval"


def _body() -> Json:
    empty = dict.fromkeys(("version", "plan_hash", "note", "until", "to", "keeper"))
    return {**empty, "values": {}}


def test_the_same_key_at_the_same_moment_is_carried_out_once(site: Site) -> None:
    reviewer = program(site, "otto")
    [first, _] = sorted(site.world.findings())

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: send(reviewer, f"/findings/{first}/dismiss", {}, key="k"), range(8)))
        runs = list(pool.map(lambda _: send(reviewer, "/jobs/nightly/runs", {}, key="k").json, range(8)))
    with site.store.read() as tx:
        dismissed = [entry for entry in log.entries(tx) if entry.event == "finding.dismissed"]

    assert {answer.status for answer in answers} <= {200, 409}
    assert (len(dismissed), len({run["run"] for run in runs}), sum(run["new"] for run in runs)) == (1, 1, 1)


def test_a_job_is_paused_and_resumed(site: Site) -> None:
    operator = program(site, "otto")

    paused = [send(operator, "/jobs/nightly/pause", {"reason": "stocktaking"}).json["changed"] for _ in range(2)]
    shown = get(operator, "/jobs")["jobs"][0]
    resumed = [send(operator, "/jobs/nightly/resume", {}).json["changed"] for _ in range(2)]

    assert (paused, shown["state"], "stocktaking" in shown["paused"], resumed) == (
        [True, False],
        "paused",
        True,
        [True, False],
    )


# Effects, users and tokens


def test_effects_say_what_is_in_flight_and_how_long_it_took(site: Site) -> None:
    viewer, operator = program(site, "vic"), program(site, "otto")
    [first, second] = sorted(site.world.findings())
    for finding in (first, second):
        plan = get(operator, f"/findings/{finding}")["plan"]
        send(operator, f"/findings/{finding}/approve", {"plan_hash": plan["plan_hash"]})
    waiting = get(viewer, "/effects")
    site.clean()

    shown = get(viewer, "/effects")

    assert (waiting["plans"], waiting["operations"]) == ({"approved": 2}, [])
    assert (shown["plans"], shown["keys"]) == ({"succeeded": 2}, {"in_flight": 0, "quarantined": 0})
    day, week = shown["operations"]
    assert {day["window"], week["window"]} == {"24 hours", "7 days"}
    assert (day["source"], day["action"], day["ended"], day["failed"], day["retried"]) == ("shop", "delete", 2, 0, 0)
    assert 0 <= day["p50"] <= day["p95"] <= day["p99"] < 60


def test_an_administrator_manages_users(site: Site) -> None:
    admin = program(site, "ada")
    new = {"name": "nora", "role": "reviewer", "password": "a long password", "personal_data": True}

    added, again = (send(admin, "/users", new, key="nora-1") for _ in range(2))
    taken = send(admin, "/users", new)
    changed = send(admin, "/users/nora/role", {"role": "viewer"})
    unchanged = send(admin, "/users/nora/role", {"role": "viewer"})
    signed_in = site.browser().sign_in("nora", "a long password").status
    disabled, once_more = (send(admin, "/users/nora/disable", {}) for _ in range(2))
    shut_out = site.browser().sign_in("nora", "a long password").status
    enabled = send(admin, "/users/nora/enable", {})
    send(admin, "/users/nora/password", {"password": "another password"})

    nora = {"user": "nora", "role": "reviewer", "personal_data": True, "disabled": False, "password": True}
    assert added.json == again.json == nora | {"changed": True}
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (taken.status, changed.json["role"], unchanged.json["changed"]) == (409, "viewer", False)
    assert (signed_in, shut_out) == (303, 401)
    assert (disabled.json["changed"], once_more.json["changed"]) == (True, False)
    assert (enabled.json["disabled"], site.browser().sign_in("nora", "another password").status) == (False, 303)
    assert [user["user"] for user in get(admin, "/users")["users"]] == ["ada", "bob", "nora", "otto", "rita", "vic"]
    assert send(admin, "/users/ada/disable", {}).status == 409
    assert send(admin, "/users/nobody/enable", {}).status == 404
    assert send(admin, "/users", new | {"name": "X", "password": "a long password"}).status == 422


def test_the_secret_of_a_token_is_answered_once(site: Site) -> None:
    admin = program(site, "ada")
    new = {"name": "nightly", "user": "bob", "role": "viewer", "expires": "2099-01-01T00:00:00Z"}

    answer, again = (send(admin, "/tokens", new, key="nightly-1") for _ in range(2))
    nightly = Browser(site.listener.address, {"Authorization": f"Bearer {answer.json['secret']}"})
    me = get(nightly, "/me")
    listed = get(admin, "/tokens")["tokens"]
    revoked = send(admin, "/tokens/nightly/revoke", {})

    assert (me["name"], me["role"]) == ("bob", "viewer")
    assert again.json == answer.json | {"secret": None}
    assert {
        "name": "nightly",
        "user": "bob",
        "role": "viewer",
        "expires_at": "2099-01-01T00:00:00.000000Z",
    }.items() <= (next(token for token in listed if token["name"] == "nightly").items())
    assert (revoked.json, nightly.get("/api/v1/me").status) == ({"name": "nightly", "revoked": True}, 401)
    assert send(admin, "/tokens/nightly/revoke", {}).status == 404
    assert answer.json["secret"].encode() not in (site.world.folder / "reconcile.db").read_bytes()


def test_neither_a_password_nor_what_could_be_compared_with_guesses_is_kept_of_a_request(site: Site) -> None:
    password = "a password to guess"
    admin = program(site, "ada")
    send(admin, "/users", {"name": "nora", "password": password}, key="k")

    with site.store.read() as tx:
        [row] = tx.connection.execute(sa.select(tables.keyed_requests)).mappings().all()
    body = {"name": "nora", "role": "viewer", "personal_data": False}
    guessed = once.digest_of(["add user", body | {"password": password}])

    assert password not in str(row)
    assert row["digest"] != guessed
    assert send(admin, "/users", {"name": "nora", "password": "another password"}, key="k").status == 422


@pytest.mark.parametrize("path", ["/users", "/tokens"])
def test_only_an_administrator_reads_users_and_tokens(site: Site, path: str) -> None:
    assert program(site, "otto").get(f"/api/v1{path}").status == 403
