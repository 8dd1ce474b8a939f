"""What people see of a record: the columns of `display`, what differs, the link, in every width, and never more."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.config.link import address, parse_link
from tests.support.cli import Answer, Project, sqlite

PEOPLE = [
    ("7", "ann@x.com", "Ann/Ann?&", "Bonn", "10.00"),
    ("8", "ANN@x.com", "Anna", "Köln", "10.00"),
    ("9", "bob@x.com", "Bob", "Rom", "5.00"),
]
CONFIG = """
version: 1
sources: {{shop: {source}}}
datasets:
  people:
    source: shop
    {place}
    id: nr
    pii: [mail]
    display: [name, city, mail, gone]
    link: "https://crm.example/{{{{ record.nr }}}}/{{{{record.name}}}}?all"
rules: {{twins: {{kind: duplicates, dataset: people, key: [{{mail: [lower]}}]}}}}
jobs: {{nightly: {{rules: all}}}}
"""
TABLE = "create table people (nr varchar(9) primary key, mail varchar(40), name varchar(40), city varchar(40), "


def project(folder: Path, engine: str, url: str = "sqlite:///shop.db") -> Project:
    if engine == "csv":
        lines = ["nr,mail,name,city,total,gone", *(",".join((*row, "")) for row in PEOPLE)]
        (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return Project(folder).write(CONFIG.format(source="{type: files, root: .}", place="path: people.csv"))
    database = sa.create_engine(url.replace("sqlite:///", f"sqlite:///{folder}/"))
    with database.begin() as connection:
        connection.exec_driver_sql(f"{TABLE} total numeric(9, 2), gone varchar(3))")
        names = ("nr", "mail", "name", "city", "total")
        insert = sa.text(f"insert into people ({', '.join(names)}) values ({', '.join(f':{n}' for n in names)})")
        connection.execute(insert, [dict(zip(names, row, strict=True)) for row in PEOPLE])
    database.dispose()
    return Project(folder).write(CONFIG.format(source=f"{{type: sql, url: '{url}'}}", place="table: people"))


def shown(answer: Answer) -> Any:
    assert answer.code == 0, answer.said
    return answer.json["side_by_side"]


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("engine", ["csv", "sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
@pytest.mark.slow
def test_columns_that_the_rule_does_not_name_are_read_for_the_records_of_findings(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_url") if engine == "postgresql" else "sqlite:///shop.db"
    shop = project(tmp_path, engine, url)
    [foreseen] = shop("run", "--dry-run", "--json").json["findings"]
    assert shop("run", "-q").code == 0
    [finding] = shop("findings", "--json").json

    view = shown(shop("show", finding["id"], "--json"))

    assert view["fields"] == ["name", "city", "mail"]
    first, second = view["records"]
    assert first["values"] == {"name": "Ann/Ann?&", "city": "Bonn", "mail": "•••"}
    assert second["values"] == {"name": "Anna", "city": "Köln", "mail": "•••"}
    assert (first["differs"], second["differs"]) == ([], ["name", "city", "mail"])
    assert first["link"] == "https://crm.example/7/Ann%2FAnn%3F%26?all"
    assert foreseen["side_by_side"] == view
    text = shop("show", finding["id"], "--show").out
    assert "mail ann@x.com ANN@x.com ≠" in words(text)
    assert "They have the same mail (lower)." in text


@pytest.mark.parametrize("shows", [False, True])
def test_a_message_shows_the_displayed_columns_of_its_records_without_personal_data(
    shows: bool, tmp_path: Path
) -> None:
    shop = project(tmp_path, "sqlite")
    file, show = tmp_path / "reconcile.yaml", ", show: [mail]" if shows else ""
    written = file.read_text().replace("{rules: all}", "{rules: all, notify: [desk]}")
    file.write_text(f"{written}channels: {{desk: {{type: file, path: messages.txt{show}}}}}\n")

    shop("run", "-q")

    message = (tmp_path / "messages.txt").read_text()
    mails = (" · mail ann@x.com", " · mail ANN@x.com") if shows else ("", "")
    assert f"7: name Ann/Ann?& · city Bonn{mails[0]}\n" in message
    assert f"8: name Anna · city Köln{mails[1]}\n" in message


@pytest.mark.slow
def test_a_change_of_a_displayed_value_alone_is_shown_and_no_news(tmp_path: Path) -> None:
    shop = project(tmp_path, "sqlite")
    shop("run", "-q")
    [before] = shop("findings", "--json").json
    with sqlite(tmp_path / "shop.db") as database:
        database.execute("update people set city = 'Bonn' where nr = '8'")

    run = shop("run", "--json").json

    [after] = shop("findings", "--json").json
    assert run["rules"][0]["findings"]["known"] == 1
    assert after["version"] == before["version"]
    assert shown(shop("show", after["id"], "--json"))["records"][1]["differs"] == ["name", "mail"]
    assert shop.audit_is_intact()


@pytest.mark.slow
def test_display_and_link_change_neither_findings_nor_plans(tmp_path: Path) -> None:
    """Also where two records share an id, which only the compared columns order."""
    with sqlite(tmp_path / "shop.db") as database:
        database.execute("create table people (nr text primary key, mail text, name text, city text)")
        database.execute("insert into people values ('1', 'a', 'Zoe', 'Bonn'), ('2', 'a', 'Ann', 'Rom')")
    clean = "clean: {action: delete}, limits: {share: 100%}"
    head = "version: 1\nsources: {shop: {type: sql, url: 'sqlite:///shop.db'}}\n"
    rule = f"rules: {{twins: {{kind: duplicates, dataset: people, key: [mail], {clean}}}}}\n"
    shop = Project(tmp_path).write(f"{head}datasets: {{people: {{source: shop, table: people, id: nr}}}}\n{rule}")
    shop("run", "-q")
    [plan] = shop("plan", "--json").json
    more = "display: [name, city], link: 'https://x.example/{{ record.nr }}'"
    shop.write(f"{head}datasets: {{people: {{source: shop, table: people, id: nr, {more}}}}}\n{rule}")

    run, [again] = shop("run", "--json").json, shop("plan", "--json").json

    assert run["rules"][0]["findings"]["known"] == 1
    assert again["plan_hash"] == plan["plan_hash"]
    text = shop("plan").out
    assert "name Zoe Ann ≠" in words(text)
    assert "1  https://x.example/1" in text
    assert shop("approve", plan["finding"], "--plan-hash", plan["plan_hash"]).code == 0


@pytest.mark.slow
def test_records_of_two_datasets_stand_side_by_side_each_with_its_own_columns(tmp_path: Path) -> None:
    (tmp_path / "ledger.csv").write_text("id,no,total,text\ne1,A,20.00,Rent May\n")
    (tmp_path / "bank.csv").write_text("line,reference,amount,payee\n4,A,18.00,Landlord\n")
    bank = Project(tmp_path).write("""
        version: 1
        sources: {here: {type: files, root: .}}
        datasets:
          ledger: {source: here, path: ledger.csv, id: id, columns: {total: decimal}, display: [no, total, text]}
          bank: {source: here, path: bank.csv, id: line, columns: {amount: decimal},
                 display: [payee, amount, reference], link: "http://bank.example/#{{ record.line }}"}
        rules:
          paid: {kind: reconciliation, left: ledger, right: bank, key: {left: [no], right: [reference]},
                 compare: {left: [total], right: [amount]}}
    """)
    assert bank("run", "-q").code == 0
    [finding] = bank("findings", "--json").json

    view = shown(bank("show", finding["id"], "--json"))

    left, right = view["records"]
    assert view["fields"] == ["no / reference", "total / amount", "text", "payee"]
    assert left["values"] == {"no / reference": "A", "total / amount": "20.00", "text": "Rent May"}
    assert right["values"] == {"no / reference": "A", "total / amount": "18.00", "payee": "Landlord"}
    assert right["differs"] == ["total / amount"]
    assert right["link"] == "http://bank.example/#4"
    assert "They are paired by no / reference, but differ." in bank("show", finding["id"]).out


def test_datasets_compared_together_show_their_columns_under_the_names_of_the_rule(tmp_path: Path) -> None:
    (tmp_path / "crm.csv").write_text("id,email,town\nc1,a@x,Bonn\n")
    (tmp_path / "web.csv").write_text("nr,customer_email,city,plan\nw1,a@x,Rom,pro\n")
    shop = Project(tmp_path).write("""
        version: 1
        sources: {here: {type: files, root: .}}
        datasets:
          crm: {source: here, path: crm.csv, id: id, display: [town]}
          web: {source: here, path: web.csv, id: nr, display: [city, plan],
                link: "https://web.example/{{ record.customer_email }}"}
        rules:
          twins: {kind: duplicates, datasets: [crm, web], key: [email],
                  columns: {web: {email: customer_email, town: city}}}
    """)
    assert shop("run", "-q").code == 0
    [finding] = shop("findings", "--json").json

    view = shown(shop("show", finding["id"], "--json"))

    assert view["fields"] == ["town", "plan"]
    assert [record["values"] for record in view["records"]] == [{"town": "Bonn"}, {"town": "Rom", "plan": "pro"}]
    assert view["records"][1]["link"] == "https://web.example/a%40x"


@pytest.mark.slow
def test_an_erased_record_has_neither_values_nor_a_link(tmp_path: Path) -> None:
    shop = project(tmp_path, "sqlite")
    shop("run", "-q")
    [finding] = shop("findings", "--json").json

    assert shop("erase", "people", "--id", "8").code == 0

    text = shop("show", finding["id"], "--show").said
    assert "7  https://crm.example/7/" in text
    assert "Anna" not in text
    assert text.count("https://") == 1


@pytest.mark.slow
def test_every_shape_of_a_finding_fits_into_eighty_columns(tmp_path: Path) -> None:
    """Two long records stand as columns, many short ones as rows, many long ones a few at a time."""
    rows = [f"L{n},long,{'word ' * 9}{n},{'x' * 90},{n}" for n in range(7)]
    rows += [f"S{n},short,a,b,{n}" for n in range(40)] + [f"T{n},two,{'t' * 60},u,{n}" for n in range(2)]
    (tmp_path / "many.csv").write_text("\n".join(["id,grp,first,second,third", *rows, ""]))
    shop = Project(tmp_path).write("""
        version: 1
        sources: {here: {type: files, root: .}}
        datasets: {many: {source: here, path: many.csv, id: id, display: [first, second, third]}}
        rules: {same: {kind: duplicates, dataset: many, key: [grp], max_share: 100%}}
    """)
    shop("run", "-q")
    drawn = {}
    for finding in shop("findings", "--json").json:
        drawn[finding["key"]["grp"]] = shop("show", finding["id"]).out

    assert max(len(line) for text in drawn.values() for line in text.splitlines()) <= 80
    assert all(f"L{n}" in drawn["long"] for n in range(7))
    assert "… and 10 more records; --json shows all" in drawn["short"]
    assert "surplus S1 a b 1 ≠" in words(drawn["short"])


LINKS = {
    "crm.example/{{ record.id }}": "is not a link",
    "ftp://crm.example/{{ record.id }}": "is not a link",
    "https://{{ record.host }}/x": "is not a link",
    "https://user:secret@crm.example/{{ record.id }}": "is not a link",
    "https://crm.example/x": "gives every record the same page",
    "https://crm.example/{{ keeper.id }}": "may contain only {{ record.column }} in braces",
    "https://crm.example/{{ record.id }}/a b": "a character that links cannot",
    "https://crm.example/{{ record.mail }}": "personal data",
    "https://crm.example/{{ record.gross }}": "personal data",
}


@pytest.mark.parametrize("link", LINKS)
def test_a_link_that_would_lead_elsewhere_or_show_personal_data_is_refused(link: str, tmp_path: Path) -> None:
    columns = "columns: {gross: {is: mail}}"
    shop = Project(tmp_path).write(f"""
        version: 1
        sources: {{shop: {{type: files, root: .}}}}
        datasets:
          people: {{source: shop, path: people.csv, id: id, pii: [mail], {columns},
                   link: "{link}"}}
        rules: {{twins: {{kind: duplicates, dataset: people, key: [id]}}}}
    """)

    answer = shop("check")

    assert answer.code == 2
    assert LINKS[link] in answer.err
    assert "reconcile.yaml:6:" in answer.err


def test_a_value_cannot_leave_its_place_in_a_link() -> None:
    link = parse_link("https://crm.example/c/{{ record.id }}?x={{record.id}}")

    assert (
        address(link, {"id": "../a b&c#é"}) == "https://crm.example/c/..%2Fa%20b%26c%23%C3%A9?x=..%2Fa%20b%26c%23%C3%A9"
    )
    assert [address(link, {"id": value}) for value in ("..", ".", "", " ", None)] == [None] * 5
    assert address(link, {"id": 7}) == "https://crm.example/c/7?x=7"


def test_a_misspelt_column_of_display_is_named_with_the_nearest(tmp_path: Path) -> None:
    shop = project(tmp_path, "csv")
    shop.write((tmp_path / "reconcile.yaml").read_text().replace("city, mail", "citty, mail"))

    answer = shop("run")

    assert answer.code == 2
    assert "`display` names `citty`, but dataset `people` has no such column; did you mean `city`?" in answer.out
