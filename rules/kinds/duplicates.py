"""Records of one dataset with the same key, more than one of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import sqlalchemy as sa
from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from rules import fitting, grouping, survivorship
from rules.compile import Columns, Compiler, Uses, column_type, part_exactness, unused
from rules.engines import embedded, pushdown
from rules.engines.base import Detection, Group, Near, Pushed, Records, Relation, Repeats, Skipped, Streamed, Tally
from rules.engines.embedded import Embedded
from rules.errors import RuleError
from rules.expressions import Bound, BoundGroup, parse, parse_group
from rules.mistakes import suggestion
from rules.models import Keep, KeyPart, Rule, Strict, parse_duration
from rules.normalise import chain_function, chain_type
from rules.values import Type, Value, canonical_json, order_key


class Span(Strict):
    """`gap:` or `window:`: the column that orders, and how far apart (inclusive): a duration, or a number."""

    column: str
    by: dt.timedelta | Decimal


def _listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


def _step(value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict) and len(value) == 1:
        [(name, argument)] = value.items()
        return {"name": name, "argument": argument}
    raise ValueError("a normaliser is its name, like trim, or {name: argument}, like {round: 2}")


def _key_part(value: Any) -> Any:
    if isinstance(value, KeyPart):
        return value
    if isinstance(value, str):
        return {"column": value}
    if isinstance(value, dict) and len(value) == 1:
        [(column, steps)] = value.items()
        return {"column": column, "steps": [_step(s) for s in _listed(steps)]}
    raise ValueError("a part of a key is a column, or {column: [normaliser, …]}")


def _key(value: Any) -> Any:
    return value if value is None or isinstance(value, (list, tuple)) else [value]


def _keep(value: Any) -> Any:
    if isinstance(value, Keep):
        return value
    if value == "most_complete":
        return {"how": "most_complete"}
    if isinstance(value, dict) and len(value) == 1:
        [(how, what)] = value.items()
        if how == "prefer" and isinstance(what, dict) and len(what) == 1:
            [(column, order)] = what.items()
            return {"how": how, "column": column, "prefer": _listed(order)}
        if how in ("first", "last", "max", "min") and isinstance(what, str):
            return {"how": how, "column": what}
    raise ValueError(
        "a line of keep is most_complete, {first: column}, {last: column}, {max: column}, {min: column} "
        "or {prefer: {column: [best, next]}}"
    )


def _span(value: Any) -> Any:
    if isinstance(value, Span):
        return value
    if isinstance(value, dict) and len(value) == 1:
        [(column, by)] = value.items()
        return {"column": column, "by": by if isinstance(by, dt.timedelta) else _distance(by)}
    raise ValueError("write one column and how far: {charged_at: 15m}, or {position: 3} for a numeric column")


def _distance(by: Any) -> dt.timedelta | Decimal:
    try:
        number = Decimal(str(by))
    except ArithmeticError:
        duration: dt.timedelta = parse_duration(by)
        return duration
    if not number.is_finite() or number < 0:
        raise ValueError(f"`{by}` is not a distance; write a duration like 15m, or a number that is not negative")
    return number


def _pair(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and len(value) == 2:
        ids = tuple(tuple(one) if isinstance(one, (list, tuple)) else (one,) for one in value)
        if ids[0] != ids[1] and all(isinstance(part, str) for one in ids for part in one):
            return ids
    raise ValueError("a line of except is two different record ids: [id, id]; an id of two columns is itself a list")


_STEP_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "object", "minProperties": 1, "maxProperties": 1}]}
_CHAIN_SCHEMA = {"anyOf": [_STEP_SCHEMA, {"type": "array", "items": _STEP_SCHEMA}]}
_PART_SCHEMA = {
    "anyOf": [
        {"type": "string"},
        {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": _CHAIN_SCHEMA},
    ]
}
_KEEP_SCHEMA = {
    "anyOf": [
        {"const": "most_complete"},
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": {how: {"type": "string"} for how in ("first", "last", "max", "min")}
            | {"prefer": {"type": "object", "minProperties": 1, "maxProperties": 1}},
        },
    ]
}
_SPAN_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": {"type": ["string", "number"]},
}
_PAIR_SCHEMA = {"type": "array", "minItems": 2, "maxItems": 2}


def _one_or_list(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "array", "items": schema, "minItems": 1}]}


class DuplicatesRule(Rule):
    """kind: duplicates. See docs/rules.md for what each setting means.

    `except_` holds pairs of record ids, each id a tuple with one text for every column of the dataset's `id`.
    """

    kind: Literal["duplicates"] = "duplicates"
    key: Annotated[
        Annotated[Literal["all"], Tag("all")]
        | Annotated[
            tuple[Annotated[KeyPart, BeforeValidator(_key_part)], ...], BeforeValidator(_key), Tag("columns"), Field()
        ],
        Discriminator(lambda value: "all" if value == "all" else "columns"),
        WithJsonSchema(_one_or_list(_PART_SCHEMA)),
    ] = Field(description="What makes two records the same thing: columns with normalisers, or all.")
    nulls: dict[str, Literal["match"]] = Field(
        default_factory=dict, description="Columns of the key whose empty values equal each other."
    )
    except_: tuple[
        Annotated[tuple[tuple[str, ...], tuple[str, ...]], BeforeValidator(_pair), WithJsonSchema(_PAIR_SCHEMA)],
        ...,
    ] = Field(default=(), alias="except", description="Pairs of record ids known to be different.")
    gap: Annotated[Span, BeforeValidator(_span), WithJsonSchema(_SPAN_SCHEMA)] | None = Field(
        default=None, description="Neighbours this far apart at most are one group: a chain."
    )
    window: Annotated[Span, BeforeValidator(_span), WithJsonSchema(_SPAN_SCHEMA)] | None = Field(
        default=None, description="Records this far from the earliest at most are one group."
    )
    distinct: str | None = Field(default=None, description="A column that must differ inside a group.")
    having: str | None = Field(default=None, description="A condition over the group, e.g. sum(amount) > 100.")
    minimum: int = Field(default=2, ge=2, description="How many records make a group.")
    keep: Annotated[
        tuple[Annotated[Keep, BeforeValidator(_keep)], ...],
        BeforeValidator(_listed),
        WithJsonSchema(_one_or_list(_KEEP_SCHEMA)),
    ] = Field(default=(), description="Which record stays, best first; ties end at the id.")

    @model_validator(mode="after")
    def _fits_together(self) -> DuplicatesRule:
        if self.gap and self.window:
            raise ValueError("gap and window exclude each other; keep one of them")
        if self.key == "all":
            if self.nulls:
                raise ValueError("nulls has no use beside key: all, where empty values equal each other; remove it")
            return self
        if not self.key:
            raise ValueError("a key needs at least one column")
        if len(set(map(repr, self.key))) < len(self.key):
            raise ValueError("the key names one column twice with the same normalisers; keep one")
        columns = {part.column for part in self.key}
        for column in sorted(self.nulls.keys() - columns):
            raise ValueError(f"nulls names `{column}`, which is not in the key; {suggestion(column, columns)}")
        return self

    @property
    def span(self) -> Span | None:
        return self.gap or self.window


# How rows are asked for: what of the rule is read, and its compilation to one question on any engine.


@dataclass(frozen=True)
class _Fitted:
    """A rule beside the dataset it reads: what of it is named, and what it means there."""

    rule: DuplicatesRule
    relation: Relation
    columns: Columns

    @property
    def parts(self) -> tuple[KeyPart, ...]:
        """The key. `all` is every column but those that only say which record it is, or where it was."""
        if self.rule.key != "all":
            return self.rule.key
        aside = {*self.relation.id, *grouping.PLACE}
        return tuple(KeyPart(column=name) for name in self.relation.schema.names if name not in aside)

    def matches_null(self, part: KeyPart) -> bool:
        return self.rule.key == "all" or part.column in self.rule.nulls

    @property
    def conditions(self) -> tuple[Bound, ...]:
        """The dataset's filter and the rule's, where there are any."""
        return tuple(self.bound(text) for text in (self.relation.where, self.rule.where) if text is not None)

    def bound(self, text: str) -> Bound:
        return parse(text).condition(self.columns.schema, self.relation.timezone)

    @property
    def judged(self) -> tuple[str, ...]:
        """Columns that decide what belongs together."""
        found = [part.column for part in self.parts]
        found += [name for one in self.conditions for name in one.expression.columns]
        return (*found, *(name for name in (self.span_column, self.rule.distinct) if name))

    @property
    def span_column(self) -> str | None:
        return self.rule.span.column if self.rule.span else None

    @property
    def shown(self) -> tuple[str, ...]:
        """Columns a finding shows, each once."""
        money = self.relation.money
        names = [part.column for part in self.parts]
        names += [self.span_column or "", self.rule.distinct or "", *(line.column or "" for line in self.rule.keep)]
        names += [money.amount, money.currency_column or ""] if money else []
        names += [name for name in grouping.PLACE if name in self.relation.schema and not self.relation.id]
        return tuple(name for name in dict.fromkeys(names) if name)

    @property
    def needed(self) -> tuple[str, ...]:
        schema, keep = self.relation.schema, self.rule.keep
        if not self.relation.id or any(line.how == "most_complete" for line in keep):
            return schema.names
        names = [*self.relation.id, *self.judged, *self.shown]
        names += parse_group(self.rule.having).columns if self.rule.having else ()
        behind = set(self.columns.sources(names))
        return tuple(name for name in schema.names if name in behind)

    @property
    def content(self) -> tuple[str, ...]:
        """What a record without id is known by: all it says, and where it was only if the rule asks where."""
        asked = set(self.columns.sources(self.judged))
        return tuple(name for name in self.needed if name not in grouping.PLACE or name in asked)

    @property
    def uses(self) -> Uses:
        plain = tuple(n for n in (self.span_column, self.rule.distinct, *self.relation.id) if n)
        return Uses(self.columns, self.conditions, self.parts, plain, self.relation.timezone)

    @cached_property
    def considered(self) -> tuple[str, ...]:
        """Columns whose values `most_complete` counts."""
        return survivorship.columns_of(self.rule.keep, self.relation.schema)

    @cached_property
    def having(self) -> BoundGroup | None:
        if self.rule.having is None:
            return None
        return parse_group(self.rule.having).bind(self.columns.schema, self.relation.timezone)

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """Column names; a column that is there twice, normalised otherwise, says how."""
        names: list[str] = []
        for part in self.parts:
            steps = ", ".join(step.name for step in part.steps) or "as it is"
            names.append(f"{part.column} ({steps})" if part.column in names else part.column)
        return tuple(names)

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """Columns that are in the key as they are, where another part is normalised. Floats equal others than they
        look like, and where nulls match, so do blank texts."""
        parts = self.parts
        if not any(part.steps or part.column in self.columns.derived for part in parts):
            return ()
        schema = self.columns.schema
        return tuple(
            part.column
            for part in parts
            if not part.steps
            and part.column not in self.columns.derived
            and not self.matches_null(part)
            and schema[part.column].type is not Type.FLOAT
        )

    @cached_property
    def lookups(self) -> tuple[int, ...]:
        """Parts of the key, by position, whose values DuckDB and a database write alike."""
        schema, zone = self.columns.schema, self.relation.timezone
        kinds = [chain_type(schema[part.column].type, part.steps) for part in self.parts]
        return tuple(
            n
            for n, (part, kind) in enumerate(zip(self.parts, kinds, strict=True))
            if kind is Type.TEXT
            or (kind in (Type.INTEGER, Type.DECIMAL) and part_exactness(self.columns, part, "duckdb", zone) == "always")
        )

    @cached_property
    def table(self) -> sa.TableClause:
        """The records as DuckDB holds them."""
        return self.table_named("records")

    def table_named(self, name: str) -> sa.TableClause:
        schema = self.relation.schema
        return sa.table(name, *(sa.column(name, column_type(schema[name].type)) for name in self.needed))


_OUTSIDE, _OUTSIDE_UNKNOWN, _EXCLUDED, _EXCLUDED_UNKNOWN, _FIRST_PART = 1, 2, 3, 4, 5


def _compiled(
    fitted: _Fitted, table: sa.FromClause, dialect: str, slot: dt.datetime, ascii_only: tuple[str, ...] = ()
) -> Repeats:
    """The rule as a question in one dialect; with `ascii_only`, about the records whose columns there are ASCII."""
    rule, relation = fitted.rule, fitted.relation
    compiler = Compiler(fitted.columns, table, dialect, slot, relation.timezone)
    computed: dict[str, sa.ColumnElement[Any]] = {}
    for n, part in enumerate(fitted.parts):
        if part.column not in fitted.needed:
            computed[f"given_{n}"] = compiler.column(part.column)
        computed[f"key_{n}"] = compiler.key(part)
    for name, text in (("in_dataset", relation.where), ("in_rule", rule.where)):
        if text is not None:
            computed[name] = compiler.condition(fitted.bound(text))
    if rule.span:
        computed["place"] = compiler.place(rule.span.column)
    if rule.distinct and fitted.columns.schema[rule.distinct].type not in (Type.BOOLEAN, Type.BYTES):
        computed["differing"] = compiler.whole(rule.distinct)
    names = unused(computed, fitted.needed)
    read = sa.select(
        *(table.c[name] for name in fitted.needed), *(one.label(names[name]) for name, one in computed.items())
    )
    if ascii_only:
        read = read.where(compiler.ascii_only(ascii_only))
    keyed, c = _keyed(fitted, compiler, read.subquery("computed"), names)
    return Repeats(
        keyed=keyed,
        columns=fitted.needed,
        key=tuple(c[f"key_{n}"] for n in range(len(fitted.parts))),
        takes_part=_takes_part(fitted, c),
        state=_state(fitted, c),
        minimum=rule.minimum,
        identity=tuple(keyed.c[name] for name in relation.id),
        ids=_ids(fitted, compiler) if relation.id else None,
        outside=(_OUTSIDE, _OUTSIDE_UNKNOWN) if relation.where is not None else (),
        near=Near(c["place"], compiler.within(rule.span.column, rule.span.by)) if rule.span else None,
        differ=c.get("differing"),
        plain=fitted.plain,
        over=lambda narrowed: _compiled(fitted, narrowed, dialect, slot, ascii_only),
        python=compiler.python,
    )


def _keyed(
    fitted: _Fitted, compiler: Compiler, computed: sa.Subquery, names: Mapping[str, str]
) -> tuple[sa.Subquery, dict[str, sa.ColumnElement[Any]]]:
    """The records with keys made ready to compare: a second step, so that no SQL is written twice."""
    columns: list[sa.ColumnElement[Any]] = [computed.c[name] for name in fitted.needed]
    for name, label in names.items():
        column: sa.ColumnElement[Any] = computed.c[label]
        if name.startswith("key_"):
            part = fitted.parts[int(name.removeprefix("key_"))]
            column = compiler.comparable(part, column, blank_is_null=fitted.rule.key != "all")
        columns.append(column.label(label))
    keyed = sa.select(*columns).subquery("keyed")
    c: dict[str, sa.ColumnElement[Any]] = {name: keyed.c[label] for name, label in names.items()}
    for n, part in enumerate(fitted.parts):
        c.setdefault(f"given_{n}", keyed.c.get(part.column, c[f"key_{n}"]))
    return keyed, c


def _ids(fitted: _Fitted, compiler: Compiler) -> sa.Select[Any]:
    """The id of every record of the dataset."""
    ids = sa.select(*(compiler.whole(name).label(f"id_{n}") for n, name in enumerate(fitted.relation.id)))
    where = fitted.relation.where
    return ids if where is None else ids.where(compiler.condition(fitted.bound(where)))


def _takes_part(fitted: _Fitted, c: Mapping[str, sa.ColumnElement[Any]]) -> sa.ColumnElement[bool]:
    required = [c[name] for name in ("in_dataset", "in_rule") if name in c]
    for n, part in enumerate(fitted.parts):
        if not fitted.matches_null(part):
            required.append(c[f"key_{n}"].is_not(None))
    if "place" in c:
        required.append(c["place"].is_not(None))
    return sa.and_(sa.true(), *required)


def _state(fitted: _Fitted, c: Mapping[str, sa.ColumnElement[Any]]) -> sa.ColumnElement[int]:
    """0, or the first reason that a record takes no part: each record counts once."""
    whens: list[tuple[sa.ColumnElement[bool], int]] = []
    for name, unknown, outside in (
        ("in_dataset", _OUTSIDE_UNKNOWN, _OUTSIDE),
        ("in_rule", _EXCLUDED_UNKNOWN, _EXCLUDED),
    ):
        if name in c:
            whens += [(c[name].is_(None), unknown), (sa.not_(c[name]), outside)]
    for n, part in enumerate(fitted.parts):
        if not fitted.matches_null(part):
            whens.append((c[f"given_{n}"].is_(None), _FIRST_PART + 2 * n))
            whens.append((c[f"key_{n}"].is_(None), _FIRST_PART + 2 * n + 1))
    if "place" in c:
        whens.append((c["place"].is_(None), _FIRST_PART + 2 * len(fitted.parts)))
    if not whens:
        return sa.literal_column("0", sa.Integer)
    return sa.case(*((when, sa.literal_column(str(n), sa.Integer)) for when, n in whens), else_=sa.literal_column("0"))


def _skipped(fitted: _Fitted, tally: Tally) -> tuple[Skipped, ...]:
    reasons = {
        _OUTSIDE_UNKNOWN: ("where", "the dataset's condition is unknown: a value in it is null"),
        _EXCLUDED_UNKNOWN: ("where", "the condition is unknown: a value in it is null"),
        _FIRST_PART + 2 * len(fitted.parts): (fitted.span_column or "", "null"),
    }
    for n, part in enumerate(fitted.parts):
        reasons[_FIRST_PART + 2 * n] = (part.column, "null")
        reasons[_FIRST_PART + 2 * n + 1] = (part.column, "empty after normalising")
    counted: dict[tuple[str, str, bool], int] = {}
    for state in sorted(tally.states):
        if state in reasons and tally.states[state]:
            where = (*reasons[state], state not in (_OUTSIDE_UNKNOWN, _EXCLUDED_UNKNOWN))
            counted[where] = counted.get(where, 0) + tally.states[state]
    return tuple(Skipped(column, why, records, scanned) for (column, why, scanned), records in counted.items())


# How rows become groups.


@dataclass(frozen=True)
class _Grouping:
    """Exact groups from the records an engine brought back."""

    fitted: _Fitted
    slot: dt.datetime

    def groups(self, members: pa.Table, instead_of: pa.Table | None = None) -> tuple[Group, ...]:
        """Groups of the members; of the records in `instead_of` only those whose key no member has."""
        keyed = list(self._keyed(members))
        if instead_of is not None:
            known = {canonical_json(key) for key, _ in keyed}
            keyed += [one for one in self._keyed(instead_of) if canonical_json(one[0]) not in known]
        records = grouping.identified(keyed, self.fitted.relation, self.fitted.content)
        found = (self._group(one) for alike in grouping.by_key(records) for one in self._apart(alike))
        return grouping.in_order(group for group in found if group is not None)

    def _keyed(self, members: pa.Table) -> Iterator[grouping.Keyed]:
        parts = self.fitted.parts
        functions = [chain_function(part.steps, self.fitted.relation.timezone) for part in parts]
        blank = self.fitted.rule.key != "all"
        for row in grouping.rows(members):
            whole = self.fitted.columns.complete(row, self.slot)
            key = tuple(f(whole[p.column]) for f, p in zip(functions, parts, strict=True))
            key = tuple(map(_filled, key)) if blank else key
            if all(v is not None or self.fitted.matches_null(p) for v, p in zip(key, parts, strict=True)):
                yield key, whole

    def _apart(self, alike: list[grouping.Record]) -> list[list[grouping.Record]]:
        rule = self.fitted.rule
        if rule.gap:
            return grouping.chains(alike, rule.gap.column, rule.gap.by)
        if rule.window:
            return grouping.windows(alike, rule.window.column, rule.window.by)
        return [alike]

    def _group(self, records: list[grouping.Record]) -> Group | None:
        rule, relation = self.fitted.rule, self.fitted.relation
        excepted = frozenset(frozenset(pair) for pair in rule.except_)
        records = grouping.without_excepted(sorted(records, key=lambda one: one.place), excepted)
        if len(records) < rule.minimum or not self._wanted(records):
            return None
        keeper, *surplus = survivorship.in_order(records, rule.keep, self.fitted.considered)
        at = (
            sorted((r.values[self.fitted.span_column] for r in records), key=order_key)
            if self.fitted.span_column
            else []
        )
        return Group(
            key=dict(zip(self.fitted.key_names, records[0].key, strict=True)),
            keeper=grouping.member(keeper, self.fitted.shown),
            surplus=tuple(grouping.member(one, self.fitted.shown) for one in surplus),
            money=grouping.money_at_risk(surplus, relation),
            span=(at[0], at[-1]) if at else None,
        )

    def _wanted(self, records: list[grouping.Record]) -> bool:
        rule = self.fitted.rule
        if rule.distinct and grouping.different(records, rule.distinct) < 2:
            return False
        return self.fitted.having is None or self.fitted.having.evaluate([r.values for r in records], self.slot) is True


def _filled(value: Value) -> Value:
    """Nothing for a blank text: it names nothing, so two of them are no duplicates."""
    return None if isinstance(value, str) and not value.strip() else value


# What callers use.


def check(rule: DuplicatesRule, relation: Relation) -> list[str]:
    """What keeps the rule from running on this dataset, one sentence each; empty when nothing does."""
    try:
        columns = Columns.of(relation.schema, relation.derived, relation.timezone)
    except RuleError as error:
        return [f"A derived column of dataset `{relation.dataset}` cannot be computed: {error}"]
    return list(dict.fromkeys(_misfits(_Fitted(rule, relation, columns))))


def needed_columns(rule: DuplicatesRule, relation: Relation) -> tuple[str, ...]:
    """The dataset's columns to read, in its order: for a dataset without id, all of them. Raises as `detect`."""
    return _fitted(rule, relation).needed


def pushdown_obstacle(rule: DuplicatesRule, relation: Relation, dialect: str) -> str | None:
    """Why a database cannot answer exactly as we do, as a clause; None when it can, under the guard or without.

    Raises as `detect`.
    """
    return _fitted(rule, relation).uses.obstacle(dialect)


def guarded(rule: DuplicatesRule, relation: Relation, dialect: str) -> bool:
    """Whether pushing down needs the ASCII guard: records with other characters are read and compared here."""
    return bool(_fitted(rule, relation).uses.guard(dialect))


def explain(rule: DuplicatesRule, relation: Relation, records: Records | str, slot: dt.datetime) -> list[str]:
    """The statements a detection would run, each under a comment with its name; `records` may be just a dialect.

    Raises as `detect`.
    """
    fitted = _fitted(rule, relation)
    dialect = records if isinstance(records, str) else records.dialect if isinstance(records, Pushed) else "duckdb"
    if dialect == "duckdb":
        return list(embedded.statements(_compiled(fitted, fitted.table, dialect, slot), fitted.table))
    _refuse_obstacle(fitted, dialect)
    table = records.table if isinstance(records, Pushed) else fitted.table_named(relation.dataset)
    everything = _compiled(fitted, table, dialect, slot)
    guard = fitted.uses.guard(dialect)
    if not guard:
        return list(pushdown.statements(everything, dialect))
    return list(_guard(fitted, table, dialect, slot, guard).statements(dialect))


def detect(
    rule: DuplicatesRule,
    relation: Relation,
    records: Records,
    slot: dt.datetime,
    memory: str | None = None,
    temp: Path | None = None,
) -> Detection:
    """The rule's groups, the same on every engine: in DuckDB, or inside the database for `Pushed` records.

    `memory` bounds DuckDB (`2GB` when None); `temp` is where it may spill. Raises RuleError when the rule does not
    fit the relation, or for pushed records when there is an obstacle; OutOfMemory when nothing fits.
    """
    fitted = _fitted(rule, relation)
    grouping_ = _Grouping(fitted, slot)
    if isinstance(records, Pushed):
        answer = _ask_source(fitted, records, slot, memory, temp)
    else:
        with Embedded(fitted.table, records, memory, temp) as engine:
            question = _compiled(fitted, engine.table, engine.dialect, slot)
            answer = _Answer(
                engine.name,
                engine.tally(question),
                engine.members(question),
                None,
                embedded.statements(question, engine.table),
            )
    states = answer.tally.states
    read = sum(states.values())
    left_out = (_OUTSIDE, _OUTSIDE_UNKNOWN, _EXCLUDED, _EXCLUDED_UNKNOWN)
    return Detection(
        rule=rule.name,
        engine=answer.engine,
        read=read,
        scanned=read - sum(states.get(state, 0) for state in left_out),
        skipped=_skipped(fitted, answer.tally),
        groups=grouping_.groups(answer.members, answer.instead_of),
        identity=answer.tally.identity,
        statements=answer.statements,
    )


@dataclass(frozen=True)
class _Answer:
    """What an engine brought back; a key in `members` takes the place of the same key in `instead_of`."""

    engine: str
    tally: Tally
    members: pa.Table
    instead_of: pa.Table | None
    statements: tuple[str, ...]


def _ask_source(fitted: _Fitted, records: Pushed, slot: dt.datetime, memory: str | None, temp: Path | None) -> _Answer:
    _refuse_obstacle(fitted, records.dialect)
    source = pushdown.Pushdown(records)
    everything = _compiled(fitted, source.table, source.dialect, slot)
    guard = fitted.uses.guard(source.dialect)
    if not guard:
        members = source.members(everything)
        return _Answer(
            source.name, source.tally(everything), members, None, pushdown.statements(everything, source.dialect)
        )
    asked = _guard(fitted, source.table, source.dialect, slot, guard)
    with Embedded(fitted.table, Streamed(lambda _: source.stream(asked.others())), memory, temp) as here:
        tally, ascii_members, members = pushdown.guarded(source, here, asked)
    return _Answer(source.name, tally, members, ascii_members, asked.statements(source.dialect))


def _refuse_obstacle(fitted: _Fitted, dialect: str) -> None:
    obstacle = fitted.uses.obstacle(dialect)
    if obstacle is not None:
        raise RuleError(
            f"Rule `{fitted.rule.name}` cannot run inside the database: {obstacle}. "
            "Without `engine: pushdown` it runs here."
        )


def _guard(
    fitted: _Fitted, table: sa.FromClause, dialect: str, slot: dt.datetime, columns: tuple[str, ...]
) -> pushdown.Guard:
    compiler = Compiler(fitted.columns, table, dialect, slot, fitted.relation.timezone)
    return pushdown.Guard(
        ascii=compiler.ascii_only(columns),
        columns=tuple(table.c[name] for name in fitted.needed),
        source=_compiled(fitted, table, dialect, slot, columns),
        everything=_compiled(fitted, table, dialect, slot),
        here=lambda local: _compiled(fitted, local, "duckdb", slot),
        lookups=fitted.lookups,
    )


def _fitted(rule: DuplicatesRule, relation: Relation) -> _Fitted:
    if problems := check(rule, relation):
        raise RuleError(f"Rule `{rule.name}`: {' '.join(problems)}")
    return _Fitted(rule, relation, Columns.of(relation.schema, relation.derived, relation.timezone))


def _misfits(fitted: _Fitted) -> Iterator[str]:
    rule, relation, schema = fitted.rule, fitted.relation, fitted.columns.schema
    yield from fitting.missing(schema, relation, _named(rule, relation))
    if rule.key != "all":
        for part in rule.key:
            yield from fitting.key_part(schema, part)
    if rule.span:
        yield from fitting.span(schema, "gap" if rule.gap else "window", rule.span.column, rule.span.by)
    yield from fitting.money(schema, relation)
    tests: tuple[tuple[str, Callable[[], object]], ...] = (
        ("The dataset's where", lambda: relation.where and fitted.bound(relation.where)),
        ("where", lambda: rule.where and fitted.bound(rule.where)),
        ("having", lambda: fitted.having),
        ("keep", lambda: survivorship.check_keep([k for k in rule.keep if k.column in schema], schema)),
    )
    for setting, test in tests:
        try:
            test()
        except RuleError as error:
            yield f"{setting}: {error}"
    wrong = [one for pair in rule.except_ for one in pair if len(one) != len(relation.id)]
    if rule.except_ and not relation.id:
        yield f"`except` names records by their id, but dataset `{relation.dataset}` has none; give it an `id`."
    elif wrong:
        yield f"`except` has an id of {len(wrong[0])} parts, but the id of `{relation.dataset}` has {len(relation.id)}."


def _named(rule: DuplicatesRule, relation: Relation) -> Iterator[tuple[str, str]]:
    yield from (("id", name) for name in relation.id)
    if rule.key != "all":
        yield from (("key", part.column) for part in rule.key)
    if rule.span:
        yield ("gap" if rule.gap else "window"), rule.span.column
    if rule.distinct:
        yield "distinct", rule.distinct
    yield from (("keep", line.column) for line in rule.keep if line.column)
    if relation.money:
        yield "money", relation.money.amount
        if relation.money.currency_column:
            yield "money", relation.money.currency_column
