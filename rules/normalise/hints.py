"""What to use instead of normalisers that people know from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rules.document.mistakes import suggestion

_CUT = "use `prefix` or `suffix`, or `regex`"
_SOUND = "texts that sound alike are not compared; use [unaccent, letters, lower]"
_COMPUTED = "compute it in a derived column: columns: {part: {is: split_part(reference, '/', 2)}}"

_NORMALISER_HINTS: Mapping[str, str] = {
    **dict.fromkeys(("substr", "substring", "left", "right"), _CUT),
    **dict.fromkeys(("soundex", "metaphone", "levenshtein"), _SOUND),
    **dict.fromkeys(
        ("sort", "tokens", "token_sort", "sort_words", "fingerprint"), "use `words`, as in [unaccent, casefold, words]"
    ),
    **dict.fromkeys(("ascii", "anyascii", "unidecode", "romanize", "transliterate"), "use `translit: latin`"),
    **dict.fromkeys(("person", "surname", "honorifics", "titles"), "use `name`"),
    **dict.fromkeys(("given_name", "nicknames", "diminutives"), "use `nickname`"),
    **dict.fromkeys(("legal_form", "legal_forms", "organisation", "organization"), "use `company`"),
    **dict.fromkeys(("street", "streets", "postal"), "use `address`"),
    **dict.fromkeys(("lcase", "tolower"), "use `lower` or `casefold`"),
    **dict.fromkeys(("ucase", "toupper"), "use `upper`"),
    **dict.fromkeys(("date", "date_trunc"), "use `day`, `month`, `quarter` or `year`"),
    "replace": "use `map` for whole values, or `regex`",
    **dict.fromkeys(("split_part", "concat", "length", "json", "coalesce"), _COMPUTED),
}


def normaliser_advice(name: str, normalisers: Iterable[str]) -> str:
    """Return what to use instead of an unknown normaliser."""
    return _NORMALISER_HINTS.get(name) or suggestion(name, normalisers)
