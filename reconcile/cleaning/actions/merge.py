"""`merge`: the keeper takes the best value of each named field, and the surplus is marked or deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from connectors.target import Cell, Change
from reconcile.cleaning.actions import values
from reconcile.cleaning.actions.base import ActionPlan, ActionTable, CurrentRecord, Effect, GroupMembers
from reconcile.cleaning.actions.values import Values
from rules.cleaning import Clean, Verb
from rules.document.mistakes import listed
from rules.groups.survivorship import KEEP, STRATEGY_SCHEMA, Chosen, Strategy, check_fields, choose, parse_strategy
from rules.models import Strict
from rules.values import Type


class SurplusValues(Strict):
    """`surplus: {set: {status: merged}}`: values written into records that were merged into the keeper."""

    set: Values = Field(description="Columns of the surplus and their new values.")


def _surplus(value: Any) -> Any:
    if value == "delete" or isinstance(value, (Mapping, SurplusValues)):
        return value
    raise ValueError("is `delete`, or {set: {column: value}}")


def _linked(value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(group, (list, tuple)) and len(group) > 1 for group in value
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

    verb: ClassVar[Verb] = Verb("merge", "merged", "into the keeper")

    action: Literal["merge"]
    fields: dict[str, Ways] = Field(
        default_factory=dict, description="Where the value of each field comes from; other fields keep the keeper's."
    )
    linked: Annotated[tuple[tuple[str, ...], ...], BeforeValidator(_linked), WithJsonSchema(_LINKED_SCHEMA)] = Field(
        default=(), description="Fields that come from one record together, like street, city and postcode."
    )
    surplus: Annotated[
        SurplusValues | Literal["delete"], BeforeValidator(_surplus), WithJsonSchema(_SURPLUS_SCHEMA)
    ] = Field(description="How to clean the other records: delete, or {set: …}.")

    @model_validator(mode="after")
    def _linked_once(self) -> MergeSettings:
        names = [column for group in self.linked for column in group]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"`linked` names {listed(twice)} twice; a field comes from one record")
        return self

    @property
    def in_words(self) -> str:
        marks = f"sets {listed(self.surplus.set)} of" if isinstance(self.surplus, SurplusValues) else "deletes"
        takes = f"copies better values of {listed(self.touched)} to the keeper, then " if self.touched else ""
        return f"{takes}{marks} the surplus records"

    @property
    def touched(self) -> tuple[str, ...]:
        """The fields that may change, each once."""
        return tuple(dict.fromkeys((*self.fields, *(column for group in self.linked for column in group))))

    @property
    def choosable(self) -> tuple[tuple[str, ...], ...]:
        linked = {column for group in self.linked for column in group}
        return (*self.linked, *((column,) for column in self.fields if column not in linked))

    @property
    def reads(self) -> frozenset[str]:
        """The columns whose values decide the written values."""
        by = {way.column for way in self.fields.values() if way.column is not None}
        kept = {name for name, way in self.fields.items() if way == KEEP}
        linked = {column for group in self.linked for column in group}
        marks = values.columns_of(self.surplus.set) if isinstance(self.surplus, SurplusValues) else ()
        return frozenset((*({*self.touched} - (kept - linked)), *by, *marks))


class Merge:
    """The keeper takes in what the surplus knows better; references follow it."""

    name: ClassVar[str] = "merge"
    Settings: ClassVar[type[Clean]] = MergeSettings

    def check(self, settings: MergeSettings, place: ActionTable) -> list[str]:
        wrong = list(values.unwritable(settings.touched, place, "fields"))
        wrong += [
            f"`fields` names `{name}`, whose type rules cannot compare; leave it to the keeper"
            for name in settings.touched
            if name not in place.schema and place.column(name)
        ]
        if not wrong:
            wrong += check_fields(settings.fields, settings.linked, place.schema, _texts(place))
        if settings.surplus == "delete" and place.table.undeletable:
            wrong.append(place.table.undeletable)
        if isinstance(settings.surplus, SurplusValues):
            wrong += values.mistakes(settings.surplus.set, place, "surplus")
            if settings.references == "capture":
                wrong.append(
                    "`references: capture` deletes rows with the surplus, but the surplus stays here; write "
                    "`references: repoint`"
                )
        return wrong

    def changes(self, group: GroupMembers, settings: MergeSettings, place: ActionTable) -> ActionPlan:
        assert group.keeper is not None  # noqa: S101 - merge needs one
        records = (group.keeper, *group.surplus)
        positions = {record.name: position for position, record in enumerate(records)}
        given = {column: positions[name] for column, name in group.given.items()}
        choices = choose(records, settings.fields, settings.linked, given)
        new_cells = {column: cell for choice in choices for column, cell in _news(records, choice)}
        sources = {n for choice in choices if set(choice.columns) & new_cells.keys() for n in choice.origins}
        changes = []
        if new_cells:
            row = group.keeper.row
            changes.append(Change(row.name, row.cells, dict(sorted(new_cells.items())), "keeper"))
        effects = []
        for n, record in enumerate(group.surplus, start=1):
            change, payload = _becomes(record, group.keeper, settings, place)
            idle = change is None and n not in sources
            guard = Change(record.row.name, record.row.cells, {}, "surplus")  # the record must stay unchanged
            changes += [] if idle else [change or guard]
            effects.append(Effect(record.name, self.name, [group.keeper.name, payload], idle=idle))
        return ActionPlan(
            changes=tuple(changes),
            effects=tuple(effects),
            leaving=frozenset(record.name for record in group.surplus),
            origins={
                c: "\n".join(records[n].name for n in choice.origins)
                for choice in choices
                for c in choice.columns
                if choice.origins
            },
            reads=settings.reads | group.given.keys(),
        )


def _news(records: Sequence[CurrentRecord], chosen: Chosen) -> Iterator[tuple[str, Cell]]:
    """Yield the keeper's cells that a choice changes."""
    if chosen.united is not None:
        yield chosen.columns[0], ("t", chosen.united)
    elif chosen.origins and chosen.origins != (0,):
        keeper, best = records[0].row, records[chosen.origins[0]].row
        for column in chosen.columns:
            if best.cells[column] != keeper.cells[column]:
                yield column, best.cells[column]


def _becomes(
    record: CurrentRecord, keeper: CurrentRecord, settings: MergeSettings, place: ActionTable
) -> tuple[Change | None, list[Any]]:
    """Return the change of a merged record, and its part of the fingerprint."""
    if settings.surplus == "delete":
        return Change(record.row.name, record.row.cells, None, "surplus"), ["delete"]
    new_values = values.cells(settings.surplus.set, record, keeper, place)
    news = values.news(new_values, record)
    change = Change(record.row.name, record.row.cells, news, "surplus") if news else None
    return change, ["set", sorted(new_values.items())]


def _texts(place: ActionTable) -> frozenset[str]:
    """Return columns that are text to rules and the database; the text form of arrays and JSON is not their value."""
    plain = (
        column.name
        for column in place.table.columns
        if not column.type.lower().endswith("]") and "json" not in column.type.lower()
    )
    return frozenset(name for name in plain if name in place.schema and place.schema[name].type is Type.TEXT)
