"""DBOS Transact deletes rows, each in a durable step whose receipt is written in the same transaction.

`effects_dbos.py URL TABLE FIRST COUNT steps|workflows`: `steps` are steps of one workflow; with `workflows` each effect
is a workflow of its own, whose id is its key, which makes it idempotent.
"""

from __future__ import annotations

import sys
import uuid

import sqlalchemy as sa
from dbos import DBOS, DBOSConfig, SetWorkflowID, SQLAlchemyDatasource

from bench.effects_clock import Clock


def main() -> None:
    url, table, first, count, how = sys.argv[1:6]
    ids = range(int(first) + 1, int(first) + 2 * int(count), 2)
    clock = Clock()
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": url,
        "run_admin_server": False,
        "log_level": "ERROR",
        "executor_id": f"{first}",
    }
    DBOS(config=config)
    shop = SQLAlchemyDatasource.create(url)
    statement = sa.text(f"DELETE FROM {table} WHERE id = :id")

    @shop.transaction(isolation_level="READ COMMITTED")
    def delete(number: int) -> None:
        shop.sql_session().execute(statement, {"id": number})

    @DBOS.workflow()
    def one(number: int) -> None:
        delete(number)

    @DBOS.workflow()
    def many(numbers: list[int]) -> None:
        for number in numbers:
            delete(number)

    DBOS.launch()
    with SetWorkflowID(str(uuid.uuid4())):
        one(-1)  # the first is slower
    clock.begin()
    if how == "steps":
        many(list(ids))
    else:
        for number in ids:
            with SetWorkflowID(f"delete:{table}:{number}"):
                one(number)
    clock.end(len(ids))
    DBOS.destroy()


if __name__ == "__main__":
    main()
