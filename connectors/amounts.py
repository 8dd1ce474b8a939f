"""Amounts as people write them: with one sign, and with one currency before or after the number.

    (1,234.50)   1,234.50-   - 1,234.50   1,234.50 DR      negative
    $-1   -$1   USD -1   ($1)   EUR 1-   1 € -             negative, with a currency
    1,234.50 CR   $ 1   1 €   USD 1   +1 EUR               positive
    5.-   5.--   5.—   $ 5.-                               five, without cents

DR (debit) is negative and CR (credit) positive, as on the statement of an account. Two signs contradict each other or
say nothing new, so such an amount is unreadable: (-1), -1-, -1 CR. So is one with two currencies.

All patterns are RE2, and matched with texts without outer white space.
"""

from __future__ import annotations

import re

CODES = (
    "AED|AFN|ALL|AMD|ANG|AOA|ARS|AUD|AWG|AZN|BAM|BBD|BDT|BGN|BHD|BIF|BMD|BND|BOB|BRL|BSD|BTN|BWP|BYN|BZD|CAD|CDF|CHF|"
    "CLP|CNY|COP|CRC|CUP|CVE|CZK|DJF|DKK|DOP|DZD|EGP|ERN|ETB|EUR|FJD|FKP|GBP|GEL|GHS|GIP|GMD|GNF|GTQ|GYD|HKD|HNL|HTG|"
    "HUF|IDR|ILS|INR|IQD|IRR|ISK|JMD|JOD|JPY|KES|KGS|KHR|KMF|KPW|KRW|KWD|KYD|KZT|LAK|LBP|LKR|LRD|LSL|LYD|MAD|MDL|MGA|"
    "MKD|MMK|MNT|MOP|MRU|MUR|MVR|MWK|MXN|MYR|MZN|NAD|NGN|NIO|NOK|NPR|NZD|OMR|PAB|PEN|PGK|PHP|PKR|PLN|PYG|QAR|RON|RSD|"
    "RUB|RWF|SAR|SBD|SCR|SDG|SEK|SGD|SHP|SLE|SOS|SRD|SSP|STN|SVC|SYP|SZL|THB|TJS|TMT|TND|TOP|TRY|TTD|TWD|TZS|UAH|UGX|"
    "USD|UYU|UZS|VED|VES|VND|VUV|WST|XAF|XCD|XOF|XPF|YER|ZAR|ZMW|ZWG"
)
"""The codes of ISO 4217 for money; other three letters are no currency: INV 123 is a document."""
CURRENCY = rf"(?:{CODES}|(?:US|CA|AU|NZ|HK|[ACRS])?[$]|[€£¥₹₺₽₩₪₫₴₦₱฿₡₲₵₸₼₾¢]|zł|Kč|kr|Ft)"
"""A currency by its code or sign."""
_BLANK = "[ \u00a0\u202f\u2009]*"
_MINUS = "[\u2212-]"
_SIDE = f"{_BLANK}(?i:CR|DR)"
MARK = "\u00a4"
"""The general sign of a currency, for any of them."""
_SAME = {"€": "EUR", "£": "GBP", "US$": "USD", "AU$": "AUD", "A$": "AUD", "CA$": "CAD", "C$": "CAD", "NZ$": "NZD",
         "HK$": "HKD", "R$": "BRL", "S$": "SGD", "₹": "INR", "zł": "PLN", "Kč": "CZK", "Ft": "HUF"}  # fmt: skip
"""Signs that mean one currency. `$`, `¥` and `kr` mean several, so they stay as they are."""


def pattern(number: str) -> str:
    """Return the pattern of amounts whose currency is `marked`, from that of a number without a sign."""
    money, before, after = f"(?:{number})", f"(?:{MARK}{_BLANK})", f"(?:{_BLANK}{MARK})"
    sign, negative = f"[+\u2212-]{_BLANK}", f"{_BLANK}{_MINUS}"
    enclosed = rf"\({_BLANK}(?:{before}?{money}|{money}{after}){_BLANK}\)"
    return "|".join(
        (
            f"(?:{sign}{before}?|{before}{sign}){money}|{sign}{money}{after}",
            f"{before}?{money}(?:{negative}|{_SIDE})?|{money}(?:{negative}{after}|{after}(?:{negative}|{_SIDE})?)",
            rf"{enclosed}|{before}\({_BLANK}{money}{_BLANK}\)|\({_BLANK}{money}{_BLANK}\){after}",
        )
    )


def marked(text: str) -> str:
    """Return the SQL of a text with a mark instead of its first currency: patterns with all codes compile slowly."""
    return f"regexp_replace({text}, '{CURRENCY}', '{MARK}')"


def without_dashes(text: str, point: str) -> str:
    """Return the SQL of a text without dashes for no cents: `5,-` and `5.—` are five, and no sign follows a point."""
    dash = "[-\u2212\u2013\u2014]"
    return f"regexp_replace({text}, '([0-9]){point}{dash}{{1,2}}($|[^{dash[1:]})', '\\1\\2')"


def digits(text: str, mark: str) -> str:
    """Return the SQL of a matching amount as the plain text of a number with a point."""
    kept = f"regexp_replace({text}, '[^0-9{mark}]', '', 'g')"
    point = kept if mark == "." else f"replace({kept}, '{mark}', '.')"
    return f"case when regexp_matches({text}, '[(\u2212-]|[dD][rR]$') then '-' else '' end || {point}"


def currency(text: str) -> str:
    """Return the SQL of an amount's currency as it is written; empty without one."""
    return f"regexp_extract({text}, '{CURRENCY}')"


_CURRENCY = re.compile(CURRENCY)
_PARTS = re.compile(rf"{CURRENCY}|[()]|(?<=[0-9 ])(?i:CR|DR)$")


def bare(text: str) -> str:
    """Return a text without what makes an amount of a number: its currency, parentheses, CR and DR."""
    return _PARTS.sub("", text).strip()


def currency_of(text: str) -> str | None:
    """Return the currency of an amount by its code, or by its sign if that means several."""
    written = _CURRENCY.search(text)
    return None if written is None else meant(written[0])


def meant(written: str) -> str:
    """Return a currency by its code, or by its sign if that means several."""
    return _SAME.get(written, written)


def mixture(column: str, counts: dict[str, int]) -> str | None:
    """Return the warning for a column whose amounts are in several currencies, by their counts; None for one."""
    if len(counts) < 2:
        return None
    listed = ", ".join(f"{name} in {count:,}" for name, count in sorted(counts.items()))
    return (
        f"`{column}` mixes currencies ({listed}), but they are ignored when numbers are compared and added; "
        "put the currency in a column of its own and add it to the key"
    )
