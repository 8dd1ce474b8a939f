"""What to use instead of functions and normalisers that people know from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rules.document.mistakes import suggestion

_DUE = "use slot(), the run's due time"
_PARTS = "use prefix(x, n), suffix(x, n) or split_part(x, '/', n)"
_FIRST = "use coalesce(x, 'none')"
_SOUND = "texts that sound alike are not compared; normalise the key, like [unaccent, letters, lower]"
_CUT = "use `prefix` or `suffix`, or `regex`"

FUNCTION_HINTS: Mapping[str, str] = {
    **dict.fromkeys(("now", "today", "current_date", "current_timestamp", "getdate", "sysdate"), _DUE),
    **dict.fromkeys(("substr", "substring", "mid", "left", "right"), _PARTS),
    **dict.fromkeys(("ifnull", "nvl"), _FIRST),
    **dict.fromkeys(("soundex", "metaphone"), _SOUND),
    **dict.fromkeys(("len", "char_length", "character_length"), "use length(x)"),
    "isnull": "write x is null, or coalesce(x, 'none')",
    "lcase": "use lower(x)",
    "ucase": "use upper(x)",
    "dayofweek": "use weekday(x): 1 is Monday, 7 Sunday",
    "count": "`having` counts records with `records`, and values with count_distinct(x)",
    "avg": "write sum(x) / records in `having`",
}
_NORMALISER_HINTS: Mapping[str, str] = {
    **dict.fromkeys(("substr", "substring", "left", "right"), _CUT),
    **dict.fromkeys(
        ("soundex", "metaphone"), "texts that sound alike are not compared; use [unaccent, letters, lower]"
    ),
    **dict.fromkeys(("lcase", "upper", "ucase"), "use `lower` or `casefold`"),
    **dict.fromkeys(("replace", "split_part"), "use `map` for whole values, or `regex`"),
}


def function_advice(name: str, functions: Iterable[str], normalisers: Iterable[str]) -> str:
    """Return what to use instead of an unknown function."""
    if name in FUNCTION_HINTS:
        return FUNCTION_HINTS[name]
    if name in normalisers:
        return f"`{name}` is a normaliser, which a `key` uses"
    return suggestion(name, functions)


def normaliser_advice(name: str, normalisers: Iterable[str]) -> str:
    """Return what to use instead of an unknown normaliser."""
    return _NORMALISER_HINTS.get(name) or suggestion(name, normalisers)
