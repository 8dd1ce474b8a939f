"""Words that mean the same in addresses and company names, and words that say nothing there."""

from __future__ import annotations

from collections.abc import Mapping

from rules.kinds.similar.types import SemanticType

_STREETS = {
    "street": "st", "str": "st", "strasse": "st", "avenue": "ave", "av": "ave", "boulevard": "blvd", "blv": "blvd",
    "road": "rd", "drive": "dr", "lane": "ln", "place": "pl", "square": "sq", "court": "ct", "circuit": "cct",
    "crescent": "cres", "parkway": "pkwy", "highway": "hwy", "terrace": "tce", "close": "cl", "north": "n",
    "south": "s", "east": "e", "west": "w", "northeast": "ne", "northwest": "nw", "southeast": "se",
    "southwest": "sw", "suite": "ste", "apartment": "apt", "building": "bldg", "floor": "fl", "saint": "st",
    "mount": "mt", "first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th",
    "seventh": "7th", "eighth": "8th", "ninth": "9th", "tenth": "10th",
}  # fmt: skip
_COMPANIES = {
    "&": "and", "und": "and", "et": "and", "centre": "center", "ctr": "center", "intl": "international",
    "mfg": "manufacturing", "assoc": "association", "assn": "association", "bros": "brothers", "dept": "department",
    "univ": "university", "svc": "services", "svcs": "services", "service": "services", "tech": "technology",
    "technologies": "technology", "saint": "st",
}  # fmt: skip
_LEGAL_FORMS = frozenset(
    [
        "inc",
        "incorporated",
        "ltd",
        "limited",
        "llc",
        "llp",
        "lp",
        "plc",
        "corp",
        "corporation",
        "co",
        "company",
        "gmbh",
        "ag",
        "kg",
        "ohg",
        "gbr",
        "ug",
        "mbh",
        "se",
        "ev",
        "sa",
        "sas",
        "sarl",
        "sarlu",
        "sl",
        "slu",
        "srl",
        "spa",
        "snc",
        "bv",
        "nv",
        "cv",
        "oy",
        "ab",
        "as",
        "aps",
        "pty",
        "pte",
        "sdn",
        "bhd",
        "kk",
        "kft",
        "sro",
        "zoo",
        "the",
        "of",
        "and",
        "a",
        "an",
        "de",
        "la",
        "le",
    ]
)
_HONORIFICS = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "miss",
        "dr",
        "prof",
        "sir",
        "dame",
        "herr",
        "frau",
        "mme",
        "mlle",
        "sr",
        "sra",
        "don",
        "jr",
        "the",
        "of",
    ]
)
_COMMON = frozenset(["the", "a", "an", "of", "and", "or", "for", "with", "in", "on", "to", "by", "at", "from"])

SYNONYMS: Mapping[SemanticType, Mapping[str, str]] = {
    SemanticType.ADDRESS: _STREETS,
    SemanticType.COMPANY: _COMPANIES,
}
IGNORED: Mapping[SemanticType, frozenset[str]] = {
    SemanticType.COMPANY: _LEGAL_FORMS,
    SemanticType.NAME: _HONORIFICS,
    SemanticType.PRODUCT: _COMMON,
    SemanticType.TEXT: _COMMON,
}
