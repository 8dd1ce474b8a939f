"""CAMT (ISO 20022, every version): statements (053), reports of a day (052) and notifications (054), streamed from XML.

One record is one entry (`Ntry`) as the account shows it. A batch that the bank booked in one sum can be split into its
transactions (`TxDtls`) if all of them have amounts in the account's currency, which then add up to the entry. Balances
prove a statement; reports and notifications have only totals, which are compared wherever a file has them.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from lxml import etree

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileRefused, FileUnreadable
from connectors.files.bank.camt_entries import Context, entry_of, signed_amount, split
from connectors.files.bank.camt_nodes import Node, place, text_at
from connectors.files.bank.camt_totals import StatementTotals
from connectors.files.bank.statement import BalanceProof, BankEntry

OPENING, CLOSING = ("OPBD", "PRCD"), ("CLBD",)
KINDS = {
    ("BkToCstmrStmt", "Stmt"): "statement",
    ("BkToCstmrAcctRpt", "Rpt"): "report",
    ("BkToCstmrDbtCdtNtfctn", "Ntfctn"): "notification",
}
_VERSION = re.compile(r"V\d\d$")
_ENTRY = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?Ntry[\s/>]")
_OVERLAP = 64
_PIECE = 1 << 20


def count(file: OpenedFile) -> int:
    """Count the entries by their tags, without a parser of XML."""
    total, tail = 0, b""
    for chunk in _pieces(file):
        window = tail + chunk
        keep = max(0, len(window) - _OVERLAP)
        total += sum(match.start() < keep for match in _ENTRY.finditer(window))
        tail = window[keep:]
    return total + len(_ENTRY.findall(tail))


def _pieces(file: OpenedFile) -> Iterator[bytes]:
    """Yield the content in pieces, UTF-16 as UTF-8."""
    with file.bytes() as content:
        is_wide = content.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    with file.bytes() as content:
        text = codecs.getreader("utf-16")(content) if is_wide else None
        while chunk := text.read(_PIECE).encode() if text is not None else content.read(_PIECE):
            yield chunk


def read(file: OpenedFile, *, batches: bool = False) -> Iterator[BankEntry]:
    """Yield the entries of the whole file, with `batches` split. Raises FileUnreadable and FileRefused."""
    reading = _Reading(file, batches=batches)
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
        raise FileUnreadable(file.name, "it is truncated or damaged", "fetch it again") from error
    if not reading.statements:
        reason = "it has no statement, report or notification of an account (CAMT.053, CAMT.052 or CAMT.054)"
        raise FileUnreadable(file.name, reason, "correct `path`, or set `format`")


class _Reading:
    """The state of one pass over a file."""

    def __init__(self, file: OpenedFile, *, batches: bool) -> None:
        self._file, self._batches = file.name, batches
        self._path: list[str] = []
        self._number = 0
        self._proof = BalanceProof(file.name)
        self._totals = StatementTotals(file.name)
        self._context = Context(file.name, "statement", "", None, None)
        self._depth = 0
        self._is_page = False
        self.statements = 0

    def on(self, event: str, node: Node) -> Iterator[BankEntry]:
        if not isinstance(node.tag, str):
            return
        name = node.tag.rpartition("}")[2]  # of a damaged name, too, for which QName raises
        if event == "start":
            self._begin(name, node)
            return
        self._path.pop()
        if self._depth and len(self._path) == self._depth:
            yield from self._part(name, node)
            node.clear()
        elif name == "MsgPgntn":
            self._is_page = _is_page(node)
        elif self._depth and len(self._path) == self._depth - 1:
            self._proof.check()
            self._totals.check()
            self._depth = 0
            node.clear()

    def _begin(self, name: str, node: Node) -> None:
        if not self._path and node.getroottree().docinfo.doctype:
            raise FileRefused(self._file, "it declares a document type", "fetch it from the bank again")
        container = (_VERSION.sub("", self._path[-1]), name) if self._path else ("", name)
        if not self._depth and container in KINDS:
            self.statements += 1
            self._number, self._depth = 0, len(self._path) + 1
            self._context = Context(self._file, KINDS[container], "", None, None)
            self._proof = BalanceProof(place(self._file, node))
            self._totals = StatementTotals(self._file)
            self._totals.is_page = self._is_page
        self._path.append(name)

    def _part(self, name: str, node: Node) -> Iterator[BankEntry]:
        context = self._context
        if name == "Id":
            self._context = Context(context.file, context.kind, (node.text or "").strip(), None, None)
        elif name == "Acct":
            account = text_at(node, "Id/IBAN", "Id/Othr/Id", "Id/PrtryAcct/Id", "Id/BBAN")
            self._context = Context(context.file, context.kind, context.statement, account, None)
        elif name == "TxsSummry":
            self._totals.say(node)
        elif name.endswith("Pgntn"):
            self._totals.is_page = _is_page(node)
        elif name == "Bal" and context.kind == "statement":
            self._balance(node)
        elif name == "Ntry":
            self._number += 1
            entry = entry_of(context, node, self._number)
            self._totals.add(entry)
            if entry.status == "booked" and context.kind == "statement":
                self._proof.add(entry.amount)
                self._refuse_currency(entry.currency, node)
            yield from split(context, entry, node) if self._batches else (entry,)

    def _balance(self, node: Node) -> None:
        code = text_at(node, "Tp/CdOrPrtry/Cd")
        amount, currency = signed_amount(self._file, node)
        if code in (*OPENING, *CLOSING):
            self._refuse_currency(currency, node)
        if code in OPENING and (self._proof.opening is None or code == "OPBD"):
            self._proof.opening = amount
        elif code in CLOSING:
            self._proof.closing = amount
            context = self._context
            self._context = Context(context.file, context.kind, context.statement, context.account, amount)

    def _refuse_currency(self, currency: str | None, node: Node) -> None:
        if self._proof.currency not in (None, currency):
            reason = "its entries and balances have several currencies"
            remedy = "ask the bank for a statement in the account's currency"
            raise FileUnreadable(place(self._file, node), reason, remedy)
        self._proof.currency = currency


def _is_page(pages: Node) -> bool:
    return text_at(pages, "PgNb") != "1" or text_at(pages, "LastPgInd") not in ("true", "1")
