"""Headers of columns and names of datasets, as words in lower case, in several languages. Pure."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping

_HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")


class ColumnRole(enum.Enum):
    """The contents that a column seems to have."""

    EMAIL = "e-mail addresses"
    PHONE = "telephone numbers"
    IBAN = "bank accounts"
    GIVEN_NAME = "given names"
    SURNAME = "surnames"
    NAME = "names of people"
    BIRTH = "dates of birth"
    STREET = "addresses"
    POSTCODE = "postcodes"
    CURRENCY = "currencies"
    AMOUNT = "amounts"
    PRICE = "amounts with a currency sign"
    CREATED = "times of records"
    MOMENT = "dates or times"
    DOCUMENT = "references"
    PARTY = "identifiers of others"
    STATE = "states"
    TEXT = "texts"
    OTHER = "other values"


def words_of(name: str) -> str:
    """Return a column's name as words in lower case: `InvoiceNo` and `invoice_no` are `invoice no`."""
    return " ".join(re.split(r"[\W_]+", _HUMP.sub(" ", name).strip())).strip().lower()


def _any(*forms: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{form})" for form in forms))


ROLES: Mapping[ColumnRole, re.Pattern[str]] = {
    ColumnRole.EMAIL: _any(
        r"(.* )?(e ?mail|mail)( ?(address|adresse|adres))?|adresse e ?mail|courriel|posta elettronica",
        r"correo( electr(ó|o)nico)?",
    ),
    ColumnRole.PHONE: _any(
        r"(.* )?(tele)?(phone|fon)( ?(no|nr|number))?|(.* )?(telephon|tel|mobile|mobil|handy|fax)( ?(no|nr|number))?",
        r"(telefon|handy|mobil)nummer|t(é|e)l(é|e)phone|t(é|e)l|tel(é|e)fono|telefoon|telefone|m(ó|o)vil|cell?ulare?",
    ),
    ColumnRole.IBAN: _any("iban"),
    ColumnRole.GIVEN_NAME: _any(
        r"(first|given|fore) ?names?|vornamen?|prénom|prenom|nombre de pila|voornaam|imi(ę|e)|f(ö|o)rnamn|fornavn"
    ),
    ColumnRole.SURNAME: _any(
        r"(last|family|sur) ?names?|nachnamen?|familiennamen?|nom de famille|apellidos?|cognome|sobrenome|apelido",
        r"achternaam|nazwisko|efternamn|etternavn",
    ),
    ColumnRole.NAME: _any(
        r"(full|contact|holder|account holder|person|employee|patient) ?names?|kontoinhaber|ansprechpartner",
        r"nome completo|nombre completo|nom complet",
    ),
    ColumnRole.BIRTH: _any(
        r"birth ?(date|day)?|date of birth|dob|geburtstag|geburtsdatum|geb|date de naissance|fecha de nacimiento",
        r"data di nascita|data de nascimento|geboortedatum|data urodzenia",
    ),
    ColumnRole.STREET: _any(
        r"street|address( line)?( ?\d)?|addr|stra(ss|ß)e|anschrift|adresse|.* (address|street)|rue|calle",
        r"direcci(ó|o)n|indirizzo|endere(ç|c)o|adres|straat|ulica",
    ),
    ColumnRole.POSTCODE: _any(
        r"(.* )?(post ?code|postal ?code|zip)|zip ?code|plz|postleitzahl|code postal|c(ó|o)digo postal",
        r"codice postale|kod pocztowy|postnummer",
    ),
    ColumnRole.CURRENCY: _any(r"currency( code)?|ccy|curr|w(ä|ae)hrung|devise"),
}
"""What a column with such a header holds."""
NAMES = _any(r"(.* )?names?|namen?|nom|nome|nombre|naam|navn|namn")
CITIES = _any(
    r"(.* )?(city|town|suburb)|ort|wohnort|stadt|ville|ciudad|poblaci(ó|o)n|citt(à|a)|cidade|plaats|woonplaats|miasto"
)
COMPANY_NAMES = _any(
    r"(.* )?(company|firm|firma|organi[sz]ation|employer|business|unternehmen)( names?)?",
    r"(supplier|vendor|lieferant|fournisseur|proveedor|fornitore|leverancier)( names?)?",
    r"soci(é|e)t(é|e)|entreprise|empresa|azienda|ditta|bedrijf(snaam)?|raz(ó|o)n social|ragione sociale",
)
PEOPLE = _any(
    r"(.* )?(customers?|contacts?|persons?|people|employees?|users?|members?|patients?|leads?|clients?|guests?)( .*)?",
    r"(.* )?(students?|applicants?|kunden?|mitarbeiter|kontakte?|personen|mitglieder|twins?|personnes)( .*)?",
    r"(.* )?(clientes?|clienti|contactos|contatti|personas|persone|pessoas|klanten|klienci|osoby)( .*)?",
)
COMPANIES = _any(
    r"(.* )?(companies|firms|firmen|organi[sz]ations|employers|businesses|unternehmen|suppliers?|vendors?)( .*)?",
    r"(.* )?(lieferanten|fournisseurs|proveedores|fornitori|leveranciers|empresas|aziende|bedrijven)( .*)?",
)
"""Names of datasets."""
