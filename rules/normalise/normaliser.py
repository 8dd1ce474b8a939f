"""What a normaliser is: its meaning in Python, the types it takes, and how far its SQL says the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rules.errors import RuleError
from rules.values import Type, Value

if TYPE_CHECKING:  # see built_in
    import sqlalchemy as sa

Exactness = Literal["always", "ascii", "never"]
_ORDER: tuple[Exactness, ...] = ("always", "ascii", "never")

Python = Callable[[Any, Any, str], Value]
Sql = Callable[["sa.ColumnElement[Any]", Any, str], "sa.ColumnElement[Any]"]


def weakest(*claims: Exactness) -> Exactness:
    """The weakest of some claims; `always` when there is none."""
    return max(claims, key=_ORDER.index, default="always")


def no_argument(argument: Any) -> None:
    """For a normaliser that takes none."""
    if argument is not None:
        raise ValueError("takes no argument")


def everywhere(argument: Any, kind: Type, timezone: str) -> bool:  # noqa: ARG001
    """No argument, type or time zone takes the SQL form away."""
    return True


@dataclass(frozen=True)
class Normaliser:
    """One normaliser.

    `python(value, argument, timezone)` is the reference meaning, for a value that is not empty: a text it returns that
    is empty or white space becomes null, None means it could not be parsed. `types` maps each type it takes to the type
    it gives. `check(argument)` raises ValueError with the end of a sentence that begins with the normaliser's name.

    `sql` is the same on the dialects in `exactness`: for every value (`always`) or while the text is ASCII
    (`ascii`); a dialect that is not there is `never`. It maps an empty text and white space to such a text; `fills`
    says that it may not, and so is given null instead of them. `pushes(argument, type, timezone)` takes the SQL form
    away where an argument or a type makes it differ; `stays_ascii(argument)` says that ASCII in gives ASCII out, so
    that a later step may rely on it. `version` rises with a release that writes some value in another way: findings of
    rules that use it are then followed by their records.
    """

    name: str
    python: Python
    types: Mapping[Type, Type]
    check: Callable[[Any], None] = no_argument
    sql: Sql | None = None
    exactness: Mapping[str, Exactness] = field(default_factory=dict)
    pushes: Callable[[Any, Type, str], bool] = everywhere
    stays_ascii: Callable[[Any], bool] = lambda _: True
    version: int = 1
    fills: bool = False

    def exact_on(self, dialect: str, argument: Any, kind: Type, timezone: str) -> Exactness:
        """How far the SQL form on that dialect is the Python one."""
        if self.sql is None or not self.pushes(argument, kind, timezone):
            return "never"
        return self.exactness.get("mysql" if dialect == "mariadb" else dialect, "never")


def built_in(name: str) -> Sql:
    """The SQL form of that name in rules.normalise.sql, loaded when a rule is compiled: to read one takes no SQL."""

    def sql(column: sa.ColumnElement[Any], argument: Any, timezone: str) -> sa.ColumnElement[Any]:
        from rules.normalise.sql import FORMS  # noqa: PLC0415 - brings SQLAlchemy

        return FORMS[name](column, argument, timezone)

    return sql


NORMALISERS: dict[str, Normaliser] = {}


def register(one: Normaliser) -> None:
    """Add a normaliser; raises RuleError when the name is taken, for a rule's meaning must not hang on load order."""
    if one.name in NORMALISERS and NORMALISERS[one.name] is not one:
        raise RuleError(f"There is already a normaliser `{one.name}`; give yours another name.")
    NORMALISERS[one.name] = one
