"""What to write instead of functions, operators and words that people know from SQL and spreadsheets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rules.document.mistakes import suggestion

_DUE = "use slot(), the run's due time"
_PARTS = "use prefix(x, n), suffix(x, n) or split_part(x, '/', n)"
_FIRST = "use coalesce(x, 'none')"
_SOUND = "texts that sound alike are not compared; normalise the key, like [unaccent, letters, lower]"
_FIELDS = "use year(x), quarter(x), month(x) or weekday(x)"
_TYPE = "declare the column's type under columns:, or use number(x), date(x) or instant(x)"
_PATTERN = "use x like 'INV-%', or the normaliser `regex` in a key"
_IF = "write if(condition, a, b)"
_JSON = "write json(payload, 'customer.id')"
_APART = "compare the dates, like paid > due + 30d, or use business_days(due, paid)"
_LATER = "add a duration, like due + 30d"
_QUERY = "an expression is not a query; write SQL in the dataset's `query`"
_BEGIN = "use the normaliser `day`, `month` or `quarter` in a key"

FUNCTION_HINTS: Mapping[str, str] = {
    **dict.fromkeys(("now", "today", "current_date", "current_timestamp", "current_time", "getdate", "sysdate"), _DUE),
    **dict.fromkeys(("localtime", "localtimestamp", "utc_timestamp", "curdate"), _DUE),
    **dict.fromkeys(("substr", "substring", "mid", "left", "right"), _PARTS),
    **dict.fromkeys(("ifnull", "nvl"), _FIRST),
    **dict.fromkeys(("soundex", "metaphone", "dmetaphone"), _SOUND),
    **dict.fromkeys(("levenshtein", "similarity", "difference", "jaro_winkler", "jaro_winkler_similarity"), _SOUND),
    **dict.fromkeys(("len", "char_length", "character_length"), "use length(x)"),
    **dict.fromkeys(("to_char", "date_format", "strftime", "extract", "date_part", "datepart"), _FIELDS),
    **dict.fromkeys(("date_trunc", "trunc", "truncate"), _BEGIN),
    **dict.fromkeys(("to_date", "str_to_date", "to_timestamp", "to_number", "cast", "convert", "try_cast"), _TYPE),
    **dict.fromkeys(("datetime", "to_decimal", "decimal", "integer", "int", "val", "parse_date"), _TYPE),
    **dict.fromkeys(("regexp", "regexp_like", "regexp_replace", "regexp_matches", "rlike", "ilike"), _PATTERN),
    **dict.fromkeys(("case", "iif", "decode", "choose"), _IF),
    **dict.fromkeys(("json_extract", "json_value", "json_extract_string", "jsonb_extract_path_text"), _JSON),
    **dict.fromkeys(("datediff", "date_diff", "timestampdiff", "days_between", "age"), _APART),
    **dict.fromkeys(("networkdays", "workdays"), "use business_days(a, b)"),
    **dict.fromkeys(("dateadd", "date_add", "date_sub", "interval"), _LATER),
    **dict.fromkeys(("previous", "lag"), "the `where` of a rule of kind check can use previous(x)"),
    **dict.fromkeys(("select", "exists", "row_number", "lead", "rank", "over"), _QUERY),
    **dict.fromkeys(("least", "greatest"), "write if(a < b, a, b)"),
    **dict.fromkeys(("ceil", "ceiling", "floor"), "use round(x)"),
    **dict.fromkeys(("ltrim", "rtrim", "btrim"), "use trim(x)"),
    **dict.fromkeys(("lpad", "rpad"), "use the normaliser `strip_zeros` in a key"),
    **dict.fromkeys(("instr", "strpos", "position", "locate", "charindex", "contains"), "write x like '%INV%'"),
    **dict.fromkeys(("starts_with", "startswith"), "write x like 'INV%'"),
    "isnull": "write x is null, or coalesce(x, 'none')",
    "nullif": "list such values in the dataset's `null_values`",
    "date": "write '2026-01-31' without the word",
    "timestamp": "write '2026-01-31T12:00:00Z' without the word",
    "lcase": "use lower(x)",
    "ucase": "use upper(x)",
    "dayofweek": "use weekday(x): 1 is Monday, 7 Sunday",
    "workday": "use add_business_days(x, n)",
    "count": "`having` counts records with `records`, and values with count_distinct(x)",
    "avg": "write sum(x) / records in `having`",
}
_WORD_HINTS: Mapping[str, str] = {
    "ilike": "write lower(x) like 'inv-%'",
    **dict.fromkeys(("regexp", "rlike", "similar", "glob", "match"), _PATTERN),
    **dict.fromkeys(("when", "then", "else"), _IF),
    **dict.fromkeys(("as", "collate"), _TYPE),
    "from": _FIELDS,
    **dict.fromkeys(("select", "where", "order", "group", "having", "union"), _QUERY),
}
_SIGN_HINTS: Mapping[str, str] = {
    **dict.fromkeys("‘’‚“”„«»", "write texts in straight single quotes"),
    "'": "close the text with a quote; write a quote inside it twice",
    '"': "close the column name with a double quote",
    "||": "write concat(a, b)",
    "&&": "write and",
    "::": _TYPE,
    "->": _JSON,
    **dict.fromkeys(("~", "!~"), _PATTERN),
    "!": "write <> for not equal",
    ";": "remove the semicolon",
    "`": 'write a column name with spaces in double quotes, like "Order No"',
}


def function_advice(name: str, functions: Iterable[str], normalisers: Iterable[str]) -> str:
    """Return what to use instead of an unknown function."""
    if name in FUNCTION_HINTS:
        return FUNCTION_HINTS[name]
    if name in normalisers:
        return f"`{name}` is a normaliser, which a `key` uses"
    return suggestion(name, functions)


_COMPARED = re.compile(r"([=<>]|\bin\s*\([^()]*)\s*$", re.IGNORECASE)
"""The text before a value that a column is compared with."""


def column_advice(name: str, columns: Iterable[str], text: str, at: int) -> str:
    """Return what to use instead of an unknown column at a place of an expression: it may be a text without quotes, or
    a function without brackets."""
    advice = FUNCTION_HINTS.get(name.lower()) or suggestion(name, columns)
    return f"{quotes_advice(name, text, at)}{advice}"


def quotes_advice(name: str, text: str, at: int) -> str:
    """Return the beginning of an advice to quote an unknown name, if it may be a text."""
    if text[at] == '"':
        return "write texts in single quotes and columns in double quotes; "
    return f"for a text write '{name}'; " if _COMPARED.search(text[:at]) else ""


def word_advice(word: str, before: str) -> str:
    """Return what to use instead of a word where none is expected; `before` is the word before it."""
    return _WORD_HINTS.get(word.lower()) or FUNCTION_HINTS.get(before.lower(), "")


def sign_advice(text: str, at: int) -> str:
    """Return what to use instead of the signs at this place."""
    return _SIGN_HINTS.get(text[at : at + 2]) or _SIGN_HINTS.get(text[at : at + 1], "")
