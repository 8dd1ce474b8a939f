"""Personal data at the command line: hidden in everything a command prints, in words and in JSON, unless asked for."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Project
from tests.support.servers import execute

pytestmark = pytest.mark.slow

PROJECT = """\
version: 1
sources: {shop: {type: files, root: .}}
datasets:
  people:
    source: shop
    path: people.csv
    id: [mail, number]
    columns: {born: date, whom: {is: "coalesce(mail, name)"}, again: {is: lower(whom)}}
    pii: [mail, name, born]
rules:
  twins: {kind: duplicates, dataset: people, key: [city, mail], window: {born: 3d}, keep: [{first: name}]}
  twice: {kind: duplicates, dataset: people, key: [again]}
channels: {team: {type: file, path: told.jsonl, format: jsonl, show: [mail]}}
jobs: {nightly: {rules: all, notify: [team], existing: report}}
"""
PEOPLE = """\
number,city,mail,name,born
1,Bonn,ada.canary@example.com,Ada Canary,1815-12-10
2,Bonn,ada.canary@example.com,A. Canary,1815-12-11
3,Bonn,,Grace Canary,1906-12-09
4,Bonn,,Grace Canary,1906-12-09
"""


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    """One finding of `twins`, two of `twice`."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    return Project(tmp_path).write(PROJECT)


def personal(text: str) -> list[str]:
    """What of the people stands in a text."""
    return [item for item in ("anary", "1815-", "1906-") if item in text]


def one(shop: Project, rule: str = "twins") -> dict[str, Any]:
    finding: dict[str, Any] = shop("findings", "--rule", rule, "--json", "--show").json[0]
    return finding


def test_no_command_prints_personal_data_unless_asked(shop: Project) -> None:
    told = [shop("run", "--dry-run"), shop("run", "--dry-run", "--json"), shop("run"), shop("run", "--json")]
    names = [one(shop)["id"], one(shop, "twice")["id"]]
    told += [shop("findings"), shop("findings", "--json"), shop("audit", "--json")]
    for name in names:
        told += [shop("show", name), shop("show", name, "--json"), shop("assign", name, "ada", "--json")]
        told += [shop("snooze", name, "--json"), shop("dismiss", name, "--json"), shop("reopen", name, "--json")]

    for answer in told:
        assert answer.code == 0, answer.said
        assert not personal(answer.said), answer.said
    assert "Bonn" in told[4].out, "what is not personal is shown"
    assert sum("use --show to see it" in answer.err for answer in told) == 3


def test_what_is_hidden_in_json_keeps_its_shape(shop: Project) -> None:
    shop("run", "-q")

    [hidden], shown = shop("findings", "--rule", "twins", "--json").json, one(shop)

    assert shown["key"] == {"city": "Bonn", "mail": "ada.canary@example.com"}
    assert hidden == shown | {
        "key": {"city": "Bonn", "mail": "•••"},
        "keeper": ["•••", "2"],
        "surplus": [["•••", "1"]],
        "span": ["•••", "•••"],
    }


def test_every_command_that_hides_shows_it_when_asked(shop: Project) -> None:
    told = [shop("run", "--dry-run", "--json", "--show"), shop("run", "--json", "--show")]
    name = one(shop)["id"]
    told += [shop("findings", "--show"), shop("findings", "--json", "--show")]
    told += [shop("show", name, "--show"), shop("show", name, "--json", "--show")]

    for answer in told:
        assert "ada.canary@example.com" in answer.out
        assert "--show" not in answer.err


def test_a_listing_without_personal_data_says_nothing_of_it(shop: Project) -> None:
    shop.write(PROJECT.replace("key: [again]", "key: [city]"))("run", "-q")

    assert "hidden" not in shop("findings", "--rule", "twice").err


def test_findings_of_a_dataset_that_is_gone_are_hidden_whole(shop: Project) -> None:
    """Nothing says any more which of its columns are personal."""
    shop("run", "-q")
    name = one(shop)["id"]
    shop.write(PROJECT.replace("people:", "others:").replace("dataset: people", "dataset: others"))

    [listed] = [finding for finding in shop("findings", "--json").json if finding["id"] == name]

    assert (listed["key"], listed["keeper"]) == ({"city": "•••", "mail": "•••"}, ["•••", "•••"])
    assert not personal(shop("show", name).said)
    assert "ada.canary@example.com" in shop("show", name, "--show").out


def test_a_column_computed_of_personal_data_is_personal_in_messages_too(shop: Project) -> None:
    shop("run", "-q")

    sent = [json.loads(line) for line in (shop.folder / "told.jsonl").read_text().splitlines()]

    text = json.dumps(sent, ensure_ascii=False)
    assert "ada.canary@example.com" in text, "the channel may show `mail`"
    assert "Grace" not in text, "but not what is computed of it"
    assert not [item for item in ("1815-", "1906-") if item in text], "nor days of birth, as the time of a group"


def everything_said(shop: Project) -> list[Any]:
    """What commands print of all findings, without being asked for personal data."""
    listed = shop("findings", "--state", "all", "--json")
    told = [listed, shop("findings", "--state", "all")]
    for result in listed.json:
        told += [shop("show", result["id"]), shop("show", result["id"], "--json")]
    return told


def test_a_column_that_is_in_the_key_twice_is_hidden_twice(shop: Project) -> None:
    """The second time it is called by what was made of it: `mail (casefold)`."""
    shop.write(PROJECT.replace("key: [again]", "key: [mail, {mail: [casefold]}]").replace(", show: [mail]", ""))

    told = [shop("run", "--json"), *everything_said(shop)]

    [key] = [result["key"] for result in told[1].json if result["rule"] == "twice"]
    assert key == {"mail": "•••", "mail (casefold)": "•••"}
    sent = (shop.folder / "told.jsonl").read_text()
    assert not [text for text in ("anary", "ada") if text in sent or any(text in answer.said for answer in told)]


def test_what_a_finding_holds_of_a_former_configuration_is_hidden_where_it_may_be_personal(shop: Project) -> None:
    """It ended before the dataset got another id and the rule lost its window, so it keeps its old names and times."""
    shop("run", "-q")
    (shop.folder / "people.csv").write_text(PEOPLE.replace("ada.canary", "bea", 1))
    shop("run", "-q")
    shop.write(PROJECT.replace("id: [mail, number]", "id: number").replace("window: {born: 3d}, ", ""))

    told = everything_said(shop)

    assert [result["keeper"] for result in told[0].json if result["rule"] == "twins"] == [["•••", "•••"]]
    for answer in told:
        assert not personal(answer.said), answer.said


def test_our_own_name_of_a_record_without_an_id_is_hidden_for_it_is_a_digest_of_personal_data(shop: Project) -> None:
    keepers = {}
    for pii in ("pii: [mail, name, born]", "pii: []"):
        shop.write(PROJECT.replace("id: [mail, number]", "id: []").replace("pii: [mail, name, born]", pii))
        shop("run", "-q")
        [keepers[pii]] = [
            finding["keeper"] for finding in shop("findings", "--json").json if finding["rule"] == "twins"
        ]

    hidden, shown = keepers.values()
    assert hidden == ["•••", "•••"]
    assert (len(shown[0]), shown[1]) == (32, 0)


PAYROLL = """\
version: 1
sources: {shop: {type: files, root: .}}
datasets:
  pay:
    source: shop
    path: pay.csv
    id: id
    columns: {amount: decimal}
    money: {amount: amount, currency: EUR}
    pii: [amount]
rules: {twice: {kind: duplicates, dataset: pay, key: [person]}}
channels: {team: {type: file, path: told.jsonl, format: jsonl}}
jobs: {nightly: {rules: all, notify: [team], existing: report}}
"""
ONE = "id,person,amount\n1,a,4321.50\n2,a,4321.50\n"


def test_a_personal_amount_is_hidden_for_one_finding_and_in_the_sum_over_several(tmp_path: Path) -> None:
    shop = Project(tmp_path).write(PAYROLL).write(ONE, "pay.csv")
    told = [shop("run", "--dry-run"), shop("run", "--json"), shop("findings"), shop("findings", "--json")]
    name = one(shop, "twice")["id"]
    told += [shop("show", name), shop("show", name, "--json")]
    of_one = (shop.folder / "told.jsonl").read_text()
    shop.write(ONE + "3,b,1000\n4,b,1000\n5,c,70\n6,c,70\n7,d,30\n8,d,30\n", "pay.csv")
    several = [
        shop("run", "--slot", f"2026-03-0{day}T00:00:00Z", *more) for day, more in ((2, ()), (3, ("--json", "--all")))
    ]
    message = (shop.folder / "told.jsonl").read_text().removeprefix(of_one)

    for answer in told:
        assert not [text for text in ("4321.5", "4,321.5") if text in answer.said], answer.said
    assert told[1].json["rules"][0]["money"] == told[3].json[0]["money"] == {"EUR": "•••"}
    assert "•••" in told[0].out
    assert "--show" in told[2].err
    assert "4321.5" not in of_one
    assert not [text for text in ("5421.5", "5,421.5") for answer in several if text in answer.said]
    assert several[1].json["rules"][0]["money"] == {"EUR": "•••"}
    assert not [text for text in ("1,100.00", "1,000.00") if text in message]
    for words in (
        ("run", "--json", "--all", "--show"),
        ("findings", "--json", "--show"),
        ("show", name, "--json", "--show"),
    ):
        assert "4321.50" in shop(*words).out


def test_what_a_query_computes_over_a_dataset_with_personal_data_is_masked(tmp_path: Path) -> None:
    execute(f"sqlite:///{tmp_path}/shop.db", "create table people (id integer primary key, email text)")
    execute(f"sqlite:///{tmp_path}/shop.db", "insert into people values (1, 'ada@x.org'), (2, 'ada@x.org')")
    project = Project(tmp_path).write(
        """\
version: 1
sources: {shop: {type: sql, url: "sqlite:///shop.db"}}
datasets: {people: {source: shop, table: people, id: id, pii: [email]}}
rules:
  twin: {kind: sql, dataset: people, query: "select email as group_key, id, upper(email) as loud from people"}
channels: {team: {type: file, path: told.txt}}
jobs: {nightly: {rules: all, notify: [team], existing: report}}
"""
    )

    project("run", "nightly")
    finding = project("findings", "--json").json[0]["id"]
    texts = [project(*words).said for words in (("findings",), ("show", finding), ("explain", "twin", "--json"))]

    assert not any("ada@x.org" in text.lower() for text in (*texts, (tmp_path / "told.txt").read_text()))
    assert "ADA@X.ORG" in project("show", finding, "--show").out
