"""Texts that Google may read as a number, a date, a time, a check box, an error or a formula when they are typed.

What it reads depends on the locale of the spreadsheet, which anybody may change, so texts of all locales are refused.
To refuse a text that Google would keep costs a sentence; to write one that it turns into a date costs the former value.
"""

from __future__ import annotations

import re

_FIRST = "=+-'@"
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMBER = r"[+\-(]?\d[\d.,'\u00a0\u202f ]*\)?"
_MONEY = (
    r"AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KES|KRW|MXN|MYR|NGN|NOK|NZD|PEN|PHP|"
    r"PLN|QAR|RON|RSD|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR|Fr|kr|kn|zł|Kč|Ft|lei|R\$|Rs|RM|Rp|din|ден|лв|руб|TL"
)
_SHAPES = re.compile(
    "|".join(
        [
            rf"{_NUMBER}[eE][+-]?\d+",
            rf"({_MONEY})\.?\s*{_NUMBER}",
            rf"{_NUMBER}({_MONEY})\.?",
            r"\d[\d:., ]*(?i:[ap]\.?\s?m?\.?|h|uhr|ч|μμ|πμ)\s*\d*",
            r"[\d\s年月日時分秒년월일시분초号时点]+",
            r"\d[\d:.,/ -]*(?i:st|nd|rd|th|[tzw])[\d:.,/ z-]*",
        ]
    )
)
_MONTH = re.compile(
    r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|jän|mär|mai|okt|dez|fév|aoû|avr|juil|juin|déc|ene|abr|ago|dic|"
    r"gen|mag|giu|lug|set|ott|fev|out|mrt|mei|maj|sty|lut|kwi|cze|lip|sie|wrz|paź|lis|gru|led|úno|bře|dub|kvě|čer|čvc|"
    r"srp|zář|říj|pro|oca|şub|nis|haz|tem|ağu|eyl|eki|kas|ara|tam|hel|maa|huh|tou|kes|hei|elo|syy|lok|mars|iun|iul|"
    r"noi|янв|фев|мар|апр|май|мая|июн|июл|авг|сен|окт|ноя|дек|січ|бер|кві|тра|сер|вер|жов"
)
"""How months begin in the languages of Google Sheets that write them in letters of Latin and Cyrillic alphabets."""
_BESIDE = re.compile("of|de|del|di|du|der|den|dne|a|p|am|pm|st|nd|rd|th|er|t|z|г|р|mon|tue|wed|thu|fri|sat|sun")
"""Words that may be beside a day, a month, a year and a time."""
_LONGEST_DATE = 60
_TRUE_OR_FALSE = re.compile(
    r"TRUE|FALSE|WAHR|FALSCH|VRAI|FAUX|VERDADERO|FALSO|VERO|VERDADEIRO|WAAR|ONWAAR|PRAWDA|FAŁSZ|ИСТИНА|ЛОЖЬ|ІСТИНА|"
    r"FALSKT|FALSK|EPÄTOSI|DOĞRU|YANLIŞ|PRAVDA|NEPRAVDA|IGAZ|HAMIS|ADEVĂRAT|ΑΛΗΘΕΣ|ΨΕΥΔΕΣ|"
    r"TÕENE|VÄÄR|TIESA|MELAS|ISTINA|LAŽ|RESNIČNO|NERESNIČNO",
    re.IGNORECASE,
)
_ERROR = re.compile(r"#(N/A|NV|[\w/]+[!?])", re.IGNORECASE)


def may_become_another(text: str) -> str | None:
    """What the text could be read as, if that is another thing than this text; `text` is not empty."""
    if text[0] in _FIRST or text != text.strip() or "\x00" in text:
        return "something else"
    if _ERROR.fullmatch(text):
        return "an error"
    if not _LETTERS.search(text) or _TRUE_OR_FALSE.fullmatch(text):
        return "a number, a date or a check box"
    is_short = len(text) <= _LONGEST_DATE and any(character.isnumeric() for character in text)
    return "a number, a date or a time" if is_short and _is_date_or_number(text) else None


def _is_date_or_number(text: str) -> bool:
    words = [word.casefold() for word in _LETTERS.findall(text)]
    months = [word for word in words if _MONTH.match(word)]
    is_date = bool(months) and all(word in months or _BESIDE.fullmatch(word) for word in words)
    return is_date or _SHAPES.fullmatch(text) is not None
