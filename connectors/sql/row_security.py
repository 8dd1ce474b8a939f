"""Find out if PostgreSQL's row-level security hides records of a table, a view or a query from our user."""

from __future__ import annotations

import sqlalchemy as sa

_MAY_NOT = "42501"
HIDDEN = "row-level security may hide some of its rows; clean as its owner, or as a user with BYPASSRLS"


def hidden_rows(connection: sa.Connection, relation: sa.FromClause) -> str | None:
    """Return the reason, as a clause, why some rows of the relation may be hidden; None if none can be.

    PostgreSQL itself decides: with row_security off, it refuses a statement that a policy would filter, also behind
    views and in queries. No row is read. A user who may not read the relation at all gets the database's error.
    """
    nothing = sa.select(sa.literal(1)).select_from(relation).limit(0)
    connection.rollback()
    connection.exec_driver_sql("SET LOCAL row_security = off")
    try:
        connection.execute(nothing)
    except sa.exc.DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _MAY_NOT:
            raise
    else:
        connection.rollback()
        return None
    connection.rollback()
    connection.execute(nothing)  # raises if it is a privilege that is missing
    connection.rollback()
    return HIDDEN
