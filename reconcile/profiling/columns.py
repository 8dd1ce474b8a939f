"""A column of a profiled dataset: its counts, samples of its values, and what it seems to hold. Pure.

Samples are only looked at: nothing here returns or stores a value of a record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from reconcile.profiling import headers
from reconcile.profiling.headers import ColumnRole, words_of
from rules.normalise.company import has_legal_form
from rules.values import Type

_WITH_LEGAL_FORM = 0.2
"""The share of names with a legal form from which on a column holds companies."""
_MOST = 0.8
"""The share of samples that must look like something."""
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]{2,}")
_PHONE = re.compile(r"\+?[0-9][0-9 ()/.\-]{5,20}[0-9]")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_WORDS = re.compile(r"[^\W\d_]+([ .,'’-]+[^\W\d_]+)*\.?")
_SIGN = r"(€|\$|£|¥|zł|kr|EUR|USD|GBP|JPY|CHF|PLN|CZK|SEK|NOK|DKK)"  # not any three letters: INV 123 is a document
_PRICE = re.compile(rf"[-+]?({_SIGN} ?[-+]?[0-9][0-9.,' ]*|[0-9][0-9.,' ]* ?{_SIGN})-?")
_MOST_STATES = 12
"""Different values of a column that is a state and no identifier."""


PERSONAL = (
    *(
        ColumnRole.EMAIL,
        ColumnRole.PHONE,
        ColumnRole.IBAN,
        ColumnRole.GIVEN_NAME,
        ColumnRole.SURNAME,
        ColumnRole.NAME,
        ColumnRole.BIRTH,
        ColumnRole.STREET,
    ),
)

_AMOUNTS = re.compile(
    r"(.* )?(amount|total|sum|price|gross|net|value|betrag|summe|brutto|netto|preis|umsatz|montant|paid|fee|cost)( .*)?"
)
_DOCUMENTS = re.compile(
    r"(.* )?(ref|reference|invoice|document|doc|voucher|receipt|booking|order|beleg|rechnung|auftrag|referenz|"
    r"verwendungszweck|transaction|txn|payment)( (no|nr|num|number|id|code|ref|reference))?"
    r"|(rechnungs|beleg|auftrags|dokument|vorgangs|buchungs)(nummer|nr|no)"
)
_IDENTIFIERS = re.compile(r"(.* )?(id|no|nr|num|number|key|code|uuid|guid|nummer)|\w+(nummer|nr)")
_PARTIES = re.compile(
    r"(.* )?(customer|supplier|vendor|client|creditor|debtor|kunde|lieferant|account|member|user)( .*)?"
)
_CREATED = re.compile(
    r"(.* )?(created|charged|booked|booking|paid|posted|ordered|received|date|datum|time|at|on)( .*)?"
)


def is_amount(name: str) -> bool:
    """Return True if a column's name says that it holds amounts."""
    words = words_of(name)
    return _AMOUNTS.fullmatch(words) is not None and _IDENTIFIERS.fullmatch(words) is None


@dataclass(frozen=True)
class ProfiledColumn:
    """A column with its counts over all records; `samples` are values of the first records as texts, empty ones left
    out.
    """

    name: str
    type: Type
    records: int
    empty: int
    different: int
    samples: Sequence[str] = field(default=(), repr=False)

    @property
    def words(self) -> str:
        return words_of(self.name)

    @property
    def is_unique(self) -> bool:
        """Return True if no record lacks a value, and no two share one."""
        return self.records > 0 and self.empty == 0 and self.different == self.records

    @property
    def is_identifier(self) -> bool:
        """Return True if its name says that it identifies something."""
        return _IDENTIFIERS.fullmatch(self.words) is not None

    @property
    def surplus(self) -> int:
        """The number of records that share their value with an earlier one."""
        return self.records - self.empty - self.different

    @cached_property
    def role(self) -> ColumnRole:
        """The contents of the column, guessed from its name and its samples."""
        by_header = next((role for role, form in headers.ROLES.items() if form.fullmatch(self.words)), None)
        if by_header is not None and self._fits(by_header):
            return by_header
        if self.type is Type.TEXT:
            return self._role_of_text()
        if self.type in (Type.DATE, Type.INSTANT):
            return ColumnRole.CREATED if _CREATED.fullmatch(self.words) else ColumnRole.MOMENT
        if self.type in (Type.DECIMAL, Type.INTEGER, Type.FLOAT) and is_amount(self.name):
            return ColumnRole.AMOUNT
        return ColumnRole.PARTY if self.is_identifier and self.type is Type.INTEGER else ColumnRole.OTHER

    def share(self, test: Callable[[str], object]) -> float:
        """Return the share of samples that pass the test."""
        return sum(bool(test(text)) for text in self.samples) / len(self.samples) if self.samples else 0.0

    def _fits(self, role: ColumnRole) -> bool:
        """Return True if the samples do not contradict the header."""
        if role is ColumnRole.BIRTH:
            return self.type in (Type.DATE, Type.INSTANT, Type.TEXT)
        if role is ColumnRole.CURRENCY:
            return self.type is Type.TEXT and self.share(lambda text: len(text) == 3 and text.isalpha()) >= _MOST
        if role is ColumnRole.EMAIL:
            return self.type is Type.TEXT and self.share(_EMAIL.fullmatch) >= 0.5
        if role in (ColumnRole.PHONE, ColumnRole.POSTCODE):
            return self.type in (Type.TEXT, Type.INTEGER)
        return self.type is Type.TEXT

    def _role_of_text(self) -> ColumnRole:
        if self.share(_EMAIL.fullmatch) >= _MOST:
            return ColumnRole.EMAIL
        if self.share(_is_iban) >= _MOST:
            return ColumnRole.IBAN
        if self.share(lambda text: text.startswith("+") and _PHONE.fullmatch(text)) >= _MOST:
            return ColumnRole.PHONE
        if self.share(lambda text: _PRICE.fullmatch(text.replace("\xa0", " "))) >= _MOST:
            return ColumnRole.PRICE
        if _PARTIES.fullmatch(self.words) and self.is_identifier:
            return ColumnRole.PARTY  # customer_id is no document, although both end alike
        if _DOCUMENTS.fullmatch(self.words):
            return ColumnRole.DOCUMENT
        if self.is_identifier:
            return ColumnRole.PARTY
        return ColumnRole.STATE if 0 < self.different <= min(_MOST_STATES, self.records / 10) else ColumnRole.TEXT

    @property
    def is_wordy(self) -> bool:
        """Return True if its values are words, as names of people and companies are."""
        return self.type is Type.TEXT and self.share(_WORDS.fullmatch) >= _MOST


def is_about_people(dataset: str, columns: Sequence[ProfiledColumn]) -> bool:
    """Return True if the dataset's name or another column says that its records are people."""
    contact = (ColumnRole.EMAIL, ColumnRole.PHONE, ColumnRole.GIVEN_NAME, ColumnRole.SURNAME, ColumnRole.BIRTH)
    return headers.PEOPLE.fullmatch(words_of(dataset)) is not None or any(column.role in contact for column in columns)


def holds_companies(dataset: str, column: ProfiledColumn) -> bool:
    """Return True if a column holds names of companies, by its name, its dataset or its values."""
    if column.type is not Type.TEXT:
        return False
    if headers.COMPANY_NAMES.fullmatch(column.words):
        return not column.share(str.isdigit)
    is_of_company = headers.COMPANIES.fullmatch(words_of(dataset)) or column.share(has_legal_form) >= _WITH_LEGAL_FORM
    return is_name(column) and bool(is_of_company)


def is_name(column: ProfiledColumn) -> bool:
    """Return True if a column is called a name, without saying of what."""
    return column.type is Type.TEXT and headers.NAMES.fullmatch(column.words) is not None


def personal(dataset: str, columns: Sequence[ProfiledColumn]) -> dict[str, ColumnRole]:
    """Return the columns that seem to hold personal data, with what they hold."""
    people = is_about_people(dataset, columns)

    def role(column: ProfiledColumn) -> ColumnRole:
        is_name = (
            people and column.role is ColumnRole.TEXT and column.is_wordy and headers.NAMES.fullmatch(column.words)
        )
        return ColumnRole.NAME if is_name else column.role

    return {column.name: role(column) for column in columns if role(column) in PERSONAL}


def _is_iban(text: str) -> bool:
    """Return True for an IBAN with a right check number (ISO 7064, MOD 97-10)."""
    bare = text.replace(" ", "").upper()
    if not _IBAN.fullmatch(bare):
        return False
    return int("".join(str(int(character, 36)) for character in bare[4:] + bare[:4])) % 97 == 1
