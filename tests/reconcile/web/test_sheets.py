"""The console's findings as a file, and a file with decisions that is given back to it."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import openpyxl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reconcile.web.console import review, sheets
from reconcile.web.multipart import parts_of
from tests.support.chance import examples
from tests.support.web import PII, Browser, Page, Site, cheap_hashes, site_of
from tests.support.world import DELETE, Kept, World

pytestmark = pytest.mark.slow

__all__ = ["cheap_hashes"]

GROUPS = 22
ROWS = [(2 * n + half, f"{n:02}@x", "Anna") for n in range(GROUPS) for half in (0, 1)]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    world = World.at(tmp_path_factory.mktemp("prepared") / "w", *ROWS, twins=DELETE)
    world.config["datasets"] = {"customers": PII}
    world.run()
    return world.kept()


@pytest.fixture
def site(prepared: Kept) -> Iterator[Site]:
    with site_of(prepared.restored()) as site:
        yield site


def rows_of(page: Page) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(page.body.decode("utf-8-sig"))))


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=";")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8-sig")


def give(browser: Browser, content: bytes, name: str = "back.csv", **fields: str) -> Page:
    """Send the form as a browser does."""
    fields = {"csrf": browser.csrf("/review")} | fields
    parts = [f'--X\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items()]
    head = f'--X\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: x/y\r\n\r\n'
    body = "".join([*parts, head]).encode() + content + b"\r\n--X--\r\n"
    kind = {"Content-Type": "multipart/form-data; boundary=X"}
    sent = browser.ask("POST", "/review/file", body.decode("latin-1"), **kind)  # latin-1 is what the client sends
    return browser.follow(sent)


def test_a_viewer_downloads_what_the_filter_shows_masked(site: Site) -> None:
    browser = site.browser("vic")
    links = re.findall(r'href="(/review/findings[^"]+)"', browser.get("/review?severity=medium").body.decode())

    files = {link.partition("?")[0].rpartition(".")[2]: browser.get(link.replace("&amp;", "&")) for link in links}
    none = rows_of(browser.get("/review/findings.csv?state=snoozed"))

    rows = rows_of(files["csv"])
    assert (len(rows), none) == (GROUPS, [])
    assert {row["key"] for row in rows} == {"email = •••"}
    assert all(link.endswith("?severity=medium") for link in links)
    sheet = openpyxl.load_workbook(io.BytesIO(files["xlsx"].body))["findings"]
    assert sheet.max_row == GROUPS + 1
    assert re.fullmatch(
        r'attachment; filename="findings-\d{4}-\d\d-\d\d\.xlsx"', files["xlsx"].headers["Content-Disposition"]
    )
    assert "@x" not in "".join(map(str, sheet.values)) + files["csv"].body.decode()
    assert browser.get("/review/findings.exe").status == 404


def test_a_reviewer_gives_a_file_back_and_sees_what_became_of_it(site: Site) -> None:
    browser = site.browser("bob")
    rows = rows_of(browser.get("/review/findings.csv"))
    rows[0] |= {"decision": "approve", "note": "Müller ✓"}
    rows[1] |= {"decision": "dismiss"}
    rows[2] |= {"decision": "undo"}
    rows[3] |= {"note": "later"}

    answer = give(browser, as_csv(rows))
    again = give(browser, as_csv(rows))

    names = [row["id"] for row in rows]
    assert (answer.status, f"1 finding approved: {names[0]} ." in answer.text) == (200, True), answer.text
    assert f"1 finding dismissed: {names[1]} ." in answer.text
    assert "1 finding not decided:" in answer.text
    assert "this needs the role operator" in answer.text
    assert "1 row has a note, a time or a person, but no decision: skipped." in answer.text
    assert f"2 findings unchanged: {names[0]} , {names[1]} ." in again.text
    states = site.world.findings()
    assert [states[row["id"]] for row in rows[:3]] == ["approved", "dismissed", "awaiting_approval"]
    assert "clean" in site.woken


def test_a_workbook_comes_back_byte_for_byte(site: Site) -> None:
    browser = site.browser("bob")
    book = openpyxl.load_workbook(io.BytesIO(browser.get("/review/findings.xlsx").body))
    sheet = book["findings"]
    place = next(cell.column for cell in sheet[1] if cell.value == "decision")
    for number in range(2, GROUPS + 2):
        sheet.cell(number, place, "dismiss")
    saved = io.BytesIO()
    book.save(saved)

    refused = give(browser, saved.getvalue(), "C:\\files\\back.XLSX")
    before = set(site.world.findings().values())
    answer = give(browser, saved.getvalue(), "back.xlsx", number=str(GROUPS))

    assert (
        refused.status,
        f"The file has {GROUPS} decisions. Nothing was changed; enter {GROUPS}" in refused.text,
    ) == (
        409,
        True,
    ), refused.text
    assert before == {"awaiting_approval"}
    assert f"{GROUPS} findings dismissed: " in answer.text
    assert set(site.world.findings().values()) == {"dismissed"}


def test_mistakes_are_listed_with_their_lines_and_nothing_is_decided(site: Site) -> None:
    browser = site.browser("bob")
    rows = rows_of(browser.get("/review/findings.csv"))
    rows[0] |= {"decision": "dismiss"}
    rows[1] |= {"decision": "<b>yes</b>"}
    rows[2] |= {"decision": "assign"}

    answer = give(browser, as_csv(rows))
    no_file = browser.send("/review/file", "/review")
    second = give(browser, b"hello", "note.txt")

    assert answer.status == 422
    assert "back.csv, line 3, column decision : <b>yes</b> is not a decision" in answer.text
    assert "back.csv, line 4, column to" in answer.text
    assert (no_file.status, "No file was chosen" in no_file.text) == (422, True)
    assert (second.status, "note.txt: its name has no known ending" in second.text) == (422, True)
    assert set(site.world.findings().values()) == {"awaiting_approval"}


@pytest.mark.parametrize("user", ["bob", "vic"])
def test_a_file_needs_the_role_and_the_token_of_the_session(site: Site, user: str) -> None:
    browser = site.browser(user)
    rows = rows_of(browser.get("/review/findings.csv"))
    rows[0] |= {"decision": "dismiss"}

    answer = give(browser, as_csv(rows), csrf="0" * 64)

    assert answer.status == 403
    assert set(site.world.findings().values()) == {"awaiting_approval"}
    assert ('type="file"' in browser.get("/review").body.decode()) == (user == "bob")


@pytest.mark.parametrize(
    "body",
    ["", "--X", "--X--", "--X\r\n\r\n--X--", "--X\r\nContent-Disposition: form-data\r\n\r\na\r\n--X--", "x" * 90],
)
def test_a_body_that_is_no_form_is_refused(site: Site, body: str) -> None:
    browser = site.browser("bob")

    for kind in ("multipart/form-data; boundary=X", "multipart/form-data", "multipart/mixed; boundary=X"):
        assert browser.ask("POST", "/review/file", body, **{"Content-Type": kind}).status == 403


def test_more_than_the_console_carries_is_for_the_command_line(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = site.browser("bob")
    rows = rows_of(browser.get("/review/findings.csv"))
    monkeypatch.setattr(sheets, "MOST", 1)
    monkeypatch.setattr(sheets, "_MOST_EXPORTED", 5)
    assert review.MOST == 1_000

    many = give(browser, as_csv([row | {"decision": "dismiss"} for row in rows[:2]]))
    large = browser.get("/review/findings.csv")

    assert (many.status, "The file has 2 decisions, and the console takes at most 1" in many.text) == (422, True)
    assert (large.status, f"These are {GROUPS} findings" in large.text) == (422, True)
    assert set(site.world.findings().values()) == {"awaiting_approval"}


@settings(max_examples=examples(150), deadline=None)
@given(content=st.binary(max_size=300) | st.lists(st.sampled_from(list(b"\r\n-X\0\x0b\xff")), max_size=60).map(bytes))
def test_a_file_arrives_byte_for_byte(content: bytes) -> None:
    assume(b"\r\n--boundary" not in content)
    head = b'--boundary\r\nContent-Disposition: form-data; name="file"; filename="a \xc3\xa4.xlsx"\r\n\r\n'

    [part] = parts_of("multipart/form-data; boundary=boundary", head + content + b"\r\n--boundary--\r\n")

    assert (part.name, part.file, part.content) == ("file", "a ä.xlsx", content)
