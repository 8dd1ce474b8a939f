"""Two triggers at one moment: whoever comes second finds the first, and nobody is told twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconcile.testing.slack_server import SlackServer
from tests.support.runs import DOUBLE, START, ChargesProject, Ended, charge, known, together, told, twice

pytestmark = pytest.mark.slow

STORES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)]
ROUNDS = 3


@pytest.fixture(params=STORES)
def state(request: pytest.FixtureRequest) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_url")).replace("+psycopg", "")
    return "sqlite:///state.db"


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


def _shop(folder: Path, state: str, slack: SlackServer) -> ChargesProject:
    """Three orders charged twice; told in a file and in Slack."""
    shop = ChargesProject.at(folder, state).add(*twice(1, "A-1"), *twice(3, "A-2"), *twice(5, "A-3"), charge(7, "A-4"))
    shop.config["channels"]["slack"] = {
        "type": "slack",
        "token": slack.token,
        "channel": "#finance-ops",
        "base_url": slack.base_url,
    }
    shop.config["jobs"]["nightly"]["notify"] = ["team", "slack"]
    return shop.write()


def _statuses(ended: list[Ended]) -> list[str]:
    """How each saw the run: it did it, found it done, or found it under way."""
    return sorted("repeated" if item.json.get("repeated") else item.json["status"] for item in ended)


def test_two_processes_on_one_slot_make_one_run_one_set_of_findings_and_one_message(
    tmp_path: Path, state: str, slack: SlackServer
) -> None:
    shop = _shop(tmp_path / "shop", state, slack)

    for number in range(ROUNDS):
        slot = START.replace("21T", f"{21 + number}T")
        shop.add(*twice(100 + 10 * number, f"B-{number}"))
        ended = together(*(shop.held("run", "--json", "--slot", slot) for _ in range(2)))

        assert [item.code for item in ended] == [0, 0], [item.err + item.out for item in ended]
        assert _statuses(ended) in (["repeated", "succeeded"], ["running", "succeeded"])
        assert len({item.json["run"] for item in ended}) == 1
        assert len(shop.messages()) == len(slack.parents()) == number + 1
        assert len(shop.findings()) == 4 + number
    assert shop.intact()
    assert [item["status"] for item in shop.cli("runs", "--json").json] == ["succeeded"] * ROUNDS


def test_four_processes_without_a_slot_find_the_same_findings_and_tell_them_once(
    tmp_path: Path, state: str, slack: SlackServer
) -> None:
    shop = _shop(tmp_path / "shop", state, slack)

    ended = together(*(shop.held("run", "--json") for _ in range(4)))

    assert [item.code for item in ended] == [0] * 4, [item.err + item.out for item in ended]
    assert "succeeded" in _statuses(ended)
    assert set(_statuses(ended)) <= {"succeeded", "running"}
    [message] = shop.messages()
    assert len(told(message)) == 3
    assert len(slack.parents()) == 1
    assert len(shop.findings()) == 3
    assert shop.run().counts == {"known": 3}
    assert shop.intact()


def test_two_jobs_that_share_a_rule_at_one_moment_share_its_findings_and_tell_each_channel_once(
    tmp_path: Path, state: str, slack: SlackServer
) -> None:
    """Two jobs have a lease each, so they really run side by side; the rule's row is where they queue."""
    shop = _shop(tmp_path / "shop", state, slack)
    shop.config["rules"]["same-amount"] = DOUBLE | {"key": ["order_id", "currency"], "severity": "low"}
    shop.config["channels"]["second"] = {"type": "file", "path": "second.jsonl", "format": "jsonl"}
    shop.config["jobs"] = {
        "nightly": {"rules": ["double-charge", "same-amount"], "notify": ["team", "slack"]},
        "hourly": {"rules": ["same-amount", "double-charge"], "notify": ["second", "slack"]},
    }
    shop.write()
    heard = 0

    for number in range(ROUNDS):
        shop.add(*twice(100 + 10 * number, f"B-{number}"))
        ended = together(shop.held("run", "--json", "nightly"), shop.held("run", "--json", "hourly"))

        assert [item.code for item in ended] == [0, 0], [item.err + item.out for item in ended]
        assert _statuses(ended) == ["succeeded", "succeeded"]
        assert len(shop.findings()) == 2 * (4 + number)
        heard += 4 if number == 0 else 1
        for channel in ("messages.jsonl", "second.jsonl"):
            assert _groups(shop, channel) == 2 * heard, channel
    assert shop.intact()
    first, second = (shop.run(job) for job in ("nightly", "hourly"))
    assert "sent" not in first.json
    assert "sent" not in second.json
    assert known(first.json["findings"]) == known(second.json["findings"])


def test_a_channel_of_two_jobs_that_end_together_hears_each_group_once(tmp_path: Path, state: str) -> None:
    shop = ChargesProject.at(tmp_path / "shop", state).add(*twice(1, "A-1"), *twice(3, "A-2"))
    shop.config["jobs"]["hourly"] = {"rules": ["double-charge"], "notify": ["team"]}
    shop.write()
    expected = [("new", "ch_00001", ["ch_00002"]), ("new", "ch_00003", ["ch_00004"])]

    for number in range(2 * ROUNDS):
        if number:
            shop.add(*twice(100 + 10 * number, f"B-{number}"))
            expected.append(("new", f"ch_{100 + 10 * number:05d}", [f"ch_{101 + 10 * number:05d}"]))
        ended = together(shop.held("run", "nightly"), shop.held("run", "hourly"))

        assert [item.code for item in ended] == [0, 0], [item.err + item.out for item in ended]
        assert sorted(group for message in shop.messages() for group in told(message)) == sorted(expected)


def _groups(shop: ChargesProject, path: str) -> int:
    """How many groups a file channel heard of in all its messages."""
    return sum(len(told(message, rule)) for message in shop.messages(path) for rule in ("double-charge", "same-amount"))
