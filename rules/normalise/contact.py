"""Normalisers of contact data: e-mail, mailboxes, telephone numbers. Python only."""

from __future__ import annotations

import functools
import importlib
import re
import unicodedata
from typing import Any

import idna

from rules.document.mistakes import RuleError
from rules.normalise.normaliser import Normaliser, no_argument
from rules.normalise.text import simple_lower
from rules.values import Type
from rules.values.normal_forms import normalised, visible

_TEXT = {Type.TEXT: Type.TEXT}
_BRACKETS = re.compile(r"<([^<>]*)>\s*$")
_LOCAL = re.compile(r'"[^"]+"|[^\s"(),:;<>@\[\]\\]+')
_DOMAIN = re.compile(r"[^\s\"(),:;<>@\\]+")


def email(value: str) -> str | None:
    """`Ann <Ann@Bücher.example> ` as `ann@xn--bcher-kva.example`; None if it is not one address."""
    text = normalised("NFKC", visible(value))
    bracketed = _BRACKETS.search(text)
    text = simple_lower((bracketed[1] if bracketed else text).strip())
    local, at, domain = text.rpartition("@")
    if not at or not _LOCAL.fullmatch(local) or not _DOMAIN.fullmatch(domain):
        return None
    encoded = _encoded(domain.rstrip("."))
    return f"{local}@{encoded}" if encoded else None


@functools.lru_cache(maxsize=4096)
def _encoded(domain: str) -> str | None:
    try:
        return idna.encode(domain, uts46=True).decode("ascii").lower()
    except idna.IDNAError:
        # Host names with an underscore or an address in brackets are not IDNA, but they are always the same.
        return domain if domain.isascii() else None


def mailbox(value: str) -> str | None:
    """Return the receiving mailbox: `email` without the plus tag, and for Gmail without dots and under one domain."""
    address = email(value)
    if address is None:
        return None
    local, _, domain = address.rpartition("@")
    local = local.partition("+")[0] or local
    if domain in ("gmail.com", "googlemail.com"):
        domain, local = "gmail.com", local.replace(".", "") or local
    return f"{local}@{domain}"


@functools.cache
def library() -> Any:
    """Import phonenumbers when a rule first needs it; raises RuleError naming the extra."""
    try:
        return importlib.import_module("phonenumbers")
    except ModuleNotFoundError as error:
        raise RuleError(
            "`phone` needs the package phonenumbers; install it with: pip install 'reconcile-runner[phone]'"
        ) from error


def _check_region(argument: Any) -> None:
    if argument is not None and argument not in library().SUPPORTED_REGIONS:
        raise ValueError("takes the region of numbers without a country code, in two capital letters, like `phone: DE`")


SHORTEST_PHONE = 7
"""The digits of the shortest number that subscribers have, with its country's code; `12` or `000` is a placeholder."""


def phone(value: str, region: str | None) -> str | None:
    """Return the number as E.164, by default of that region; None if it is not a number.

    Letters are never read as digits, and a number with an extension differs from the one without: both give None. So
    does a number of fewer than SHORTEST_PHONE digits.
    Without a region only numbers with a country code are read.
    """
    numbers = library()
    value = visible(value)  # address books put marks of direction around a number
    if any(unicodedata.category(character)[0] == "L" for character in value):
        return None
    try:
        number = numbers.parse(value, region)
    except numbers.NumberParseException:
        return None
    if number.extension or not numbers.is_possible_number(number):
        return None
    international = str(numbers.format_number(number, numbers.PhoneNumberFormat.E164))
    return international if len(international) > SHORTEST_PHONE else None


CONTACT = (
    Normaliser(
        "email",
        lambda value, _argument, _timezone: email(value),
        _TEXT,
        no_argument,
        version=2,
        words="as an e-mail address in lower case",
    ),
    Normaliser(
        "mailbox",
        lambda value, _argument, _timezone: mailbox(value),
        _TEXT,
        no_argument,
        version=2,
        words="as a mailbox: its e-mail address without +tag, for Gmail also without dots",
    ),
    Normaliser(
        "phone",
        lambda value, argument, _timezone: phone(value, argument),
        _TEXT,
        _check_region,
        version=4,
        words="as an international phone number, by default of {}",
    ),
)
