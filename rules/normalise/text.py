"""Normalisers of text: white space, case, accents, character classes, document numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from rules.models import lookups
from rules.models.lookups import Lookup, LookupTable
from rules.normalise.latin import latin
from rules.normalise.normaliser import Exactness, Normaliser, built_in, no_argument
from rules.values import Type, Value
from rules.values.normal_forms import normalised, visible

_TEXT = {Type.TEXT: Type.TEXT}
_ALL: Mapping[str, Exactness] = dict.fromkeys(
    ("duckdb", "postgresql", "mysql", "sqlite", "spark", "snowflake", "bigquery", "redshift", "trino"), "always"
)
_ALL_ASCII: Mapping[str, Exactness] = dict.fromkeys(_ALL, "ascii")
_REGEX = ("duckdb", "postgresql", "mysql", "spark")  # SQLite has no regular expressions
_REGEX_ALWAYS: Mapping[str, Exactness] = dict.fromkeys(_REGEX, "always")
_REGEX_ASCII: Mapping[str, Exactness] = dict.fromkeys(_REGEX, "ascii")
# Elsewhere no short SQL drops 4,000 different characters; ASCII has none of them.
SEEN: Mapping[str, Exactness] = {**_ALL_ASCII, "duckdb": "always", "postgresql": "always", "mysql": "always"}
_SQUEEZED: Mapping[str, Exactness] = {name: SEEN[name] for name in _REGEX}
# Redshift's regular expressions follow the collation of a column.
_CLASSES: Mapping[str, Exactness] = dict.fromkeys((*_REGEX, "snowflake", "bigquery", "trino"), "ascii")

_ASCII_WORDS = re.compile("[A-Za-z0-9]+")
_LEADING_ZEROS = re.compile("(?<![0-9])0+(?=[0-9])")
# Letters with a stroke and ligatures have no decomposition, but people write them without strokes too.
_STROKES = str.maketrans(
    {
        "Ø": "O", "ø": "o", "Ł": "L", "ł": "l", "Đ": "D", "đ": "d", "Ħ": "H", "ħ": "h", "Ŧ": "T", "ŧ": "t",
        "Ð": "D", "ð": "d", "Þ": "TH", "þ": "th", "Æ": "AE", "æ": "ae", "Œ": "OE", "œ": "oe", "ẞ": "SS", "ß": "ss",
        "ı": "i",
    }
)  # fmt: skip
_GERMAN = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ẞ": "SS"}
_UMLAUTS = re.compile(f"[{''.join(_GERMAN)}]")
MOST_CHARACTERS = 10_000
# Only marks that Latin, Greek and Cyrillic put on letters: the vowel signs of other scripts are not diacritics.
_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")


def simple_lower(text: str) -> str:
    """Simple lower case: letter by letter, independent of neighbours (no final sigma) and never longer."""
    if text.isascii():
        return text.lower()
    return "".join("i" if c == "İ" else c.lower() for c in text)


def simple_upper(text: str) -> str:
    """Simple upper case: letter by letter; a letter whose upper case is several letters, like ß, stays."""
    if text.isascii():
        return text.upper()
    return "".join(upper if len(upper := c.upper()) == 1 else c for c in text)


def trim(text: str) -> str:
    """No characters that show nothing, and no white space at the ends."""
    return visible(text).strip()


def squeeze(text: str) -> str:
    """As `trim`, and one space for each run of white space inside."""
    return " ".join(visible(text).split())


def nfkc(text: str) -> str:
    """Compatibility form, without characters that show nothing: as Unicode's NFKC_Casefold, but with case."""
    return normalised("NFKC", visible(text))


def unaccent(text: str) -> str:
    """Without diacritics: é becomes e, ø o, ß ss; scripts whose marks are letters keep them."""
    if text.isascii():
        return text
    bare = _MARKS.sub("", normalised("NFD", text.translate(_STROKES)))
    return normalised("NFC", bare)


def german(text: str) -> str:
    """Umlauts and ß as German writes them without: ä ae, ö oe, ü ue, ß ss. Ü is UE beside a capital, else Ue."""
    if text.isascii():
        return text
    return _UMLAUTS.sub(_spelled_out, normalised("NFC", text))


def _spelled_out(match: re.Match[str]) -> str:
    spelling, text, end = _GERMAN[match[0]], match.string, match.end()
    neighbour = (
        text[end : end + 1] if text[end : end + 1].isalpha() else text[max(match.start() - 1, 0) : match.start()]
    )
    return spelling.upper() if spelling[0].isupper() and neighbour.isupper() else spelling


_TRANSLITERATIONS: Mapping[str, Callable[[str], str]] = {"de": german, "latin": latin}


def _filtered(text: str, categories: str) -> str:
    return "".join(c for c in visible(text) if unicodedata.category(c)[0] in categories)


def alnum(text: str) -> str:
    """Only letters, the marks that belong to them, and numbers."""
    return _filtered(text, "LMN")


def letters(text: str) -> str:
    """Only letters and the marks that belong to them."""
    return _filtered(text, "LM")


def digits(text: str) -> str:
    """Only decimal digits, of any script, as they are."""
    return "".join(c for c in text if c.isdecimal())


def words(text: str) -> str:
    """Its words, in the order of code points, each once, with one blank between: "Cruise, Tom" is "Cruise Tom".

    A word is a run of letters with their marks and numbers. Characters that show nothing are left out before.
    """
    if text.isascii():
        return " ".join(sorted(set(_ASCII_WORDS.findall(text))))
    spaced = (c if unicodedata.category(c)[0] in "LMN" else " " for c in visible(text))
    return " ".join(sorted(set("".join(spaced).split(" ")) - {""}))


def strip_zeros(text: str) -> str:
    """Without the leading zeros of each run of the digits 0 to 9; a run of zeros keeps one."""
    return _LEADING_ZEROS.sub("", text)


def docno(text: str) -> str:
    """A document number in one form: upper case, letters and numbers only, no leading zeros.

    One hyphen stays between two numbers: 12-3 is not 1-23.
    """
    return strip_zeros(_numbers_apart(visible(text).upper()))


def _numbers_apart(text: str) -> str:
    characters, last, is_apart = [], "", False
    for character in text:
        category = unicodedata.category(character)[0]
        if category not in "LMN":
            is_apart = True
            continue
        if category != "M":
            if is_apart and category == last == "N":
                characters.append("-")
            last, is_apart = category, False
        characters.append(character)
    return "".join(characters)


def _check_prefix(argument: Any) -> None:
    if not _is_count(argument):
        raise ValueError("takes the number of characters to keep, from 1 to 10000, like `prefix: 3`")


def _check_suffix(argument: Any) -> None:
    if not _is_count(argument):
        raise ValueError("takes the number of characters to keep, from 1 to 10000, like `suffix: 4`")


def _is_count(argument: Any) -> bool:
    return isinstance(argument, int) and not isinstance(argument, bool) and 1 <= argument <= MOST_CHARACTERS


def _check_spelling(argument: Any) -> None:
    if argument not in _TRANSLITERATIONS:
        raise ValueError("takes de for German umlauts, or latin for all scripts, like `translit: latin`")


def _check_map(argument: Any) -> None:
    if isinstance(argument, (Lookup, LookupTable)):
        return
    if lookups.written(argument):
        raise ValueError(lookups.mistake(argument))
    if not isinstance(argument, Mapping) or not argument:
        raise ValueError("takes a mapping of texts, like `map: {EUR: euro}`")
    if not all(isinstance(k, str) and k.strip() for k in argument):
        raise ValueError("maps texts that are not empty; put numbers and words like NO on the left in quotes")
    if not all(v is None or isinstance(v, str) for v in argument.values()):
        raise ValueError("maps to texts or null; put the text on the right in quotes")


def _mapped(value: Value, argument: Mapping[Value, Value] | LookupTable, _timezone: str) -> Value:
    return argument.get(value, value)


def _types_of_map(argument: Any) -> Mapping[Type, Type] | None:
    """Return the types of a lookup; none before its dataset is known."""
    if isinstance(argument, Lookup):
        return {}
    return argument.types if isinstance(argument, LookupTable) else None


def _is_inline(argument: Any, kind: Type, timezone: str) -> bool:  # noqa: ARG001
    return isinstance(argument, Mapping)


def _map_stays_ascii(argument: Any) -> bool:
    return isinstance(argument, Mapping) and all((new or "").isascii() for new in argument.values())


def _check_regex(argument: Any) -> None:
    if not isinstance(argument, list | tuple) or len(argument) != 2 or not all(isinstance(a, str) for a in argument):
        raise ValueError("takes a pattern and its replacement, both in quotes, like `regex: ['-.*', '']`")
    if reference := re.search(r"\$\{?([0-9])", argument[1]):
        raise ValueError(rf"replaces by the text `${reference[1]}` as it is; write `\{reference[1]}` for that group")
    if r"\C" in argument[0]:
        raise ValueError(r"cannot use \C, which cuts characters into bytes")
    import pyarrow as pa  # noqa: PLC0415 - see _regex

    try:
        _regex("", (argument[0], argument[1]), "")
    except pa.ArrowInvalid as error:
        raise ValueError(f"needs a pattern in RE2 syntax: {str(error).rstrip('.')}") from error


def _regex(value: str, argument: tuple[str, str], _timezone: str) -> Value:
    """Replace all matches, by RE2: linear time for any pattern, and the same engine as in DuckDB."""
    import pyarrow as pa  # noqa: PLC0415 - nothing else in this module needs it
    import pyarrow.compute as pc  # noqa: PLC0415 - builds hundreds of functions on import

    pattern, replacement = argument
    replaced_text = pc.replace_substring_regex(pa.scalar(value, pa.string()), pattern, replacement)
    return str(replaced_text.as_py())


def _text(
    name: str, python: Callable[[str], str], exactness: Mapping[str, Exactness], words: str, *, version: int = 1
) -> Normaliser:
    return Normaliser(
        name,
        lambda value, _argument, _timezone: python(value),
        _TEXT,
        no_argument,
        built_in(name),
        exactness,
        version=version,
        words=words,
    )


TEXT = (
    _text("trim", trim, SEEN, "without white space at its ends", version=2),
    _text("squeeze", squeeze, _SQUEEZED, "with single blanks inside and none at its ends", version=2),
    _text("lower", simple_lower, _ALL_ASCII, "in lower case"),
    _text("upper", simple_upper, _ALL_ASCII, "in upper case"),
    _text("casefold", str.casefold, _ALL_ASCII, "regardless of case"),
    _text("nfkc", nfkc, _ALL_ASCII, "with full-width letters as plain ones", version=2),
    _text("unaccent", unaccent, _ALL_ASCII, "without accents"),
    _text("alnum", alnum, _CLASSES, "only its letters and numbers", version=2),
    _text("digits", digits, _CLASSES, "only its digits"),
    _text("letters", letters, _CLASSES, "only its letters", version=2),
    # PostgreSQL and others have no form for it: a list of words that is sorted by bytes is not the same in all of them.
    _text("words", words, {"duckdb": "ascii"}, "its words in any order, each once"),
    _text("strip_zeros", strip_zeros, _REGEX_ALWAYS, "without leading zeros"),
    _text("docno", docno, _REGEX_ASCII, "as a document number (INV-007 is inv 7)", version=3),
    Normaliser(
        "prefix",
        lambda value, argument, _timezone: value[:argument],
        _TEXT,
        _check_prefix,
        built_in("prefix"),
        _ALL,
        words="its first {} characters",
    ),
    Normaliser(
        "suffix",
        lambda value, argument, _timezone: value[-argument:],
        _TEXT,
        _check_suffix,
        built_in("suffix"),
        dict.fromkeys(_REGEX, "always"),  # a NUL ends a text of SQLite
        words="its last {} characters",
    ),
    Normaliser(
        "translit",
        lambda value, argument, _timezone: _TRANSLITERATIONS[argument](value),
        _TEXT,
        _check_spelling,
        built_in("translit"),
        _ALL_ASCII,
        words="with ä, ö, ü and ß as ae, oe, ue and ss",
        words_of=lambda argument: "in plain Latin letters" if argument == "latin" else None,
    ),
    Normaliser(
        "map",
        _mapped,
        _TEXT,
        _check_map,
        built_in("map"),
        _ALL,
        _is_inline,
        _types_of_map,
        stays_ascii=_map_stays_ascii,
        words="with the values in its `map` replaced",
    ),
    Normaliser(
        "regex",
        _regex,
        _TEXT,
        _check_regex,
        built_in("regex"),
        {"duckdb": "always"},
        stays_ascii=lambda a: a[1].isascii(),
        fills=True,
        words="with each match of `{0}` replaced by `{1}`",
    ),
)
