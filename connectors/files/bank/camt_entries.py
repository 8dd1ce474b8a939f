"""An entry (`Ntry`) of CAMT as a record, or as a record for each of its transactions (`TxDtls`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from connectors.errors import FileUnreadable
from connectors.files.bank.camt_nodes import (
    AGAIN,
    Node,
    all_at,
    amount_in,
    day_in,
    first_at,
    number_of,
    place,
    rate_in,
    reference_at,
    text_at,
    text_of,
)
from connectors.files.bank.statement import EXACT, BankEntry

STATUS = {"BOOK": "booked", "PDNG": "pending", "INFO": "information", "FUTR": "future"}
_AMOUNTS = ("Amt", "AmtDtls/TxAmt/Amt", "AmtDtls/CntrValAmt/Amt", "AmtDtls/AnncdPstngAmt/Amt", "AmtDtls/InstdAmt/Amt")
"""Where a transaction has its amount; the account's currency decides which of them is meant."""
_PAID = ("AmtDtls/InstdAmt/Amt", "AmtDtls/TxAmt/Amt", "Amt", "AmtDtls/CntrValAmt/Amt", "AmtDtls/PrtryAmt/Amt")
"""Where a transaction has what was paid in another currency."""
_COUNTS = ("NtryDtls/Btch/NbOfTxs", "Btch/NbOfTxs")
"""Version 1 has the second."""
_RATES = tuple(f"AmtDtls/{name}/CcyXchg/XchgRate" for name in ("InstdAmt", "TxAmt", "CntrValAmt", "AnncdPstngAmt"))


@dataclass(frozen=True)
class Context:
    """The fields that all entries of one statement share."""

    file: str
    kind: str
    statement: str
    account: str | None
    closing: Decimal | None


def signed_amount(file: str, node: Node) -> tuple[Decimal, str]:
    """Return the amount of an entry or a balance and its currency. Raises FileUnreadable."""
    amount = first_at(node, "Amt")
    if amount is None:
        raise FileUnreadable(place(file, node), "it has no amount (`Amt`)", AGAIN)
    return amount_in(file, amount, text_at(node, "CdtDbtInd"), node)


def entry_of(context: Context, node: Node, number: int) -> BankEntry:
    """Return the entry as one record. Raises FileUnreadable with the line."""
    file = context.file
    amount, currency = signed_amount(file, node)
    transactions = _transactions_in(node)
    batches = [element for path in _COUNTS for element in all_at(node, path)]
    entry = BankEntry(
        statement=context.statement,
        account=context.account,
        entry=number,
        booked=day_in(file, node, "BookgDt"),
        valued=day_in(file, node, "ValDt"),
        amount=amount,
        currency=currency,
        status=_status(file, node),
        reversal=text_at(node, "RvslInd") in ("true", "1"),
        transactions=max(1, len(transactions), sum(number_of(text_of(element)) or 0 for element in batches)),
        code=_code(node),
        reference=None,
        bank_reference=reference_at(node, "AcctSvcrRef"),
        name=None,
        iban=None,
        purpose=text_at(node, "AddtlNtryInf"),
        line=int(node.sourceline or 1),
        kind=context.kind,
        batch_reference=reference_at(node, "NtryDtls/Btch/PmtInfId", "Btch/PmtInfId"),
        details=text_at(node, "AddtlNtryInf"),
        closing_balance=context.closing,
    )
    entry = _exchanged(file, entry, node)
    return _described(file, entry, transactions[0]) if len(transactions) == 1 else entry


def split(context: Context, entry: BankEntry, node: Node) -> Iterator[BankEntry]:
    """Yield a record for each transaction of a batch, which must add up to the entry.

    A batch with a transaction that has no amount in the entry's currency stays one record: nothing is converted.
    Raises FileUnreadable.
    """
    parts = _transactions_in(node)
    amounts = [amount for part in parts if (amount := _own_amount(context.file, part, entry)) is not None]
    if len(parts) < 2 or len(amounts) < len(parts):
        yield entry
        return
    total = Decimal(0)
    for amount in amounts:
        total = EXACT.add(total, amount)
    if total != entry.amount:
        reason = "the transactions of this batch do not add up to its amount"
        remedy = "leave out `batches: split`, or ask the bank for the details"
        raise FileUnreadable(place(context.file, node), reason, remedy)
    for number, (part, amount) in enumerate(zip(parts, amounts, strict=True)):
        # A negative line marks the further records of an entry that is counted only once.
        line = entry.line if number == 0 else -entry.line
        single = replace(entry, amount=amount, transactions=1, purpose=None, line=line)
        single = replace(single, original_amount=None, original_currency=None, exchange_rate=None)
        yield _described(context.file, single, part)


def _transactions_in(node: Node) -> list[Node]:
    return all_at(node, "NtryDtls/TxDtls") or all_at(node, "TxDtls")


def _own_amount(file: str, part: Node, entry: BankEntry) -> Decimal | None:
    """The amount of a transaction in the currency of its entry; None if it has none."""
    amounts = (element for path in _AMOUNTS for element in all_at(part, path))
    amount = next((element for element in amounts if element.get("Ccy") == entry.currency), None)
    return None if amount is None else amount_in(file, amount, _sign(part, entry), part)[0]


def _sign(part: Node, entry: BankEntry) -> str:
    return text_at(part, "CdtDbtInd") or ("CRDT" if entry.amount >= 0 else "DBIT")


def _exchanged(file: str, entry: BankEntry, node: Node) -> BankEntry:
    """The entry with what was paid in another currency, if the element says that."""
    amounts = (element for path in _PAID for element in all_at(node, path))
    paid = next((element for element in amounts if element.get("Ccy") != entry.currency), None)
    if paid is None:
        return entry
    amount, currency = amount_in(file, paid, _sign(node, entry), node)
    rate = rate_in(text_at(node, *_RATES))
    return replace(entry, original_amount=amount, original_currency=currency, exchange_rate=rate)


def _described(file: str, entry: BankEntry, part: Node) -> BankEntry:
    """The entry with what its transaction says of the other side."""
    party = "Dbtr" if entry.amount > 0 else "Cdtr"
    purpose = " ".join(filter(None, (text_of(element) for element in all_at(part, "RmtInf/Ustrd"))))
    structured = text_at(part, "RmtInf/Strd/CdtrRefInf/Ref")
    end_to_end = reference_at(part, "Refs/EndToEndId")
    transaction = reference_at(part, "Refs/AcctSvcrRef")
    return replace(
        _exchanged(file, entry, part),
        reference=end_to_end or reference_at(part, "Refs/InstrId") or structured,
        bank_reference=entry.bank_reference or transaction,
        name=text_at(part, f"RltdPties/{party}/Nm", f"RltdPties/{party}/Pty/Nm"),
        iban=text_at(part, f"RltdPties/{party}Acct/Id/IBAN", f"RltdPties/{party}Acct/Id/Othr/Id"),
        purpose=purpose or structured or text_at(part, "AddtlTxInf") or entry.purpose,
        end_to_end=end_to_end,
        transaction_reference=transaction or reference_at(part, "Refs/TxId", "Refs/UETR"),
        batch_reference=reference_at(part, "Refs/PmtInfId") or entry.batch_reference,
    )


def _status(file: str, node: Node) -> str:
    code = text_at(node, "Sts/Cd", "Sts") or ""
    if code not in STATUS:
        raise FileUnreadable(place(file, node), f"its status is not one of {', '.join(STATUS)}", "ask the bank")
    return STATUS[code]


def _code(node: Node) -> str | None:
    """The bank's transaction code: domain, family and sub-family, or its own."""
    domain = [text_at(node, f"BkTxCd/Domn/{part}") for part in ("Cd", "Fmly/Cd", "Fmly/SubFmlyCd")]
    return "-".join(part for part in domain if part) or text_at(node, "BkTxCd/Prtry/Cd")
