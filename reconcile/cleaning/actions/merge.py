"""`merge`: the keeper takes the best value of each named field, and the surplus is marked or goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from connectors.target import Cell, Change
from reconcile.cleaning.actions import values
from reconcile.cleaning.actions.base import ActionPlan, Effect, Members, Place, Record
from reconcile.cleaning.actions.values import Values
from rules.cleaning import Clean
from rules.document.mistakes import listed
from rules.fields import KEEP, STRATEGY_SCHEMA, Chosen, Strategy, check_fields, choose, parse_strategy
from rules.models import Strict
from rules.values import Type


class Marked(Strict):
    """`surplus: {set: {status: merged}}`: what is written into records that were merged into the keeper."""

    set: Values = Field(description="Columns of the surplus and what they are set to.")


def _surplus(value: Any) -> Any:
    if value == "delete" or isinstance(value, (Mapping, Marked)):
        return value
    raise ValueError("is `delete`, or {set: {column: value}}")


def _linked(value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(one, (list, tuple)) and len(one) > 1 for one in value
    ):
        raise ValueError("is a list of lists of two or more columns, like [[street, city, postcode]]")
    return value


_SURPLUS_SCHEMA = {
    "anyOf": [
        {"const": "delete"},
        {
            "type": "object",
            "required": ["set"],
            "additionalProperties": False,
            "properties": {"set": {"type": "object", "minProperties": 1}},
        },
    ]
}
_LINKED_SCHEMA = {"type": "array", "items": {"type": "array", "items": {"type": "string"}, "minItems": 2}}
Ways = Annotated[Strategy, BeforeValidator(parse_strategy), WithJsonSchema(STRATEGY_SCHEMA)]


class MergeSettings(Clean):
    """`clean: {action: merge, fields: {phone: {last: updated_at}}, surplus: delete}`; see docs/cleaning.md."""

    action: Literal["merge"]
    fields: dict[str, Ways] = Field(
        default_factory=dict, description="How each field survives; what is not named stays the keeper's."
    )
    linked: Annotated[tuple[tuple[str, ...], ...], BeforeValidator(_linked), WithJsonSchema(_LINKED_SCHEMA)] = Field(
        default=(), description="Fields that come from one record together, like street, city and postcode."
    )
    surplus: Annotated[Marked | Literal["delete"], BeforeValidator(_surplus), WithJsonSchema(_SURPLUS_SCHEMA)] = Field(
        description="What becomes of the other records: delete, or {set: …}."
    )

    @model_validator(mode="after")
    def _linked_once(self) -> MergeSettings:
        named = [column for group in self.linked for column in group]
        twice = sorted({one for one in named if named.count(one) > 1})
        if twice:
            raise ValueError(f"`linked` names {listed(twice)} twice; a field comes from one record")
        return self

    @property
    def touched(self) -> tuple[str, ...]:
        """The fields that may change, each once."""
        return tuple(dict.fromkeys((*self.fields, *(column for group in self.linked for column in group))))

    @property
    def reads(self) -> frozenset[str]:
        """The columns whose values decide what is written."""
        by = {way.column for way in self.fields.values() if way.column is not None}
        kept = {name for name, way in self.fields.items() if way == KEEP}
        linked = {column for group in self.linked for column in group}
        marks = values.columns_of(self.surplus.set) if isinstance(self.surplus, Marked) else ()
        return frozenset((*({*self.touched} - (kept - linked)), *by, *marks))


class Merge:
    """The keeper takes in what the surplus knows better; references follow it."""

    name: ClassVar[str] = "merge"
    Settings: ClassVar[type[Clean]] = MergeSettings

    def check(self, settings: MergeSettings, place: Place) -> list[str]:
        wrong = list(values.unwritable(settings.touched, place, "fields"))
        wrong += [
            f"`fields` names `{name}`, whose type rules cannot compare; leave it to the keeper"
            for name in settings.touched
            if name not in place.schema and place.column(name)
        ]
        if not wrong:
            wrong += check_fields(settings.fields, settings.linked, place.schema, _texts(place))
        if isinstance(settings.surplus, Marked):
            wrong += values.mistakes(settings.surplus.set, place, "surplus")
            if settings.references == "capture":
                wrong.append(
                    "`references: capture` deletes rows with the surplus, which stays here; write `references: repoint`"
                )
        return wrong

    def changes(self, group: Members, settings: MergeSettings, place: Place) -> ActionPlan:
        records = (group.keeper, *group.surplus)
        choices = choose(records, settings.fields, settings.linked)
        taken = {column: cell for one in choices for column, cell in _news(records, one)}
        sources = {n for one in choices if set(one.columns) & taken.keys() for n in one.origins}
        changes = []
        if taken:
            changes.append(Change(group.keeper.row.name, group.keeper.row.cells, dict(sorted(taken.items())), "keeper"))
        effects = []
        for n, one in enumerate(group.surplus, start=1):
            change, payload = _becomes(one, group.keeper, settings, place)
            idle = change is None and n not in sources
            gives = Change(one.row.name, one.row.cells, {}, "surplus")  # nothing of it changes, and it has to stay so
            changes += [] if idle else [change or gives]
            effects.append(Effect(one.name, self.name, [group.keeper.name, payload], idle=idle))
        return ActionPlan(
            changes=tuple(changes),
            effects=tuple(effects),
            leaving=frozenset(one.name for one in group.surplus),
            origins={
                c: "\n".join(records[n].name for n in one.origins)
                for one in choices
                for c in one.columns
                if one.origins
            },
            reads=settings.reads,
        )


def _news(records: Sequence[Record], chosen: Chosen) -> Iterator[tuple[str, Cell]]:
    """The keeper's cells that a choice changes."""
    if chosen.united is not None:
        yield chosen.columns[0], ("t", chosen.united)
    elif chosen.origins and chosen.origins != (0,):
        keeper, best = records[0].row, records[chosen.origins[0]].row
        for column in chosen.columns:
            if best.cells[column] != keeper.cells[column]:
                yield column, best.cells[column]


def _becomes(one: Record, keeper: Record, settings: MergeSettings, place: Place) -> tuple[Change | None, list[Any]]:
    """What becomes of a merged record, and what of it is fingerprinted."""
    if settings.surplus == "delete":
        return Change(one.row.name, one.row.cells, None, "surplus"), ["delete"]
    wanted = values.cells(settings.surplus.set, one, keeper, place)
    news = values.news(wanted, one)
    change = Change(one.row.name, one.row.cells, news, "surplus") if news else None
    return change, ["set", sorted(wanted.items())]


def _texts(place: Place) -> frozenset[str]:
    """Columns that are text to rules and to the database: no arrays, no JSON, whose text form is not their value."""
    plain = (
        one.name for one in place.table.columns if not one.type.lower().endswith("]") and "json" not in one.type.lower()
    )
    return frozenset(name for name in plain if name in place.schema and place.schema[name].type is Type.TEXT)
