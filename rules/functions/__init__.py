"""SQL that means the same on every engine: a DuckDB dialect to compile with, and functions compiled per dialect.

Text is compared by code point everywhere: `exact` removes a database's collation, padding and case rules. Each
function's docstring is its meaning; the tests run it on DuckDB, PostgreSQL, MariaDB and SQLite.

Dialects are named `duckdb`, `postgresql`, `mysql` (MariaDB too), `sqlite`, `spark`, and as in `WAREHOUSES`.
"""

from rules.functions.dialects import DIALECTS, WAREHOUSES, dialect, render
from rules.functions.parts import ending, joined, not_blank, text_part
from rules.functions.text import (
    WHITE_SPACE,
    characters,
    digits_apart,
    exact,
    filled,
    find,
    is_ascii,
    plain,
    replaced,
    seen,
    sorted_words,
    squeezed,
    strip,
    trim_sp,
    trimmed,
    zeros_stripped,
)
from rules.functions.times import (
    calendar_field,
    in_calendar,
    micros_between,
    utc_day,
    utc_hour,
    utc_month,
    utc_quarter,
    utc_week,
)

__all__ = [
    "DIALECTS",
    "WAREHOUSES",
    "WHITE_SPACE",
    "calendar_field",
    "characters",
    "dialect",
    "digits_apart",
    "ending",
    "exact",
    "filled",
    "find",
    "in_calendar",
    "is_ascii",
    "joined",
    "micros_between",
    "not_blank",
    "plain",
    "render",
    "replaced",
    "seen",
    "sorted_words",
    "squeezed",
    "strip",
    "text_part",
    "trim_sp",
    "trimmed",
    "utc_day",
    "utc_hour",
    "utc_month",
    "utc_quarter",
    "utc_week",
    "zeros_stripped",
]
