"""The definition of a normaliser: its function in Python, the types it takes, and how far its SQL is exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rules.document.mistakes import RuleError
from rules.values import Type, Value

if TYPE_CHECKING:  # see built_in
    import sqlalchemy as sa

Exactness = Literal["always", "ascii", "never"]
_ORDER: tuple[Exactness, ...] = ("always", "ascii", "never")

Python = Callable[[Any, Any, str], Value]
Sql = Callable[["sa.ColumnElement[Any]", Any, str], "sa.ColumnElement[Any]"]


def weakest(*claims: Exactness) -> Exactness:
    """Return the weakest exactness; `always` when there is none."""
    return max(claims, key=_ORDER.index, default="always")


def no_argument(argument: Any) -> None:
    """Refuse any argument."""
    if argument is not None:
        raise ValueError("takes no argument")


def everywhere(argument: Any, kind: Type, timezone: str) -> bool:  # noqa: ARG001
    """Allow the SQL form for every argument, type and time zone."""
    return True


@dataclass(frozen=True)
class Normaliser:
    """One normaliser.

    `python(value, argument, timezone)` is the reference, for a value that is not empty: an empty or white-space text it
    returns becomes null, None means the value could not be parsed. `types` maps each type it takes to the type it
    returns; `types_of(argument)` gives others for an argument that has its own. `check(argument)` raises ValueError
    with the end of a sentence that begins with the normaliser's name.

    `sql` is the same on the dialects in `exactness`: for every value (`always`) or while the text is ASCII
    (`ascii`); a missing dialect is `never`. It must map an empty text and white space to such a text; with `fills` it
    need not, and receives null instead of them. `pushes(argument, type, timezone)` is False where an argument or a
    type makes the SQL form differ; `stays_ascii(argument)` is True if ASCII input gives ASCII output, on which a later
    step may rely. `version` rises with a release that changes some result: findings of rules that use it are then
    followed by their records. `words` say for people how a value is compared after it, like "in lower case"; `{}` is
    the argument. `words_of(argument)` gives others for an argument that has its own.
    """

    name: str
    python: Python
    types: Mapping[Type, Type]
    check: Callable[[Any], None] = no_argument
    sql: Sql | None = None
    exactness: Mapping[str, Exactness] = field(default_factory=dict)
    pushes: Callable[[Any, Type, str], bool] = everywhere
    types_of: Callable[[Any], Mapping[Type, Type] | None] = lambda _: None
    stays_ascii: Callable[[Any], bool] = lambda _: True
    version: int = 1
    fills: bool = False
    words: str = ""
    words_of: Callable[[Any], str | None] = lambda _: None

    def takes(self, argument: Any) -> Mapping[Type, Type]:
        """Return the types of values that it takes with that argument, each with the type of the result."""
        types = self.types_of(argument)
        return self.types if types is None else types

    def exact_on(self, dialect: str, argument: Any, kind: Type, timezone: str) -> Exactness:
        """Return how far the SQL form on that dialect equals the Python one."""
        if self.sql is None or not self.pushes(argument, kind, timezone):
            return "never"
        return self.exactness.get("mysql" if dialect == "mariadb" else dialect, "never")


def built_in(name: str) -> Sql:
    """Return the SQL form of that name in rules.normalise.sql, imported only when a rule is compiled."""

    def sql(column: sa.ColumnElement[Any], argument: Any, timezone: str) -> sa.ColumnElement[Any]:
        from rules.normalise.sql import FORMS  # noqa: PLC0415 - imports SQLAlchemy

        return FORMS[name](column, argument, timezone)

    return sql


NORMALISERS: dict[str, Normaliser] = {}


def register(normaliser: Normaliser) -> None:
    """Add a normaliser; raises RuleError when the name exists: a rule's meaning must not depend on load order."""
    if normaliser.name in NORMALISERS and NORMALISERS[normaliser.name] is not normaliser:
        raise RuleError(f"Normaliser `{normaliser.name}` already exists; give yours another name.")
    NORMALISERS[normaliser.name] = normaliser
