"""`suggest` proposes a configuration that `check` accepts and whose first run finds the planted duplicates."""

import json
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import chdir
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.files.csv.layout import Layout, layout
from reconcile.profiling import likeness
from reconcile.profiling.columns import ProfiledColumn, personal
from reconcile.profiling.headers import ColumnRole
from rules.values import Type
from tests.support.chance import few
from tests.support.cli import Answer, Project, sqlite

pytestmark = pytest.mark.slow


def accepted(project: Project, target: str) -> Answer:
    """The suggestion, after it was saved as the configuration and `check` accepted it."""
    suggested = project("suggest", target)
    assert suggested.code == 0, suggested.said
    project.write(suggested.out)
    checked = project("check")
    assert checked.code == 0, suggested.out + checked.said
    return suggested


def found(project: Project) -> list[set[str]]:
    """The records of each finding of a run, by the last part of their ids."""
    ran = project("run", "--json", "--all", "--show")
    assert ran.code == 0, ran.said
    reports = ran.json if isinstance(ran.json, list) else [ran.json]
    findings = [finding for report in reports for finding in report["findings"]]
    return [{str(record[-1]) for record in (finding["keeper"], *finding["surplus"])} for finding in findings]


def lines(suggested: Answer) -> list[str]:
    return [line.partition("  # ")[0].strip() for line in suggested.out.splitlines()]


# Ugly files


def german(row: int, day: str, reference: str, amount: str) -> str:
    return f"{row};{day};Lieferant {row % 7};{reference};{amount}"


def test_a_german_bank_export_with_lines_above_and_below_its_table(tmp_path: Path) -> None:
    rows = [german(n, f"{n % 28 + 1:02}.03.2026", f"RE-{1000 + n}", f"1.{100 + n},50") for n in range(60)]
    rows += [german(60, "14.03.2026", "RE 1013", "1.113,50"), german(61, "20.03.2026", "re-01019", "1.119,50")]
    above = "Kontoauszug der Musterbank\nZeitraum: 01.03.2026, bis 31.03.2026\n\n"
    table = "\n".join(["Nr;Buchungstag;Auftraggeber;Belegnummer;Betrag", *rows, ";;;Summe;1,00"])
    (tmp_path / "auszug.csv").write_text(above + table + "\n")
    project = Project(tmp_path)

    suggested = accepted(project, "auszug.csv")

    expected = ["skip: 3", "skip_footer: 1", 'delimiter: ";"', 'decimal: ","', "id: Nr"]
    assert [line for line in expected if line not in lines(suggested)] == []
    assert "Buchungstag: date %d.%m.%Y" in lines(suggested)
    assert "Betrag: decimal" in lines(suggested)
    assert {frozenset(each) for each in found(project)} == {frozenset({"13", "60"}), frozenset({"19", "61"})}


def test_a_list_of_contacts_with_tabs_in_latin_1(tmp_path: Path) -> None:
    names = ["Müller", "Öztürk", "Groß", "Lévy", "Peña", "Ångström", "Weiß", "Jäger", "Brûlé", "Çelik"]
    people = [(n, f"Vorname{chr(97 + n // 10)}", names[n % 10], f"mail{n}@beispiel.example") for n in range(80)]
    people += [
        (80, "vornamea", "MÜLLER", "Mail0@Beispiel.example"),
        (81, "Vornameb", "Lévy", "mail13+neu@beispiel.example"),
    ]
    text = "\n".join(["Kundennummer\tVorname\tNachname\tE-Mail", *("\t".join(map(str, person)) for person in people)])
    (tmp_path / "kunden.csv").write_bytes((text + "\n").encode("latin-1"))
    project = Project(tmp_path)

    suggested = accepted(project, "kunden.csv")

    assert "encoding: cp1252" in lines(suggested)
    assert 'delimiter: "\\t"' in lines(suggested)
    assert "id: Kundennummer" in lines(suggested)
    assert 'pii: [Vorname, Nachname, "E-Mail"]' in lines(suggested) or "pii: [Vorname, Nachname, E-Mail]" in lines(
        suggested
    )
    assert {frozenset(each) for each in found(project)} == {frozenset({"0", "80"}), frozenset({"13", "81"})}


def test_two_digit_years_and_texts_instead_of_values(tmp_path: Path) -> None:
    rows = [[f"T{n:03}", f"{n % 28 + 1:02}/03/26", f"V{n % 9}", f"INV {n}", f"{n}.25"] for n in range(100)]
    rows[7][1] = rows[31][4] = rows[50][2] = "N/A"
    rows += [["T900", "20/03/26", "V4", "inv-0040", "40.25"], ["T901", "21/03/26", "V5", "INV0041", "41.25"]]
    text = "\n".join(",".join(row) for row in [["ticket no", "day", "vendor id", "invoice", "amount"], *rows])
    (tmp_path / "tickets.csv").write_text(text + "\n")
    project = Project(tmp_path)

    suggested = accepted(project, "tickets.csv")

    assert "day: date %d/%m/%y" in lines(suggested)
    assert "null_values: [N/A]" in lines(suggested)
    assert "amount: decimal" in lines(suggested)
    assert {frozenset(each) for each in found(project)} == {frozenset({"T040", "T900"}), frozenset({"T041", "T901"})}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n", Layout(",")),
        ("Title\n\na;b\n1;2\n3;4\n", Layout(";", skip=2)),
        ("Bank;;\nFrom;1.1.26;\nNo;Day;Sum\n1;1.1.26;3\n2;1.1.26;4\n", Layout(";", skip=2)),
        ("a\tb\n1\t2\n3\t4\nTotal\n", Layout("\t", skip_footer=1)),
        ("a|b|c\n1|2|3\n2|2|3\n|Total|6\n\n", Layout("|", skip_footer=1)),
        ("1,2026-01-01\n2,2026-01-02\n", Layout(",", header=False)),
        ("sep=;\na;b\n1;2\n", Layout(";")),
        ('a,b\n"x\ny",2\n"z",3\n', Layout(",")),
        ("only one column\n1\n2\n", None),
        ("", None),
    ],
)
def test_the_layout_of_a_text_file(text: str, expected: Layout | None) -> None:
    assert layout(text, '"', is_whole=True) == expected


def test_a_workbook_with_a_title_above_its_table(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.title = "Members"
    for row in [["Members of the club"], [], ["member no", "email", "joined"]]:
        book.active.append(row)
    for number in range(50):
        book.active.append([f"M{number}", f"member{number}@club.example", "2026-03-01"])
    book.active.append(["M50", "Member7@club.example", "2026-03-02"])
    book.save(tmp_path / "club.xlsx")
    project = Project(tmp_path)

    suggested = accepted(project, "club.xlsx")

    assert "header_row: 3" in lines(suggested)
    assert found(project) == [{"M7", "M50"}]


def test_totals_below_the_table_of_a_sheet_are_left_out(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["beleg nr", "lieferant", "betrag"])
    for number in range(12):
        book.active.append([f"R{number}", "A", number])
    book.active.append([None, "Summe", 66])
    book.active.append([None, "davon offen", 3])
    book.active.append(["Gesamt", None, 66])
    book.save(tmp_path / "bills.xlsx")

    suggested = accepted(Project(tmp_path), "bills.xlsx")

    assert "skip_footer: 1" in lines(suggested)


# Databases


def test_the_duplicates_planted_in_chinook_are_found(tmp_path: Path, shared_data: Path) -> None:
    shutil.copy(shared_data / "chinook" / "chinook.sqlite", tmp_path / "music.sqlite")
    with sqlite(tmp_path / "music.sqlite") as db:
        db.execute(
            "insert into Customer select 900, FirstName, LastName, Company, Address, City, State, Country, PostalCode,"
            " Phone, Fax, upper(Email), SupportRepId from Customer where CustomerId = 7"
        )
        db.execute(
            "insert into Invoice select 901, CustomerId, InvoiceDate, BillingAddress, BillingCity, BillingState,"
            " BillingCountry, BillingPostalCode, Total from Invoice where InvoiceId = 30"
        )
        db.execute("insert into Artist select 902, ' ' || upper(Name) from Artist where ArtistId = 50")
    project = Project(tmp_path)

    suggested = accepted(project, "music.sqlite")

    assert "id: [PlaylistId, TrackId]" in lines(suggested)
    assert "id: InvoiceId" in lines(suggested)
    records = found(project)
    assert [pair for pair in ({"7", "900"}, {"30", "901"}, {"50", "902"}) if pair not in records] == []


def test_the_duplicates_of_the_demo_are_found_from_its_sources_alone(tmp_path: Path) -> None:
    Project(tmp_path)("demo", "--in", "night")
    demo = Project(tmp_path / "night")
    ours = {frozenset(each) for each in found(demo)}
    original = (demo.folder / "reconcile.yaml").read_text()
    sources = original.split("datasets:")[0]
    demo.write(
        sources
        + "datasets: {spare: {source: crm, sheet: Contacts}}\n"
        + "rules: {r: {kind: duplicates, dataset: spare, key: all}}\n"
    )
    parts = {name: demo("suggest", name) for name in ("shop", "crm", "bank")}
    for name, answer in parts.items():
        demo.write(answer.out, f"{name}.yaml")
    demo.write(
        sources.replace(
            "version: 1\n", "version: 1\nstate: sqlite:///fresh.db\ninclude: [shop.yaml, crm.yaml, bank.yaml]\n"
        )
    )

    checked = demo("check")
    theirs = found(demo)

    assert checked.code == 0, checked.said
    assert ours
    assert [group for group in ours if not any(group <= each for each in theirs)] == []


@pytest.mark.parametrize("extra", ["", "unique", "partial"])
def test_a_key_that_the_database_keeps_is_the_id(tmp_path: Path, extra: str) -> None:
    with sqlite(tmp_path / "shop.sqlite") as db:
        db.execute("create table items (line text not null, code text not null, name text)")
        db.executemany("insert into items values (?, ?, ?)", [(str(n), f"c{n}", "x") for n in range(20)])
        if extra:
            where = " where name is not null" if extra == "partial" else ""
            db.execute(f"create unique index items_code on items (code){where}")
    project = Project(tmp_path)

    suggested = accepted(project, "shop.sqlite")

    reason = "a key of the table; unique and not null in 20 records" if extra == "unique" else "unique and not null in"
    assert f"    id: code  # {reason}" in suggested.out


@pytest.mark.server
def test_a_table_of_postgresql_is_profiled(tmp_path: Path, postgres_url: str) -> None:
    import sqlalchemy as sa  # noqa: PLC0415 - only this test

    engine = sa.create_engine(postgres_url)
    with engine.begin() as db:
        db.exec_driver_sql(
            "create table bookings (place int, seat text, paid numeric(10, 2), ccy text, booking_ref text,"
            " unique (seat), primary key (place, seat))"
        )
        db.exec_driver_sql("insert into bookings select n, 's' || n, n, 'EUR', 'B-' || n from generate_series(1, 60) n")
        db.exec_driver_sql("insert into bookings values (99, 's99', 33, 'EUR', 'b 033')")
    engine.dispose()
    head = f'version: 1\nsources: {{shop: {{type: sql, url: "{postgres_url}"}}}}\n'
    project = Project(tmp_path).write(
        head + "datasets: {d: {source: shop, table: bookings}}\nrules: {r: {kind: duplicates, dataset: d, key: all}}\n"
    )

    suggested = project("suggest", "shop")
    project.write(head + suggested.out)

    assert "id: [place, seat]" in lines(suggested)
    assert "money: {amount: paid, currency: ccy}" in lines(suggested)
    assert project("check").code == 0
    assert found(project) == [{"s33", "s99"}]

    project.write(head)
    by_source, by_url = project("suggest", "shop"), project("suggest", f"{postgres_url}?application_name=pw-1")

    assert (by_source.code, by_url.code) == (0, 0)
    assert "id: [place, seat]" in lines(by_source), "a source needs no rules yet"
    assert by_url.out.splitlines()[3] == '  sql: {type: sql, url: "${secret:DATABASE_URL}"}'
    assert "pw-1" not in by_url.said
    assert "id: [place, seat]" in lines(by_url)


# Ids, types and names


def write_csv(folder: Path, name: str, header: str, rows: Iterable[str]) -> Project:
    (folder / name).write_text("\n".join([header, *rows]) + "\n")
    return Project(folder)


def test_two_columns_identify_records_if_none_does(tmp_path: Path) -> None:
    project = write_csv(
        tmp_path, "lines.csv", "order_no,line_no,text", (f"{n // 3},{n % 3},t{n % 29}" for n in range(30))
    )

    suggested = accepted(project, "lines.csv")

    assert "id: [order_no, line_no]" in lines(suggested)
    assert "unique and not null in 30 records" in suggested.out


def test_amounts_with_a_currency_sign_are_no_id(tmp_path: Path) -> None:
    project = write_csv(tmp_path, "euro.csv", "day,what,Betrag", (f"2026-03-0{n % 3 + 1},x,{n}.50 €" for n in range(9)))

    suggested = accepted(project, "euro.csv")

    assert "# id: []" in suggested.out
    assert "Betrag: decimal" in suggested.out


@pytest.mark.parametrize(
    ("header", "value", "proposed"),
    [
        ("Verwendungszweck", "RE-2026-{}", "# id: []"),
        ("reference", "R{}", "# id: []"),
        ("Belegnummer", "B{}", "# id: Belegnummer  # unique in 20 records today; as an id it hides a repeated one"),
        ("note", "paid by {}", "# id: []"),
        ("when", "2026-03-01 10:00:{}", "# id: []"),
        ("total", "{}.50", "# id: []"),
        ("payment_id", "P{}", "    id: payment_id"),
        ("entry", "00{}", "    id: entry"),
    ],
)
def test_what_may_be_repeated_tomorrow_is_no_id(tmp_path: Path, header: str, value: str, proposed: str) -> None:
    """As an id, the reference of a payment hides that it was paid twice."""
    rows = [f"{value.format(n)},Kaffee AG" for n in range(10, 30)]
    project = write_csv(tmp_path, "bank.csv", f"{header},payee", rows)

    assert proposed in project("suggest", "./bank.csv").out


def test_without_an_id_the_reason_is_said(tmp_path: Path) -> None:
    project = write_csv(tmp_path, "rows.csv", "a,b", [*(f"x{n},y{n}" for n in range(40)), "x7,y7"])

    suggested = accepted(project, "rows.csv")

    assert "# id: []  # no column or pair of columns reliably identifies each of 41 records" in suggested.out


def test_what_can_be_read_in_several_ways_is_a_question(tmp_path: Path) -> None:
    project = write_csv(tmp_path, "days.csv", "no,day", (f"{n},0{n % 8 + 1}/0{n % 7 + 1}/2026" for n in range(30)))

    suggested = accepted(project, "days.csv")

    assert "# columns: {day: date %d/%m/%Y or date %m/%d/%Y}  # choose one" in suggested.out


def test_several_files_of_one_kind_are_one_dataset(tmp_path: Path) -> None:
    for month in (1, 2, 3):
        write_csv(
            tmp_path, f"sales-2026-0{month}.csv", "no,email", (f"{month}{n},u{n}{month}@x.example" for n in range(10))
        )
    project = write_csv(tmp_path, "sales-2025-12.csv", "other,header", ["1,2"])
    (tmp_path / "broken.csv").write_text('a,b\n"1,2\n')

    together = accepted(project, f"{tmp_path}/").out
    (tmp_path / "sales-2025-12.csv").unlink()
    grouped = accepted(project, f"{tmp_path}/").out

    assert "path: sales-2025-12.csv" in together
    assert "path: sales-*-*.csv" in grouped
    assert "# Skipped `broken" in grouped


def test_names_with_signs_are_quoted(tmp_path: Path) -> None:
    header = '"Order: No","e\nmail",yes,"# x","a""b"'
    project = write_csv(tmp_path, "odd {name}.csv", header, (f"{n},m{n}@x.example,y,z,1.{n}" for n in range(20)))

    suggested = accepted(project, "./odd {name}.csv")

    assert '# id: "Order: No"  # unique in 20 records today; as an id it hides a repeated one' in suggested.out
    assert 'pii: ["e\\nmail"]' in lines(suggested)


def test_a_configured_dataset_keeps_its_settings(tmp_path: Path) -> None:
    project = write_csv(
        tmp_path,
        "sales.csv",
        "number,net,fee,day,mail",
        (f"{n},{n}.5,1.0,2026-03-01,u{n}@x.example" for n in range(40)),
    )
    project.write(
        "version: 1\nsources: {shop: {type: files, root: .}}\n"
        "datasets:\n  sales:\n    source: shop\n    path: sales.csv\n"
        "    where: net > 3\n    columns: {net: decimal, fee: decimal, gross: {is: net + fee}}\n"
        "rules: {twin: {kind: duplicates, dataset: sales, key: [gross, mail]}}\n"
    )

    suggested = project("suggest", "sales")

    kept = ["where: net > 3", "net: decimal", "gross: {is: net + fee}", "day: date", "id: number", "pii: [mail]"]
    assert [line for line in kept if line not in lines(suggested)] == []
    head = "version: 1\nsources: {shop: {type: files, root: .}}\n"
    more = "rules: {twin: {kind: duplicates, dataset: sales, key: [gross, mail]}}\n"
    assert project.write(head + suggested.out.split("rules:")[0] + more)("check").code == 0


# Personal data


def test_no_value_of_a_personal_column_is_printed(tmp_path: Path) -> None:
    rows = (f"{n},Zaphod{n},zaphod{n}@secret.example,+49 30 90{n:05},DE89370400440532013000,n.v." for n in range(40))
    project = write_csv(tmp_path, "people.csv", "id,surname,email,phone,account,birthday", rows)

    text, as_json = project("suggest", "people.csv"), project("suggest", "people.csv", "--json")

    for answer in (text, as_json):
        assert "aphod" not in answer.said
        assert "secret" not in answer.said
        assert "37040044" not in answer.said
    assert "pii: [surname, email, phone, account, birthday]" in lines(text)
    assert as_json.json["datasets"][0]["settings"]["pii"][:4] == ["surname", "email", "phone", "account"]


CRM = """\
Contact ID,First Name,Last Name,E-mail,Mobile,Account Name,Mailing Street,Mailing City,Mailing Zip,Lead Source
"""


def crm(people: int) -> list[str]:
    """Contacts as a CRM exports them, no two of them alike."""
    firsts = ["Iris", "Bela", "Tom", "Lena", "Igor", "Maya", "Omar", "Sara", "Paul", "Nora"]
    lasts = ["Holm", "Varga", "Ayers", "Kraus", "Petrov", "Singh", "Haddad", "Lund", "Okafor", "Brandt", "Silva"]
    rows = []
    for n in range(people):
        first, last = firsts[n % 10], lasts[n * 7 % 11]
        phone, street = f"+49 30 {n * 7919 % 10_000_000:07}", f"{n * 13 % 97 + 1} {lasts[n % 11]} Street"
        city = ["Berlin", "Hamburg", "Leeds"][n % 3]
        mail = f"{first}.{last}.{n * 37 % 89}@mail{n % 17}.example".lower()
        rows.append(f"{n},{first},{last},{mail},{phone},{lasts[n * 3 % 11]} Ltd,{street},{city},{10000 + n * 31},Web")
    return rows


def test_contacts_written_differently_get_a_rule_that_runs_as_it_is(tmp_path: Path) -> None:
    rows = crm(110)
    rows.append("900,Tomas,Ayres,,030 0015838,,3 Ayers St.,Leeds,10062,Fair")
    (tmp_path / "customers.csv").write_text(CRM + "\n".join(rows) + "\n")
    project = Project(tmp_path)

    suggested = accepted(project, "customers.csv")

    assert "similar-customers:" in lines(suggested)
    [compare] = [line for line in lines(suggested) if line.startswith("compare:")]
    assert compare == (
        "compare: {First Name: given_name, Last Name: surname, E-mail: email, Mobile: phone, Account Name: company, "
        "Mailing Street: address, Mailing City: city, Mailing Zip: postcode}"
    )
    assert {"2", "900"} in found(project)


def test_a_suggestion_in_json_says_how_many_records_were_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reconcile.profiling.likeness.SAMPLE", 60)
    rows = [*crm(50), "900,Tomas,Ayres,,030 0015838,,3 Ayers St.,Leeds,10062,Fair", *crm(110)[51:]]
    (tmp_path / "customers.csv").write_text(CRM + "\n".join(rows) + "\n")
    project = Project(tmp_path)

    [rule] = [
        rule for rule in project("suggest", "customers.csv", "--json").json["datasets"][0]["rules"] if "compare" in rule
    ]

    assert (rule["rule"], rule["groups"], rule["records"], rule["compared"]) == ("similar-customers", 1, 2, 60)
    assert "1 group with 2 of the first 60 records" in project("suggest", "customers.csv").out


def test_orders_of_the_same_people_are_no_twins(tmp_path: Path) -> None:
    rows = [f"{n},Customer {chr(65 + n % 9)},c{n % 9}@mail.example,+49 30 90{n % 9:05},{n}.50" for n in range(90)]
    project = write_csv(tmp_path, "orders.csv", "order no,customer name,email,phone,amount", rows)

    assert "kind: similar" not in lines(project("suggest", "orders.csv"))


def column(name: str, *samples: str, kind: Type = Type.TEXT) -> ProfiledColumn:
    return ProfiledColumn(name, kind, 100, 0, 90, samples)


@pytest.mark.parametrize(
    ("dataset", "columns", "types"),
    [
        ("customers", ["name", "email"], ["name", "email"]),
        ("kunden", ["Vorname", "Nachname", "Telefonnummer", "Ort"], ["given_name", "surname", "phone", "city"]),
        ("clients", ["nom", "prénom", "date de naissance"], ["surname", "given_name", "date"]),
        ("clienti", ["nome", "cognome", "indirizzo", "città"], ["given_name", "surname", "address", "city"]),
        ("clientes", ["nombre", "apellidos", "teléfono"], ["given_name", "surname", "phone"]),
        ("klanten", ["naam", "straat", "woonplaats"], ["name", "address", "city"]),
        ("lieferanten", ["name", "strasse", "plz"], ["company", "address", "postcode"]),
        ("suppliers", ["supplier_name", "street", "zip"], ["company", "address", "postcode"]),
        ("people", ["name", "city"], []),
        ("people", ["email", "phone"], []),
        ("tracks", ["title", "composer"], []),
    ],
)
def test_the_types_of_columns_follow_from_their_names_in_several_languages(
    dataset: str, columns: list[str], types: list[str]
) -> None:
    samples = {"email": "a@b.example"}
    profiled = [column(name, samples.get(name, "Ann Brown")) for name in columns]

    chosen = likeness.compared(dataset, profiled, personal(dataset, profiled), ())

    assert list(chosen.values()) == types


def test_names_with_legal_forms_are_companies() -> None:
    firms = [column("name", "Brandt AG", "Holm Ltd", "Acme", "Kraus GmbH"), column("street", "Main St 1")]
    persons = [column("name", "Ann Brown", "Bela Varga", "Lena Kraus"), column("street", "Main St 1")]

    types = [likeness.compared("partners", columns, {}, ())["name"] for columns in (firms, persons)]

    assert types == ["company", "name"]


def test_ids_and_nearly_empty_columns_are_not_compared() -> None:
    rarely = ProfiledColumn("phone", Type.TEXT, 100, 95, 5, ["+49 30 1234567"])
    columns = [column("name", "Ann Brown"), column("email", "a@b.example"), rarely]

    assert likeness.compared("people", columns, {}, ()) == {"name": "name", "email": "email"}
    assert likeness.compared("people", columns, {}, ("email",)) == {}


@pytest.mark.parametrize(
    ("name", "type_", "samples", "role"),
    [
        ("EMail", Type.TEXT, ["a@b.de", "c@d.de"], ColumnRole.EMAIL),
        ("contact", Type.TEXT, ["a@b.de", "c@d.de"], ColumnRole.EMAIL),
        ("email", Type.TEXT, ["yes", "no"], ColumnRole.TEXT),
        ("Telefon", Type.TEXT, ["030 123456"], ColumnRole.PHONE),
        ("x", Type.TEXT, ["+49 30 1234567", "+44 20 1234567"], ColumnRole.PHONE),
        ("konto", Type.TEXT, ["DE89 3704 0044 0532 0130 00"], ColumnRole.IBAN),
        ("konto", Type.TEXT, ["DE88 3704 0044 0532 0130 00"], ColumnRole.TEXT),
        ("first_name", Type.TEXT, ["Ann"], ColumnRole.GIVEN_NAME),
        ("LastName", Type.TEXT, ["Ann"], ColumnRole.SURNAME),
        ("Geburtsdatum", Type.DATE, ["2000-01-01"], ColumnRole.BIRTH),
        ("BillingAddress", Type.TEXT, ["Main St 1"], ColumnRole.STREET),
        ("total", Type.DECIMAL, ["1.00"], ColumnRole.AMOUNT),
        ("Betrag", Type.TEXT, ["12,50 €", "1.300,00\xa0€", "-4 EUR"], ColumnRole.PRICE),
        ("paid", Type.TEXT, ["$12.50", "USD 1,300.00", "€ 3"], ColumnRole.PRICE),
        ("invoice", Type.TEXT, ["INV 123", "INV 124"], ColumnRole.DOCUMENT),
        ("Rechnungsnummer", Type.TEXT, ["R1"], ColumnRole.DOCUMENT),
        ("order_id", Type.TEXT, ["A-1"], ColumnRole.DOCUMENT),
        ("customer_id", Type.INTEGER, ["1"], ColumnRole.PARTY),
        ("currency", Type.TEXT, ["EUR"], ColumnRole.CURRENCY),
        ("booked", Type.DATE, ["2026-01-01"], ColumnRole.CREATED),
    ],
)
def test_what_a_column_holds_is_seen_by_its_name_and_its_values(
    name: str, type_: Type, samples: list[str], role: ColumnRole
) -> None:
    assert ProfiledColumn(name, type_, 1000, 0, 900, samples).role is role


def test_names_are_personal_where_records_are_people() -> None:
    def name(text: str) -> list[ProfiledColumn]:
        return [ProfiledColumn("name", Type.TEXT, 100, 0, 90, [text] * 3)]

    assert personal("customers", name("Ann Brown")) == {"name": ColumnRole.NAME}
    assert personal("tracks", name("Let There Be Rock")) == {}
    assert personal("customers", name("A-17/b")) == {}


# What is wrong


def test_an_unknown_target_gets_one_sentence(tmp_path: Path) -> None:
    project = write_csv(tmp_path, "people.csv", "id,name", ["1,a"])
    (tmp_path / "notes.doc").write_text("x")
    project.write(
        "version: 1\nsources: {lists: {type: files, root: .}}\ndatasets: {people: {source: lists, path: people.csv}}\n"
        "rules: {r: {kind: duplicates, dataset: people, key: all}}\n"
    )

    answers = [project("suggest", name) for name in ("peple", "gone.csv", "notes.doc", "postgressql://me:pw-1@h/d")]

    assert [answer.code for answer in answers] == [2, 2, 2, 2]
    assert "There is no dataset or source 'peple'; did you mean `people`?" in answers[0].err
    assert "'gone.csv' is not a dataset or source of the configuration, a file, or a database URL" in answers[1].err
    assert "'notes.doc' is not a file of a known type" in answers[2].err
    assert answers[3].err == "'postgressql://' is not a supported database; did you mean 'postgresql://'?\n"


def test_suggesting_writes_nothing(tmp_path: Path) -> None:
    project = write_csv(tmp_path, "people.csv", "id,name", (f"{n},a{n}" for n in range(9)))

    project("suggest", "people.csv")

    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


cells = st.one_of(
    st.sampled_from(
        ["", "N/A", "1", "2.50", "3,5", "01.02.2026", "2026-01-31", "a@b.example", "+49 30 123456", "Ann", "x y"]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters='\r\n"\0'), max_size=5),
)
headers = st.sampled_from(
    [
        "id",
        "Nr",
        "name",
        "email",
        "amount",
        "Betrag",
        "date",
        "currency",
        "order_id",
        "phone",
        "iban",
        "#",
        "a b",
        "status",
    ]
)


@pytest.mark.chaos
@settings(max_examples=few(10, 200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(headers, min_size=2, max_size=5, unique=True),
    st.lists(st.lists(cells, min_size=5, max_size=5), min_size=1, max_size=25),
)
def test_check_accepts_whatever_is_suggested(names: list[str], rows: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        text = [
            ",".join(json.dumps(cell, ensure_ascii=False).replace('\\"', '""') for cell in row[: len(names)])
            for row in (names, *rows)
        ]
        (Path(folder) / "t.csv").write_text("\n".join(text) + "\n")
        project = Project(Path(folder))

        suggested = project("suggest", "t.csv")

        if "rules:" in suggested.out:
            project.write(suggested.out)
            assert project("check").code in (0, 2), suggested.out
