"""Mails, read back from a real SMTP server on loopback and parsed."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from pydantic import ValidationError

from notifications import conformance
from notifications.errors import ChannelRefused, ChannelUnreachable, DeliveryUnknown, PartlySent, RefusedForNow
from notifications.mail.channel import EmailChannel, EmailSettings
from notifications.wording.headline import headline
from tests.notifications.mail import PASSWORD, Mails, certificates, mail_server
from tests.support.folders import NAUGHTY_STRINGS
from tests.support.notifications import HOSTILE, LATE, double_charges, group, night, trouble

PEOPLE = ["Jörg Müller <joerg@bücher.example>", "finance@example.com"]


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Path, Path]]:
    """An authority, and the certificate of `localhost` that it signed."""
    return certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def server() -> Iterator[tuple[Mails, int]]:
    with mail_server() as server:
        yield server


def mail(port: int, folder: Path, **settings: Any) -> EmailChannel:
    written = {"type": "email", "host": "localhost", "port": port, "security": "none", "from": "bot@example.com"}
    written |= {"to": PEOPLE, "timeout": 5}
    return EmailChannel("team", EmailSettings.model_validate(written | settings), folder)


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_mail_is_encrypted_signed_in_and_reads_as_text_and_html(
    tmp_path: Path, trusted: tuple[Path, tuple[Path, Path]], security: str
) -> None:
    notice = replace(night(double_charges(1)), project="shop-production")
    with mail_server(trusted[1], security=security) as (mails, port):
        secrets = {"username": "bot", "password": PASSWORD, "ca": str(trusted[0]), "security": security}
        channel = mail(port, tmp_path, **secrets, **{"from": "Reconcile für alle <bot@example.com>"})
        channel.check()
        receipt = channel.send(notice)

    [sent], [to] = mails.parsed, mails.to
    text, page = (sent.get_body((kind,)) for kind in ("plain", "html"))
    assert text is not None
    assert page is not None
    assert to == ["joerg@xn--bcher-kva.example", "finance@example.com"]
    assert sent["From"] == "Reconcile für alle <bot@example.com>"
    assert sent["To"].addresses[0].display_name == "Jörg Müller"
    assert sent["Subject"] == headline(notice)
    assert sent["Auto-Submitted"] == "auto-generated"
    assert sent["List-Id"] == "<shop-production.nightly.example.com>"
    assert "keep ch_1, surplus ch_2" in text.get_content()
    assert "<strong>A-17</strong>" in page.get_content()
    assert receipt.details["message_id"] == sent["Message-ID"]
    assert "example" not in receipt.details["recipients"], "the audit log keeps no addresses"


def test_no_password_leaves_for_a_server_that_is_not_the_one_it_claims_to_be(
    tmp_path: Path, trusted: tuple[Path, tuple[Path, Path]]
) -> None:
    (tmp_path / "other").mkdir()
    stranger, _ = certificates(tmp_path / "other")
    secrets = {"username": "bot", "password": PASSWORD, "security": "starttls"}
    with mail_server(trusted[1]) as (mails, port), mail_server() as (plain, bare):
        for ca, host, at in (
            (stranger, "localhost", port),
            (trusted[0], "127.0.0.2", port),
            (trusted[0], "localhost", bare),
        ):
            with pytest.raises((ChannelUnreachable, ChannelRefused)) as raised:
                mail(at, tmp_path, **secrets, ca=str(ca), host=host).send(night(double_charges(1)))
            assert PASSWORD not in str(raised.value)

    assert (mails.passwords, mails.raw, plain.raw) == ([], [], [])


def test_a_repeat_is_the_same_mail_and_the_mails_of_a_job_are_one_thread(
    server: tuple[Mails, int], tmp_path: Path
) -> None:
    mails, port = server
    channel = mail(port, tmp_path)
    begun, ended = trouble(), trouble(replace(LATE, ended=True), name="t-2")
    for notice in (night(double_charges(1)), night(double_charges(1)), night(name="n-2"), begun, ended):
        channel.send(notice)

    first, again, second, *about_itself = mails.parsed
    assert first["Message-ID"] == again["Message-ID"] != second["Message-ID"]
    assert first["Date"] != ""
    assert first["References"] == second["References"] != about_itself[0]["References"]
    assert about_itself[0]["References"] == about_itself[1]["References"]


@pytest.mark.parametrize(
    ("command", "reply", "error"),
    [
        ("MAIL", "451 4.3.0 try later", RefusedForNow),
        ("RCPT", "450 4.2.0 greylisted", RefusedForNow),
        ("DATA", "452 4.3.1 disk full", RefusedForNow),
        ("MAIL", "550 5.7.1 go away", ChannelRefused),
        ("RCPT", "550 5.1.1 no such user Zebulon", ChannelRefused),
        ("DATA", "554 5.7.1 spam about Zebulon", ChannelRefused),
    ],
)
def test_a_reply_of_4xx_is_tried_again_and_one_of_5xx_needs_a_person(
    server: tuple[Mails, int], tmp_path: Path, command: str, reply: str, error: type[Exception]
) -> None:
    mails, port = server
    mails.answers = {command: [reply] * 2}

    with pytest.raises(error) as raised:
        mail(port, tmp_path).send(night(double_charges(1)))

    assert reply[:9] in str(raised.value)
    assert "Zebulon" not in str(raised.value), "a reply may quote the mail"
    assert mails.raw == []


def test_an_answer_lost_after_the_text_is_unknown_and_one_lost_before_it_is_not(
    server: tuple[Mails, int], tmp_path: Path
) -> None:
    mails, port = server
    mails.vanish_after_text = 1
    channel = mail(port, tmp_path)

    with pytest.raises(DeliveryUnknown):
        channel.send(night(double_charges(1)))
    with pytest.raises(ChannelUnreachable):
        mail(9, tmp_path).send(night(double_charges(1)))
    assert len(mails.raw) == 1


def test_who_was_refused_gets_the_mail_later_and_nobody_gets_it_twice(
    server: tuple[Mails, int], tmp_path: Path
) -> None:
    mails, port = server
    mails.refused = {"finance@example.com": "450 4.2.0 greylisted"}
    channel, notice = mail(port, tmp_path), night(double_charges(1))

    with pytest.raises(PartlySent) as raised:
        channel.send(notice)
    mails.refused.clear()
    receipt = channel.finish(notice, raised.value.begun)

    assert mails.to == [["joerg@xn--bcher-kva.example"], ["finance@example.com"]]
    assert channel.finish(notice, receipt) == receipt
    assert len(mails.raw) == 2


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_an_attachment_has_a_row_for_each_record_and_no_cell_is_a_formula(
    server: tuple[Mails, int], tmp_path: Path, form: str
) -> None:
    mails, port = server
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "＝1", "•••", 'A,"B"\n;C']
    largest = tuple(group(number, name=name) for number, name in enumerate(names))

    mail(port, tmp_path, attach=form).send(night(replace(double_charges(8), largest=largest)))

    [attached] = mails.parsed[0].iter_attachments()
    assert attached.get_filename() == f"findings-2026-11-21.{form}"
    content = attached.get_payload(decode=True)
    assert isinstance(content, bytes)
    if form == "csv":
        rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
        shown = ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'⇥=1", "'＝1", "•••", 'A,"B"⏎;C']
    else:
        sheet = openpyxl.load_workbook(io.BytesIO(content)).worksheets[0]
        rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
        assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n"}
        shown = ["=1+1", "+1", "-1", "@SUM(A1)", "⇥=1", "＝1", "•••", 'A,"B"⏎;C']
    assert rows[0][:6] == ["rule", "severity", "finding", "change", "role", "record"]
    assert rows[0][6:] == ["order_id", "amount", "currency (key)", "at risk", "currency"]
    assert [row[6] for row in rows[1::2]] == shown
    assert [row[4] for row in rows[1:3]] == ["keeper", "surplus"]


def test_an_attachment_that_the_server_does_not_take_is_left_out_and_the_mail_says_so(tmp_path: Path) -> None:
    with mail_server(size=20_000) as (mails, port):
        mail(port, tmp_path, attach="csv").send(night(double_charges(1_000)))

    [sent] = mails.parsed
    body = sent.get_body(("plain",))
    assert body is not None
    assert list(sent.iter_attachments()) == []
    assert "too large for a mail" in body.get_content()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"from": "bot@example.com\nBcc: all@example.com"}, "is not a mail address"),
        ({"to": ["a@example.com, b@example.com"]}, "is not a mail address"),
        ({"to": ["Anna\r\nBcc: <all@example.com>"]}, "is not a mail address"),
        ({"to": ["jörg@example.com"]}, "is not a mail address"),
        ({"to": ["a@-.example"]}, "is not a mail address"),
        ({"to": []}, "at least 1"),
        ({"unsubscribe": "https://example.com/>\r\nX: y"}, "must be like https://"),
        ({"password": "x", "username": "bot", "security": "none"}, "unencrypted"),
        ({"password": "x"}, "belong together"),
        ({"host": "mail example"}, "pattern"),
    ],
)
def test_settings_that_could_add_a_header_or_show_a_password_are_refused(
    tmp_path: Path, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValidationError, match=sentence):
        mail(25, tmp_path, **settings)


@pytest.mark.slow
def test_the_channel_keeps_the_promises_of_every_channel(server: tuple[Mails, int], tmp_path: Path) -> None:
    mails, port = server
    settings = {
        "type": "email",
        "host": "localhost",
        "security": "none",
        "from": "b@example.com",
        "to": "c@example.com",
    }
    suite = conformance.Suite(
        opened=lambda: mail(port, tmp_path, **settings),
        settings=settings,
        arrived=lambda: len(mails.raw),
        unreachable=lambda: mail(9, tmp_path, security="starttls", username="b", password=PASSWORD),
        secrets=(PASSWORD,),
    )
    conformance.run(suite)


@pytest.mark.skipif(not NAUGHTY_STRINGS.is_file(), reason="the shared data is not here")
@pytest.mark.slow
def test_the_naughty_strings_stay_text_in_every_part_of_a_mail(server: tuple[Mails, int], tmp_path: Path) -> None:
    mails, port = server
    texts = [*json.loads(NAUGHTY_STRINGS.read_text()), *HOSTILE]
    channel = mail(port, tmp_path, attach="csv", to="c@example.com")
    for number in range(0, len(texts), 40):
        some = texts[number : number + 40]
        groups = tuple(replace(group(0, name=text), surplus=(text, "x"), history=text) for text in some)
        rules = [
            replace(double_charges(1), rule=text, owner=text, runbook=text, why=text, trend=text, skipped=(text,))
            for text in some[:12]
        ]
        notice = night(replace(double_charges(40), largest=groups), *rules, name=some[0] or "n")
        channel.send(replace(notice, job=some[1], project=some[2]))

    for sent in mails.parsed:
        page = sent.get_body(("html",))
        assert page is not None
        assert sent.defects == []
        assert set(sent.keys()) == {
            *("Subject", "From", "To", "Date", "Message-ID", "In-Reply-To", "References", "Auto-Submitted"),
            *("X-Auto-Response-Suppress", "List-Id", "X-Reconcile-Notice", "MIME-Version", "Content-Type"),
        } | set(sent.keys()) & {"X-Peer", "X-MailFrom", "X-RcptTo"}
        content = page.get_content()
        for opening in ("<script", "<img", "<svg", "<iframe", '<a href="java', "<style", "<body onload"):
            assert opening not in content.lower(), opening
        assert len(list(sent.iter_attachments())) == 1
