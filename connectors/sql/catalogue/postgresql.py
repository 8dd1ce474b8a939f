"""PostgreSQL's catalogue: it shows every schema, whatever the user may read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from connectors.sql.catalogue import limits
from connectors.sql.catalogue.facts import OURS, Described, ForeignKey, Ident, UniqueKey
from connectors.sql.row_security import HIDDEN
from connectors.target import ColumnFacts

_ACTIONS = {"a": "NO ACTION", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}
_KINDS = {
    "v": "it is a view; clean the table behind it",
    "m": "it is a materialised view; clean the tables behind it",
    "f": "it is a foreign table, whose rows are in another database",
    "S": "it is a sequence",
}
_FIND = sa.text(
    """
    select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relname = :name and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and case when cast(:schema as text) is null then pg_table_is_visible(c.oid) else n.nspname = :schema end
    """
)
# A foreign key of a partitioned table also has one constraint per partition; the top one is enough.
_LINKS = sa.text(
    """
    select con.conname, con.confdeltype, con.confupdtype, con.condeferrable, pg_get_constraintdef(con.oid) as told,
           cn.nspname as schema, c.relname as table, pn.nspname as to_schema, p.relname as to_table,
           array(select a.attname::text from unnest(con.conkey) with ordinality k(num, place)
                 join pg_attribute a on a.attrelid = con.conrelid and a.attnum = k.num order by k.place) as columns,
           array(select a.attname::text from unnest(con.confkey) with ordinality k(num, place)
                 join pg_attribute a on a.attrelid = con.confrelid and a.attnum = k.num order by k.place) as to_columns,
           array(select a.attname::text from pg_attribute a where a.attrelid = con.conrelid
                 and to_jsonb(con)->'confdelsetcols' @> to_jsonb(a.attnum) order by a.attname) as some
    from pg_constraint con
    join pg_class c on c.oid = con.conrelid join pg_namespace cn on cn.oid = c.relnamespace
    join pg_class p on p.oid = con.confrelid join pg_namespace pn on pn.oid = p.relnamespace
    where con.contype = 'f' and con.conparentid = 0
    order by cn.nspname, c.relname, con.conname
    """
)
_TABLES = sa.text(
    """
    select c.oid, n.nspname, c.relname, c.relkind, c.relpersistence, c.relispartition,
           exists (select from pg_inherits i where i.inhparent = c.oid) as is_parent,
           row_security_active(c.oid) as is_filtered,
           has_schema_privilege(n.oid, 'usage') and not exists (
               select from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
               and not has_column_privilege(c.oid, a.attnum, 'select')
           ) as is_readable
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where (n.nspname, c.relname) in (select * from unnest(:schemas, :names))
    """
).bindparams(sa.bindparam("schemas", type_=sa.ARRAY(sa.Text())), sa.bindparam("names", type_=sa.ARRAY(sa.Text())))
_PARTS = """
    select r.oid as root, t.relid as part from unnest(:oids) r(oid)
    cross join lateral (select relid from pg_partition_tree(r.oid) union select r.oid) t(relid)
"""
_PARTS_OF = sa.text(
    f"""
    select p.root, n.nspname, c.relname, c.relkind, c.relpersistence
    from ({_PARTS}) p join pg_class c on c.oid = p.part join pg_namespace n on n.oid = c.relnamespace
    where p.part <> p.root
    """
)
_COLUMNS = sa.text(
    """
    select a.attrelid, a.attname, format_type(a.atttypid, a.atttypmod) as type,
           case t.typtype when 'd' then format_type(t.typbasetype, t.typtypmod)
                else format_type(a.atttypid, a.atttypmod) end as base,
           array(select e.enumlabel::text from pg_enum e where e.enumtypid in (t.oid, t.typbasetype)
                 order by e.enumsortorder) as labels,
           a.attnotnull or t.typnotnull as required,
           a.attgenerated <> '' as generated, a.attidentity <> '' as identity, a.attcollation,
           pg_get_expr(d.adbin, d.adrelid) as default
    from pg_attribute a join pg_type t on t.oid = a.atttypid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = any (:oids) and a.attnum > 0 and not a.attisdropped
    order by a.attrelid, a.attnum
    """
)
_KEYS = sa.text(
    f"""
    select p.root, i.indrelid = p.root as is_own, i.indisprimary, ic.relname, pg_get_indexdef(i.indexrelid) as told,
           coalesce(con.condeferrable, false) as deferrable,
           i.indisunique and i.indisvalid and i.indisready and i.indislive and i.indpred is null
             and i.indexprs is null and not coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::bool, false)
             and not exists (
                 select from unnest(i.indclass::oid[]) one join pg_opclass o on o.oid = one where not o.opcdefault
             ) as plain,
           array(select a.attname::text from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1])
                 with ordinality k(num, place)
                 join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.num order by k.place) as columns
    from ({_PARTS}) p
    join pg_index i on i.indrelid = p.part join pg_class ic on ic.oid = i.indexrelid
    left join pg_constraint con on con.conindid = i.indexrelid and con.contype in ('p', 'u', 'x')
    where (i.indisunique or i.indisexclusion) and (i.indrelid = p.root or not ic.relispartition)
    order by p.root, ic.relname
    """
)
_TRIGGERS = sa.text(
    f"""
    select p.root, t.tgname as name, pg_get_triggerdef(t.oid) as told, md5(f.prosrc) as body, t.tgenabled::text as state
    from ({_PARTS}) p join pg_trigger t on t.tgrelid = p.part join pg_proc f on f.oid = t.tgfoid
    where not t.tgisinternal and t.tgparentid = 0 and t.tgenabled in ('O', 'A')
    union all
    select p.root, 'rule ' || r.rulename, pg_get_ruledef(r.oid), '', r.ev_enabled::text
    from ({_PARTS}) p join pg_rewrite r on r.ev_class = p.part
    where r.ev_type <> '1' and r.ev_enabled in ('O', 'A')
    order by 1, 2, 3
    """
)
_UNCHECKED = sa.text(
    """
    select con.conrelid, con.conname from pg_constraint con
    where con.conrelid = any (:oids) and not con.convalidated order by con.conname
    """
)


class PostgreSqlCatalogue:
    """The catalogue of PostgreSQL. Types are written as `format_type` writes them."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self.default: str | None = connection.exec_driver_sql("select current_schema()").scalar()

    def find(self, schema: str | None, name: str) -> Ident | None:
        row = self._connection.execute(_FIND, {"schema": schema, "name": name}).first()
        return Ident(row.nspname, row.relname) if row else None

    def links(self) -> Sequence[ForeignKey]:
        return [
            ForeignKey(
                row.conname,
                Ident(row.schema, row.table),
                tuple(row.columns),
                Ident(row.to_schema, row.to_table),
                tuple(row.to_columns),
                _ACTIONS[_text(row.confdeltype)] + (f" ({', '.join(row.some)})" if row.some else ""),
                _ACTIONS[_text(row.confupdtype)],
                row.condeferrable,
                row.told,
            )
            for row in self._connection.execute(_LINKS)
        ]

    def described(self, tables: Collection[Ident]) -> Mapping[Ident, Described]:
        idents = sorted(tables)
        parameters = {"schemas": [ident.schema for ident in idents], "names": [ident.name for ident in idents]}
        rows = self._connection.execute(_TABLES, parameters).all()
        oids = [row.oid for row in rows]
        parts, columns, keys, triggers, unchecked = (
            _by_first(self._connection.execute(statement, {"oids": oids}).all())
            for statement in map(_with_oids, (_PARTS_OF, _COLUMNS, _KEYS, _TRIGGERS, _UNCHECKED))
        )
        return {
            Ident(row.nspname, row.relname): Described(
                tuple(_column(column) for column in columns.get(row.oid, ())),
                tuple(_key(key) for key in keys.get(row.oid, ())),
                tuple(dict.fromkeys(trigger.name for trigger in triggers.get(row.oid, ()))),
                _refused(row, parts.get(row.oid, ())),
                frozenset(Ident(part.nspname, part.relname) for part in parts.get(row.oid, ())),
                (
                    *(
                        f"{column.attname}: {column.attcollation} {column.default}"
                        for column in columns.get(row.oid, ())
                    ),
                    *(key.told for key in keys.get(row.oid, ())),
                    *(f"{trigger.told} {trigger.body} {trigger.state}" for trigger in triggers.get(row.oid, ())),
                ),
                hides_rows=_hides_rows(row),
                unchecked=tuple(constraint.conname for constraint in unchecked.get(row.oid, ())),
            )
            for row in rows
        }

    def warnings(self, tables: Collection[Ident], links: Collection[ForeignKey]) -> Sequence[str]:
        del tables
        return [
            f"The foreign key {link.name} of {link.table.name} was never checked against the rows that existed before "
            f"it, so rows may refer to missing rows."
            for link in links
            if "NOT VALID" in link.also or "NOT ENFORCED" in link.also
        ]


def _with_oids(statement: sa.TextClause) -> sa.TextClause:
    return statement.bindparams(sa.bindparam("oids", type_=sa.ARRAY(postgresql.OID())))


def _by_first(rows: Sequence[Any]) -> dict[int, list[Any]]:
    groups: dict[int, list[Any]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    return groups


def _column(row: Any) -> ColumnFacts:
    numbered = row.identity or (row.default or "").startswith("nextval(")
    return ColumnFacts(
        row.attname,
        row.type,
        nullable=not row.required,
        generated=row.generated,
        identity=numbered,
        default=(row.default is not None and not row.generated) or row.identity,
        limits=limits.of_postgresql(row.base, row.labels),
    )


def _key(row: Any) -> UniqueKey:
    """A unique index of a single partition says nothing about the whole table."""
    primary = row.indisprimary and row.is_own
    return UniqueKey(row.relname, tuple(row.columns), primary=primary, plain=primary or (row.plain and row.is_own))


def _hides_rows(row: Any) -> str:
    if not row.is_readable:
        return "this user cannot read it; grant SELECT on it"
    if row.is_filtered:
        return HIDDEN
    return ""


def _refused(row: Any, parts: Sequence[Any]) -> str | None:
    kind = _text(row.relkind)
    if kind in _KINDS:
        return _KINDS[kind]
    persistences = {_text(row.relpersistence), *(_text(part.relpersistence) for part in parts)}
    if row.nspname == "information_schema" or (row.nspname.startswith("pg_") and "t" not in persistences):
        return "it belongs to the database itself"
    reasons = {
        "it belongs to Reconcile": row.relname in OURS,
        "it is a temporary table": "t" in persistences,
        "it is unlogged: a crash of the server would empty it": "u" in persistences,
        "it is a partition of another table; name the whole table": row.relispartition,
        "other tables inherit from it, and its keys do not cover their rows": kind == "r" and row.is_parent,
        "one of its partitions is a foreign table": any(_text(part.relkind) == "f" for part in parts),
        "row-level security hides some of its rows from this user": row.is_filtered,
        "this user cannot read all of its columns": not row.is_readable,
    }
    return next((sentence for sentence, holds in reasons.items() if holds), None)


def _text(char: str | bytes) -> str:
    """PostgreSQL's "char", which drivers return as text or bytes."""
    return char.decode() if isinstance(char, bytes) else char
