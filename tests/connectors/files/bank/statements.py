"""Statements of invented accounts, as banks write them."""

CAMT_ENTRY = """
   <Ntry>
    <Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{sign}</CdtDbtInd>{more}<Sts>{status}</Sts>
    <BookgDt><Dt>{day}</Dt></BookgDt><ValDt><Dt>{day}</Dt></ValDt><AcctSvcrRef>{ref}</AcctSvcrRef>
    <BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn></BkTxCd>
    <NtryDtls>{details}</NtryDtls>
   </Ntry>"""
CAMT = """<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.{version}">
 <BkToCstmrStmt>
  <GrpHdr><MsgId>M-1</MsgId><CreDtTm>2026-11-03T06:00:00</CreDtTm></GrpHdr>
  <Stmt>
   <Id>2026-212</Id>
   <Acct><Id><IBAN>DE89370400440532013000</IBAN></Id><Ccy>EUR</Ccy></Acct>
   <Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{opening}</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>
   <Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{closing}</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>
   {entries}
  </Stmt>
 </BkToCstmrStmt>
</Document>
"""
MT940 = """\
:20:STARTUMSE
:25:37040044/0532013000
:28C:00212/001
:60F:C251230EUR1000,50
:61:2512311231D45,00NDDTNONREF//POS123
:86:105?00LASTSCHRIFT?109310?20EREF+E2E-17?21SVWZ+Rechnung 4711 ?22vom 1.11.?30COBADEFF\
?31DE02120300000000202051?32MUELLER GMBH
:61:2601020102C250,00NTRFNONREF
:86:166?00GUTSCHRIFT?20SVWZ+Auftrag A-17?32ERIKA MUSTER
:61:2601020102RC10,00NTRFK-77
:86:166?00STORNO?20SVWZ+Storno
:62F:C260102EUR1195,50
:86:Kein Umsatz: Hinweis der Bank
-
"""


def camt_details(*parts: str) -> str:
    return "".join(f"<TxDtls>{part}</TxDtls>" for part in parts)


def camt_entry(amount: str, sign: str = "CRDT", day: str = "2026-11-02", details: str = "", **more: str) -> str:
    values = {"more": "", "status": "BOOK", "ref": "R-1"} | more
    return CAMT_ENTRY.format(amount=amount, sign=sign, day=day, details=details, **values)


def camt(*entries: str, opening: str = "100.00", closing: str = "100.00", version: str = "02") -> str:
    return CAMT.format(version=version, opening=opening, closing=closing, entries="".join(entries))


OFX_HEADER = """\
OFXHEADER:100
DATA:OFXSGML
VERSION:102
SECURITY:NONE
ENCODING:USASCII
CHARSET:1252
COMPRESSION:NONE
OLDFILEUID:NONE
NEWFILEUID:NONE

"""
OFX_TRANSACTION = """
<STMTTRN>
<TRNTYPE>{kind}
<DTPOSTED>{day}
<TRNAMT>{amount}
<FITID>{fitid}
<NAME>{name}
{more}</STMTTRN>"""
OFX = """\
<OFX>
<SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO</STATUS><LANGUAGE>ENG</SONRS></SIGNONMSGSRSV1>
{statements}
</OFX>
"""
OFX_STATEMENT = """\
<BANKMSGSRSV1><STMTTRNRS><TRNUID>1<STATUS><CODE>0<SEVERITY>INFO</STATUS>
<STMTRS><CURDEF>{currency}
<BANKACCTFROM><BANKID>12030000<ACCTID>{account}<ACCTTYPE>CHECKING</BANKACCTFROM>
<BANKTRANLIST><DTSTART>20260101<DTEND>20260131{transactions}
</BANKTRANLIST>
<LEDGERBAL><BALAMT>{balance}<DTASOF>20260131120000[-5:EST]</LEDGERBAL>
</STMTRS></STMTTRNRS></BANKMSGSRSV1>"""
OFX_CARD = """\
<CREDITCARDMSGSRSV1><CCSTMTTRNRS><TRNUID>1<STATUS><CODE>0<SEVERITY>INFO</STATUS>
<CCSTMTRS><CURDEF>{currency}
<CCACCTFROM><ACCTID>{account}</CCACCTFROM>
<BANKTRANLIST><DTSTART>20260101<DTEND>20260131{transactions}
</BANKTRANLIST>
<LEDGERBAL><BALAMT>{balance}<DTASOF>20260131120000[-5:EST]</LEDGERBAL>
</CCSTMTRS></CCSTMTTRNRS></CREDITCARDMSGSRSV1>"""
QIF = """\
!Type:Bank
D01/31/26
T-45.00
N1001
PMueller
MInvoice 4711
LHousehold
^
D02/01/26
T1,250.00
PErika Muster
^
"""


def ofx_transaction(amount: str = "-10.00", fitid: str = "F-1", **values: str) -> str:
    parts = {"kind": "DEBIT", "day": "20260105120000[-5:EST]", "name": "Cafe", "more": ""} | values
    return OFX_TRANSACTION.format(amount=amount, fitid=fitid, **parts)


def ofx_statement(*transactions: str, form: str = OFX_STATEMENT, **values: str) -> str:
    parts = {"currency": "EUR", "account": "1001", "balance": "100.00"} | values
    return form.format(transactions="".join(transactions), **parts)


def ofx(*statements: str, header: str = OFX_HEADER) -> str:
    return header + OFX.format(statements="\n".join(statements))
