"""The witness sees every change of a row that stayed, by whom ever, and none that was rolled back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.product.chaos.table_witness import Witness, replayed


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.server), "mariadb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'shop.db'}"
    else:
        url = request.getfixturevalue(f"{request.param}_url")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("create table people (id integer primary key, name varchar(40), note varchar(40))"))
        connection.execute(sa.text("insert into people values (1, 'Ann', null), (2, 'Bob', 'it''s')"))
    yield engine
    engine.dispose()


def _rows(engine: sa.Engine) -> list[dict[str, str | None]]:
    with engine.connect() as connection:
        result = connection.execute(sa.text("select * from people order by id")).mappings()
        return [{name: None if value is None else str(value) for name, value in row.items()} for row in result]


@pytest.mark.server
def test_it_writes_down_every_row_that_was_changed_and_none_that_was_rolled_back(engine: sa.Engine) -> None:
    witness, before = Witness(engine), _rows(engine)
    witness.watch("people")

    with engine.begin() as connection:
        connection.execute(sa.text("insert into people values (3, 'Zoë', 'a:b\"c')"))
        connection.execute(sa.text("update people set name = 'Al' where id < 3"))
        connection.execute(sa.text("delete from people where id = 1"))
    with engine.connect() as connection:
        connection.execute(sa.text("delete from people"))
        connection.rollback()

    events = witness.events()
    collected = [(event.what, event.row["id"]) for event in events]
    assert collected == [("insert", "3"), ("update", "1"), ("update", "2"), ("delete", "1")]
    assert events[0].new == {"id": "3", "name": "Zoë", "note": 'a:b"c'}
    assert (events[1].old, events[1].new) == (
        {"id": "1", "name": "Ann", "note": None},
        {"id": "1", "name": "Al", "note": None},
    )
    assert witness.events(after=events[2].seq) == events[3:]
    assert witness.last() == events[-1].seq
    assert list(replayed(before, events, "id").values()) != []
    assert sorted(replayed(before, events, "id").values(), key=lambda value: value["id"]) == _rows(engine)


def test_events_that_do_not_fit_the_rows_are_not_replayed(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'shop.db'}")
    with engine.begin() as connection:
        connection.execute(sa.text("create table people (id integer primary key, name text)"))
    witness = Witness(engine)
    witness.watch("people")
    with engine.begin() as connection:
        connection.execute(sa.text("insert into people values (1, 'Ann')"))
        connection.execute(sa.text("delete from people"))
    [event, gone] = witness.events()

    with pytest.raises(ValueError, match="differs from its record"):
        replayed([], [gone], "id")
    with pytest.raises(ValueError, match="that already exists"):
        replayed([], [event, event], "id")
    engine.dispose()
