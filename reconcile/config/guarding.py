"""Settings of the namespaces in which programs claim keys."""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from reconcile.config.values import parse_kept
from rules.document.mistakes import short
from rules.models import Duration, Strict, parse_duration

SHORTEST, LONGEST = dt.timedelta(seconds=1), dt.timedelta(days=1)
"""A lease is that long."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


def _lease(value: dt.timedelta) -> dt.timedelta:
    if not SHORTEST <= value <= LONGEST:
        raise ValueError("is not between 1s and 1d")
    return value


def _namespace(value: Any) -> Any:
    if not _NAME.fullmatch(str(value)):
        raise ValueError(f"`{short(str(value))}` is not a name; write up to 63 small letters, digits, `.`, `_` or `-`")
    return value


NamespaceName = Annotated[
    str, BeforeValidator(_namespace), WithJsonSchema({"type": "string", "pattern": f"^{_NAME.pattern}$"})
]


class Namespace(Strict):
    """How keys of a namespace are claimed and kept."""

    lease: Annotated[Duration, AfterValidator(_lease)] = Field(
        default=parse_duration("5m"),
        json_schema_extra={"default": "5m"},
        description="How long a claim lasts unless it is renewed; then another one may take the key.",
    )
    keep: Annotated[Duration, AfterValidator(parse_kept)] = Field(
        default=parse_duration("400d"),
        json_schema_extra={"default": "400d"},
        description="How long a key and its result are kept after the last change.",
    )
