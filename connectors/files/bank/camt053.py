"""CAMT.053 (ISO 20022, every version): the entries of bank-to-customer statements, streamed from XML.

One record is one entry (`Ntry`) as the account shows it. A batch that the bank booked in one sum can be split into its
transactions (`TxDtls`) if all of them have amounts, which then add up to the entry.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from lxml import etree

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileRefused, FileUnreadable
from connectors.files.bank.statement import EXACT, Entry, Proof

OPENING, CLOSING = ("OPBD", "PRCD"), ("CLBD",)
NOT_PROVIDED = ("NOTPROVIDED", "NONREF", "NOT PROVIDED")
STATUS = {"BOOK": "booked", "PDNG": "pending", "INFO": "information", "FUTR": "future"}
_AMOUNT = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,6})?|\.[0-9]{1,6}")
_CURRENCY = re.compile("[A-Z]{3}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ENTRY = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?Ntry[\s/>]")
_OVERLAP = 64
_Node = Any


def count(file: OpenedFile) -> int:
    """Count the entries by their tags, without a parser of XML."""
    total, tail = 0, b""
    with file.bytes() as content:
        while chunk := content.read(1 << 20):
            window = tail + chunk
            keep = max(0, len(window) - _OVERLAP)
            total += sum(match.start() < keep for match in _ENTRY.finditer(window))
            tail = window[keep:]
    return total + len(_ENTRY.findall(tail))


def read(file: OpenedFile, *, split: bool = False) -> Iterator[Entry]:
    """Yield the entries of all statements. Raises FileUnreadable and FileRefused."""
    reading = _Reading(file, split=split)
    try:
        with file.bytes() as content:
            events = etree.iterparse(
                content, events=("start", "end"), resolve_entities=False, no_network=True, load_dtd=False
            )
            for event, node in events:
                yield from reading.on(event, node)
    except etree.XMLSyntaxError as error:
        line = error.lineno or 1
        raise FileUnreadable(f"{file.name}:{line}", "this is not well-formed XML", "fetch it again") from None
    except (EOFError, OSError) as error:
        raise FileUnreadable(file.name, "it is cut or damaged", "fetch it again") from error
    if not reading.statements:
        raise FileUnreadable(file.name, "it has no CAMT.053 statement (`BkToCstmrStmt/Stmt`)", "correct `path`")


class _Reading:
    """The state of one pass over a file."""

    def __init__(self, file: OpenedFile, *, split: bool) -> None:
        self._file, self._split = file, split
        self._path: list[str] = []
        self._number = 0
        self._proof = Proof(file.name)
        self._statement = ""
        self._account: str | None = None
        self.statements = 0

    def on(self, event: str, node: _Node) -> Iterator[Entry]:
        if not isinstance(node.tag, str):
            return
        name = etree.QName(node).localname
        if event == "start":
            self._begin(name, node)
            return
        self._path.pop()
        if self._path[-1:] == ["Stmt"]:
            yield from self._part(name, node)
            node.clear()
        elif name == "Stmt":
            self._end(node)

    def _begin(self, name: str, node: _Node) -> None:
        if not self._path and node.getroottree().docinfo.doctype:
            raise FileRefused(self._file.name, "it declares a document type", "fetch it from the bank again")
        if name == "Stmt":
            self.statements += 1
            self._number, self._statement, self._account = 0, "", None
            self._proof = Proof(self._at(node))
        self._path.append(name)

    def _part(self, name: str, node: _Node) -> Iterator[Entry]:
        if name == "Id":
            self._statement = (node.text or "").strip()
        elif name == "Acct":
            self._account = _text(node, "Id/IBAN") or _text(node, "Id/Othr/Id")
        elif name == "Bal":
            self._balance(node)
        elif name == "Ntry":
            self._number += 1
            entry = self._entry(node)
            if entry.status == "booked":
                self._proof.add(entry.amount)
                self._refuse_currency(entry.currency, node)
            yield from self._transactions(entry, node) if self._split else (entry,)

    def _balance(self, node: _Node) -> None:
        code = _text(node, "Tp/CdOrPrtry/Cd")
        amount, currency = self._amount(node)
        if code in (*OPENING, *CLOSING):
            self._refuse_currency(currency, node)
        if code in OPENING and (self._proof.opening is None or code == "OPBD"):
            self._proof.opening = amount
        elif code in CLOSING:
            self._proof.closing = amount

    def _refuse_currency(self, currency: str, node: _Node) -> None:
        if self._proof.currency not in (None, currency):
            reason = "its entries and balances have several currencies"
            raise FileUnreadable(self._at(node), reason, "ask the bank for a statement in the account's currency")
        self._proof.currency = currency

    def _end(self, node: _Node) -> None:
        self._proof.check()
        node.clear()

    def _entry(self, node: _Node) -> Entry:
        amount, currency = self._amount(node)
        details = _all(node, "NtryDtls/TxDtls")
        return self._described(
            Entry(
                statement=self._statement,
                account=self._account,
                entry=self._number,
                booked=self._day(node, "BookgDt"),
                valued=self._day(node, "ValDt"),
                amount=amount,
                currency=currency,
                status=self._status(node),
                reversal=_text(node, "RvslInd") in ("true", "1"),
                transactions=max(1, len(details), _number(_text(node, "NtryDtls/Btch/NbOfTxs"))),
                code=_code(node),
                reference=None,
                bank_reference=_text(node, "AcctSvcrRef"),
                name=None,
                iban=None,
                purpose=_text(node, "AddtlNtryInf"),
                line=int(node.sourceline or 1),
            ),
            details[0] if len(details) == 1 else None,
        )

    def _described(self, entry: Entry, details: _Node | None) -> Entry:
        """Return the entry with what its transaction says of the other side."""
        if details is None:
            return entry
        party = "Dbtr" if entry.amount > 0 else "Cdtr"
        purpose = " ".join(filter(None, (_stripped(part) for part in _all(details, "RmtInf/Ustrd"))))
        structured = _text(details, "RmtInf/Strd/CdtrRefInf/Ref")
        reference = _provided(_text(details, "Refs/EndToEndId")) or _provided(_text(details, "Refs/InstrId"))
        return replace(
            entry,
            reference=reference or structured,
            bank_reference=entry.bank_reference or _text(details, "Refs/AcctSvcrRef"),
            name=_text(details, f"RltdPties/{party}/Nm") or _text(details, f"RltdPties/{party}/Pty/Nm"),
            iban=_text(details, f"RltdPties/{party}Acct/Id/IBAN")
            or _text(details, f"RltdPties/{party}Acct/Id/Othr/Id"),
            purpose=purpose or structured or _text(details, "AddtlTxInf") or entry.purpose,
        )

    def _transactions(self, entry: Entry, node: _Node) -> Iterator[Entry]:
        """Yield one record for each transaction of a batch, which must add up to the entry."""
        details = _all(node, "NtryDtls/TxDtls")
        if len(details) < 2:
            yield entry
            return
        total = Decimal(0)
        for number, part in enumerate(details):
            amount = self._transaction_amount(part, entry)
            total = EXACT.add(total, amount)
            # A negative line marks the further records of an entry that is counted only once.
            line = entry.line if number == 0 else -entry.line
            yield self._described(replace(entry, amount=amount, transactions=1, purpose=None, line=line), part)
        if total != entry.amount:
            reason = "the transactions of this batch do not add up to its amount"
            raise FileUnreadable(self._at(node), reason, "leave `batches: split` out, or ask the bank for the details")

    def _transaction_amount(self, part: _Node, entry: Entry) -> Decimal:
        amount = _first(part, "Amt")
        amount = _first(part, "AmtDtls/TxAmt/Amt") if amount is None else amount
        if amount is None:
            reason = "a transaction of this batch has no amount"
            raise FileUnreadable(self._at(part), reason, "leave `batches: split` out, or ask the bank for the details")
        sign = _text(part, "CdtDbtInd") or ("CRDT" if entry.amount >= 0 else "DBIT")
        return self._signed(amount, sign, part)[0]

    def _amount(self, node: _Node) -> tuple[Decimal, str]:
        amount = _first(node, "Amt")
        if amount is None:
            raise FileUnreadable(self._at(node), "it has no amount (`Amt`)", "fetch it again from the bank")
        return self._signed(amount, _text(node, "CdtDbtInd"), node)

    def _signed(self, amount: _Node, sign: str | None, node: _Node) -> tuple[Decimal, str]:
        text, currency = _stripped(amount), amount.get("Ccy", "")
        if not _AMOUNT.fullmatch(text) or not _CURRENCY.fullmatch(currency) or sign not in ("CRDT", "DBIT"):
            reason = "its amount needs digits, a currency and `CRDT` or `DBIT`"
            raise FileUnreadable(self._at(node), reason, "fetch it again from the bank")
        return (Decimal(text) if sign == "CRDT" else -Decimal(text)), currency

    def _status(self, node: _Node) -> str:
        code = _text(node, "Sts/Cd") or _text(node, "Sts") or ""
        if code not in STATUS:
            raise FileUnreadable(self._at(node), f"its status is none of {', '.join(STATUS)}", "ask the bank")
        return STATUS[code]

    def _day(self, node: _Node, name: str) -> dt.date | None:
        text = _text(node, f"{name}/Dt") or _text(node, f"{name}/DtTm")
        if text is None:
            return None
        try:
            if _DAY.match(text):
                return dt.date.fromisoformat(text[:10])
        except ValueError:
            pass  # told below, like a text of another form
        raise FileUnreadable(self._at(node), f"`{name}` is not a date", "fetch it again from the bank")

    def _at(self, node: _Node) -> str:
        return f"{self._file.name}:{node.sourceline}"


def _all(node: _Node, path: str) -> list[_Node]:
    """The elements at a path of local names, in any namespace."""
    return list(node.findall("/".join(f"{{*}}{step}" for step in path.split("/"))))


def _first(node: _Node, path: str) -> _Node | None:
    return next(iter(_all(node, path)), None)


def _text(node: _Node, path: str) -> str | None:
    element = _first(node, path)
    return (_stripped(element) or None) if element is not None else None


def _stripped(element: _Node) -> str:
    return " ".join((element.text or "").split())


def _provided(text: str | None) -> str | None:
    return None if text is None or text.upper() in NOT_PROVIDED else text


def _number(text: str | None) -> int:
    return int(text) if text is not None and re.fullmatch("[0-9]{1,9}", text) else 0


def _code(node: _Node) -> str | None:
    """The bank's transaction code: domain, family and sub-family, or its own."""
    domain = [_text(node, f"BkTxCd/Domn/{part}") for part in ("Cd", "Fmly/Cd", "Fmly/SubFmlyCd")]
    return "-".join(part for part in domain if part) or _text(node, "BkTxCd/Prtry/Cd")
