"""The first run after a change of anything that decides which records a rule cleans only tells; the next one cleans."""

import dataclasses
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel, SecretStr, create_model

from connectors.sql.settings import SqlDataset, SqlSettings
from reconcile.cleaning.planning.binding import HARMLESS_IN_DATASET, HARMLESS_IN_PROJECT, HARMLESS_IN_SOURCE, bound
from reconcile.config.cleaning import LinkEntry
from reconcile.findings.results import to_json
from reconcile.journal.approvals import PlanChanged
from tests.support.chance import spread
from tests.support.servers import POSTGRES, scratch_database
from tests.support.shop import Shop
from tests.support.world import World

TABLE = "(id integer primary key, email varchar(60), amount varchar(20), seen varchar(30), kind varchar(9))"
ROWS = "(1, 'a@x', '10,00', '2026-01-01 10:00:00', 'b'), (2, 'b@x', '10,00', '2026-01-01 10:00:00', 'b')"
TWINS = "(11, 'c@x', '10,00', '2026-01-01 10:00:00', 'a'), (12, 'c@x', '10,00', '2026-01-01 10:00:00', 'a')"


def filled(shop: Shop) -> Shop:
    """The same customers in two tables."""
    shop.sql(
        *(f"create table {table} {TABLE}" for table in ("customers", "clients")),
        *(f"insert into {table} values {ROWS}" for table in ("customers", "clients")),
    )
    return shop


def world_of(shop: Shop) -> World:
    """A configuration whose parts a test replaces."""
    rule = {"kind": "duplicates", "dataset": "people", "key": ["email"], "approval": "none"}
    config = {
        "sources": {"shop": {"type": "sql", "url": shop.url}},
        "datasets": {"people": {"source": "shop", "table": "customers", "id": "id"}},
        "rules": {"twins": rule | {"clean": {"action": "delete"}, "limits": {"share": "100%"}}},
        "jobs": {"nightly": {"rules": "all", "notify": ["team"]}},
        "channels": {"team": {"type": "file", "path": "messages.txt"}},
    }
    return World(shop.folder, config=config, url=shop.url)


def add(shop: Shop, table: str = "customers") -> None:
    """Two more customers, who are one."""
    shop.sql(f"insert into {table} values {TWINS}")


def edit(world: World, section: str | None, values: dict[str, Any]) -> None:
    place = world.config
    for name in (section or "").split("."):
        place = place.setdefault(name, {}) if name else place
    place.update(values)


def tell(world: World) -> dict[str, Any]:
    """Run the job once; what it says of the rule's cleaning."""
    [outcome] = world.run().checked
    cleaning = to_json(outcome.cleaning)
    assert "stopped" not in cleaning, outcome
    return cleaning


def cleaned(world: World) -> int:
    """Run the job once; how many findings it cleaned."""
    count: int = tell(world)["cleaned"]
    return count


def states(world: World) -> list[str]:
    return list(world.findings().values())


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def shops(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Shop]]:
    """Two databases that hold the same customers."""
    if request.param == "sqlite":
        yield [filled(Shop(f"sqlite:///{name}.db", tmp_path)) for name in ("one", "two")]
        return
    first, second = scratch_database(POSTGRES), scratch_database(POSTGRES)
    try:
        yield [filled(Shop(next(server), tmp_path)) for server in (first, second)]
    finally:
        first.close()
        second.close()


@pytest.fixture
def world(shops: list[Shop]) -> World:
    return world_of(shops[0])


EDITS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "table": ("datasets.people", {"table": "clients"}),
    "decimal": ("datasets.people", {"decimal": ","}),
    "timezone of the dataset": ("datasets.people", {"timezone": "Europe/Berlin"}),
    "timezone of the project": (None, {"timezone": "Europe/Berlin"}),
    "null_values": ("datasets.people", {"null_values": ["a"]}),
    "columns": ("datasets.people", {"columns": {"amount": "text", "seen": "instant"}}),
    "a derived column": ("datasets.people", {"columns": {"more": {"is": "id + 1"}}}),
    "where": ("datasets.people", {"where": "id > 0"}),
    "id": ("datasets.people", {"id": ["id", "email"]}),
    "money": ("datasets.people", {"money": {"amount": "id", "currency": "EUR"}}),
    "references": ("datasets.people", {"references": [{"table": "clients", "columns": ["seen"], "to": ["kind"]}]}),
    "keep": ("rules.twins", {"keep": [{"last": "id"}]}),
    "key": ("rules.twins", {"key": ["email", "kind"]}),
    "clean": ("rules.twins", {"clean": {"action": "set", "values": {"kind": "x"}}}),
}
HARMLESS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "pii": ("datasets.people", {"pii": ["email"]}),
    "statement_timeout": ("sources.shop", {"statement_timeout": "5m"}),
    "max_parallel": ("sources.shop", {"max_parallel": 3}),
    "memory": (None, {"memory": "1GB"}),
    "listen": (None, {"listen": "none"}),
    "listen_hosts": (None, {"listen_hosts": ["reconcile.example.com"]}),
    "console": (None, {"console": {"enabled": False}}),
    "limits": ("rules.twins", {"limits": {"share": "100%", "records": 50}}),
    "owner": ("rules.twins", {"owner": "ops"}),
    "a default that is written": ("datasets.people", {"null_values": []}),
    "channels": ("channels", {"more": {"type": "file", "path": "more.txt"}}),
}


def in_either(edits: dict[str, tuple[str | None, dict[str, Any]]]) -> list[Any]:
    """Every edit on SQLite, and three on PostgreSQL: what is edited decides, and not the database."""
    servers = (pytest.param("postgresql", name, marks=pytest.mark.server) for name in spread(list(edits), 3))
    return [*(("sqlite", name) for name in edits), *servers]


@pytest.mark.parametrize(("shops", "name"), in_either(EDITS), indirect=["shops"])
@pytest.mark.slow
def test_the_first_run_after_an_edit_of_what_decides_what_is_cleaned_only_tells(name: str, world: World) -> None:
    assert cleaned(world) == 0
    edit(world, *EDITS[name])
    add(world.shop, "clients" if name == "table" else "customers")

    assert (cleaned(world), states(world)) == (0, ["open"])
    assert (cleaned(world), states(world)) == (1, ["cleaned"])


@pytest.mark.parametrize(("shops", "name"), in_either(HARMLESS), indirect=["shops"])
@pytest.mark.slow
def test_an_edit_of_a_harmless_setting_holds_nothing_back(name: str, world: World) -> None:
    assert cleaned(world) == 0
    edit(world, *HARMLESS[name])
    add(world.shop)

    assert cleaned(world) == 1


@pytest.mark.slow
def test_the_first_run_in_another_database_only_tells_even_of_findings_that_were_known(
    world: World, shops: list[Shop]
) -> None:
    """As after a trial in staging: the groups are known already, and production was never notified."""
    for shop in shops:
        add(shop)
    assert cleaned(world) == 0
    told = world.messages()
    edit(world, "sources.shop", {"url": shops[1].url})

    assert cleaned(world) == 0
    assert "The next run cleans at most 1 finding without approval" in world.messages().removeprefix(told)
    assert cleaned(world) == 1


@pytest.mark.slow
def test_a_rule_that_stopped_cleaning_and_begins_again_only_tells_at_first(world: World) -> None:
    assert cleaned(world) == 0
    clean = world.config["rules"]["twins"].pop("clean")
    tell(world)
    edit(world, "rules.twins", {"clean": clean})
    add(world.shop)

    assert cleaned(world) == 0
    assert cleaned(world) == 1


def test_a_plan_that_waits_is_void_after_an_edit_of_its_dataset(world: World) -> None:
    edit(world, "rules.twins", {"approval": "required"})
    add(world.shop)
    tell(world)
    edit(world, "datasets.people", {"decimal": ","})

    [finding] = world.findings()

    with world.open() as application, pytest.raises(PlanChanged, match="its dataset or its source was edited"):
        application.decisions("anna").approve(finding)


@pytest.mark.server
def test_the_first_run_in_another_schema_of_the_same_database_only_tells(postgres_url: str, tmp_path: Path) -> None:
    """The name `customers` means another table there, though the database and the configuration of the dataset are
    the same."""
    engine = sa.create_engine(postgres_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("create schema other")
    engine.dispose()
    shops = [filled(Shop(url, tmp_path)) for url in (postgres_url, f"{postgres_url}?options=-csearch_path%3Dother")]
    world = world_of(shops[0])
    for shop in shops:
        add(shop)
    assert cleaned(world) == 0
    edit(world, "sources.shop", {"url": shops[1].url})

    assert cleaned(world) == 0
    assert cleaned(world) == 1


# The class of it: settings that nobody listed


SAMPLES: dict[str, Any] = {"columns": {"a": "text"}, "null_values": ("-",), "table": "other", "query": "select 1"}


@pytest.mark.parametrize(
    ("settings", "harmless"),
    [
        (SqlDataset(table="customers"), HARMLESS_IN_DATASET),
        (SqlSettings(type="sql", url=SecretStr("sqlite:///shop.db")), HARMLESS_IN_SOURCE),
    ],
)
def test_each_setting_of_a_connector_is_bound_or_known_to_be_harmless(settings: BaseModel, harmless: set[str]) -> None:
    before = bound(settings, harmless)

    changed = {}
    for name in type(settings).model_fields:
        with warnings.catch_warnings(action="ignore"):  # of values of another type than declared
            changed[name] = bound(settings.model_copy(update={name: SAMPLES.get(name, "?")}), harmless) != before

    assert changed == {name: name not in harmless for name in changed}


@pytest.mark.parametrize("section", ["dataset", "project"])
def test_each_setting_of_a_dataset_and_of_the_project_is_bound_or_known_to_be_harmless(
    section: str, world: World
) -> None:
    with world.open() as application:
        project = application.project
    settings, harmless = (project, HARMLESS_IN_PROJECT)
    if section == "dataset":
        settings, harmless = project.datasets["people"], HARMLESS_IN_DATASET
    before = bound(settings, harmless)

    changed = {
        field.name: bound(dataclasses.replace(settings, **{field.name: "?"}), harmless) != before
        for field in dataclasses.fields(settings)
    }

    assert changed == {name: name not in harmless for name in changed}
    assert harmless <= changed.keys()


@pytest.mark.parametrize(
    ("base", "said"),
    [(SqlDataset, {"table": "customers"}), (SqlSettings, {"type": "sql", "url": SecretStr("sqlite:///shop.db")})],
)
def test_a_setting_that_a_later_version_adds_counts_by_itself_and_its_default_changes_nothing(
    base: type[BaseModel], said: dict[str, Any]
) -> None:
    later = create_model("Later", __base__=base, news=(str, "usual"))

    assert bound(later(**said), ()) == bound(base(**said), ())
    assert bound(later(**said, news="other"), ()) != bound(base(**said), ())


def test_so_does_one_that_a_later_version_adds_to_a_declared_link(world: World) -> None:
    with world.open() as application:
        dataset = application.project.datasets["people"]
    later = create_model("Later", __base__=LinkEntry, news=(str, "usual"))
    settings = {"table": "orders", "columns": ("customer",)}

    def digest(link: LinkEntry) -> object:
        return bound(dataclasses.replace(dataset, references=(link,)), ())

    assert digest(later(**settings)) == digest(LinkEntry(**settings))
    assert digest(later(**settings, news="other")) != digest(LinkEntry(**settings))
