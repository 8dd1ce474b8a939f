"""The outbox: each message sent by one sender, looked for after a doubt, retried inside its budget, never lost."""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa

from notifications.base import DeliveryReceipt, FailureNotice, GroupNotice, Notice, RuleNotice
from notifications.errors import (
    CannotBeAsked,
    ChannelError,
    ChannelRefused,
    ChannelUnreachable,
    DeliveryUnknown,
    RateLimited,
)
from reconcile.audit import log
from reconcile.messages import delivery, outbox
from reconcile.schedule import retry
from reconcile.store import Store, tables
from reconcile.store.errors import StoreUnreachable
from tests.support.office import STATE, Office, notice
from tests.support.store import NOON, Program, in_parallel

UNREACHABLE = ChannelUnreachable("slack", "127.0.0.1:9", "connection refused")
UNKNOWN = DeliveryUnknown("slack", "the answer was lost")
REFUSED = ChannelRefused("slack", "invalid_auth", "use the right token.")
DEAF = CannotBeAsked("hook", "a webhook only takes")


class Mailbox:
    """A channel that holds what arrived, and answers each send and each look as the script says, then well.

    A scripted `DeliveryUnknown` on send means that the message arrived and the answer was lost.
    """

    def __init__(self, *sends: ChannelError | None, looks: tuple[ChannelError | None, ...] = (), arrives: bool = True):
        self.arrived: list[str] = []
        self.looked = 0
        self._sends = list(sends)
        self._looks = list(looks)
        self._arrives = arrives

    def send(self, notice: Notice) -> DeliveryReceipt:
        error = self._sends.pop(0) if self._sends else None
        if error is None or (isinstance(error, DeliveryUnknown) and self._arrives):
            self.arrived.append(notice.id)
        if error is not None:
            raise error
        return DeliveryReceipt("mailbox", {"ts": str(len(self.arrived))})

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        self.looked += 1
        error = self._looks.pop(0) if self._looks else None
        if error is not None:
            raise error
        return DeliveryReceipt("mailbox", {"ts": "found"}) if notice.id in self.arrived else None


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with Office.open(STATE, tmp_path) as office:
        yield office


def events(office: Office) -> list[str]:
    return [entry.event.removeprefix("message.") for entry in office.entries("message")]


# Queueing


def test_a_message_is_queued_exactly_when_the_facts_are_kept(office: Office) -> None:
    with pytest.raises(sa.exc.IntegrityError):
        _queue_and_break(office.store)
    assert office.messages() == []

    office.queue("m1")

    assert [(message.message, message.status) for message in office.messages()] == [("m1", "queued")]
    assert events(office) == ["queued"]


def _queue_and_break(store: Store) -> None:
    with store.begin() as tx:
        outbox.enqueue(tx, "slack", notice("m1"))
        tx.connection.execute(sa.update(tables.meta).values(id=2))


def test_a_notice_comes_out_of_the_outbox_as_it_went_in(office: Office) -> None:
    group = GroupNotice(
        "F-7K2M9Q",
        "new",
        {"ref": "\ud800 \x00 Zoë <!channel>"},
        "ch_1",
        ("ch_2",),
        2,
        money={"EUR": Decimal("12.340")},
        first=NOON,
        seconds_apart=(29.5, 1e-7),
    )
    rule = RuleNotice("double", "high", "charges", 1, 0, 0, 0, 0, 1, money={"EUR": Decimal("1E+3")}, largest=(group,))
    failure = FailureNotice("bank", "could not read", since=NOON.replace(microsecond=1))
    sent = Notice("m1", "nightly", "run1_x", NOON, rules=(rule,), failures=(failure,), test=True)

    with office.store.begin() as tx:
        outbox.enqueue(tx, "slack", sent)

    with office.store.read() as tx:
        assert outbox.notice_of(tx.connection.execute(sa.select(tables.outbox.c.notice)).scalar_one()) == sent


def test_queueing_the_same_message_again_changes_nothing_and_another_one_under_its_id_is_refused(
    office: Office,
) -> None:
    office.queue("m1")

    with office.store.begin() as tx:
        assert outbox.enqueue(tx, "slack", notice("m1")) is False
        with pytest.raises(outbox.MessageConflict, match="m1 is already in the outbox"):
            outbox.enqueue(tx, "hook", notice("m1"))

    assert len(office.messages()) == 1


# Delivering


def test_messages_are_sent_once_in_order_with_their_receipts_and_the_story_is_in_the_audit_log(office: Office) -> None:
    box = Mailbox()
    office.queue("m1", "m2")

    report = office.deliver(box)
    again = office.deliver(box)

    assert box.arrived == ["m1", "m2"]
    assert [(item.message, item.receipt) for item in report.sent] == [
        ("m1", DeliveryReceipt("mailbox", {"ts": "1"})),
        ("m2", DeliveryReceipt("mailbox", {"ts": "2"})),
    ]
    assert (report.failed, report.waiting, again) == ([], [], delivery.DeliveryReport())
    assert events(office) == ["queued", "queued", "sending", "sent", "sending", "sent"]


def test_a_message_known_not_to_be_sent_is_sent_again_without_a_look(office: Office) -> None:
    box = Mailbox(UNREACHABLE, UNREACHABLE)
    office.queue("m1")

    report = office.deliver(box)

    assert (box.arrived, box.looked) == (["m1"], 0)
    assert report.sent[0].attempts == 3
    assert events(office) == ["queued", *["sending", "retry"] * 2, "sending", "sent"]


def test_a_lost_answer_is_looked_for_and_the_message_is_not_sent_twice(office: Office) -> None:
    box = Mailbox(UNKNOWN)
    office.queue("m1")

    report = office.deliver(box)

    assert box.arrived == ["m1"]
    assert report.sent[0].receipt == DeliveryReceipt("mailbox", {"ts": "found"})


def test_a_message_is_sent_again_only_after_three_looks_over_ten_seconds(office: Office) -> None:
    box = Mailbox(UNKNOWN, arrives=False)
    office.queue("m1")

    office.deliver(box)

    assert (box.arrived, box.looked) == (["m1"], 3)
    assert office.clock.now - NOON >= dt.timedelta(seconds=10)


def test_a_look_that_fails_is_no_answer_and_nothing_is_sent_on_it(office: Office) -> None:
    box = Mailbox(UNKNOWN, looks=(None, UNREACHABLE))
    box.arrived.append("other")
    office.queue("m1")

    report = office.deliver(box)

    assert box.arrived == ["other", "m1"]
    assert report.sent[0].status == "sent"


def test_a_channel_that_cannot_be_asked_gets_a_doubtful_message_again_with_the_same_id(office: Office) -> None:
    box = Mailbox(UNKNOWN, looks=(DEAF,))
    office.queue("m1")

    report = office.deliver(box)

    assert box.arrived == ["m1", "m1"]
    assert not report.sent[0].outcome_unknown


def test_where_a_person_is_to_be_asked_a_doubtful_message_waits_for_that_person(office: Office) -> None:
    box = Mailbox(UNKNOWN, looks=(DEAF,))
    office.queue("m1")

    report = office.deliver(box, ask_a_person=["slack"])
    later = office.deliver(box, ask_a_person=["slack"])

    assert box.arrived == ["m1"]
    assert [(item.status, item.outcome_unknown) for item in report.failed] == [("unknown", True)]
    assert "cannot check" in str(report.failed[0].problem)
    assert later == delivery.DeliveryReport()


def test_a_person_can_have_a_failed_message_sent_again(office: Office) -> None:
    box = Mailbox(UNKNOWN, looks=(DEAF, DEAF))
    office.queue("m1")
    office.deliver(box, ask_a_person=["slack"])

    with office.store.begin() as tx:
        assert outbox.requeue(tx, "m1", actor="ann")
        assert not outbox.requeue(tx, "m1", actor="ann")
    report = office.deliver(box, ask_a_person=["slack"])

    assert [item.status for item in report.sent] == ["sent"]
    assert "requeued" in events(office)


def test_a_person_still_decides_about_a_doubtful_message_whose_budget_is_used_up(office: Office) -> None:
    """Its news is not told by a later run, as that of a message that is known not to have arrived."""
    box = Mailbox(UNKNOWN, looks=(UNKNOWN,) * 30)
    office.queue("m1")

    report = office.deliver(box, ask_a_person=["slack"], patience=dt.timedelta(days=4))

    assert [(item.status, item.outcome_unknown) for item in report.failed] == [("unknown", True)]
    assert "`reconcile messages requeue m1`" in str(report.failed[0].problem)
    assert events(office)[-1] == "unknown"


def test_a_doubt_outlives_a_later_attempt_that_is_known_not_to_have_been_sent(office: Office) -> None:
    box = Mailbox(UNKNOWN, UNREACHABLE, UNKNOWN, looks=(DEAF, DEAF))
    office.queue("m1")

    office.deliver(box)

    assert box.looked == 3, "after the refused connection it still had to ask"


def test_a_refused_message_is_not_repeated_by_the_same_delivery_but_by_the_next(office: Office) -> None:
    box = Mailbox(REFUSED)
    office.queue("m1", "m2")

    first = office.deliver(box)
    office.clock.sleep(60)
    second = office.deliver(box)

    assert [item.message for item in first.sent] == ["m2"]
    assert [(item.message, item.problem) for item in first.waiting] == [("m1", str(REFUSED))]
    assert [item.message for item in second.sent] == ["m1"]


def test_what_a_channel_asks_for_is_waited_for_within_the_patience(office: Office) -> None:
    box = Mailbox(RateLimited("slack", 20.0))
    office.queue("m1")

    report = office.deliver(box)

    assert len(report.sent) == 1
    assert office.clock.now - NOON == dt.timedelta(seconds=20)


def test_what_is_due_later_than_the_patience_is_left_to_the_next_delivery(office: Office) -> None:
    box = Mailbox(RateLimited("slack", 31.0))
    office.queue("m1")

    first = office.deliver(box)
    waited = office.clock.now - NOON
    too_early = office.deliver(box, patience=dt.timedelta(0))
    office.clock.sleep(31)
    second = office.deliver(box)

    assert (first.sent, waited) == ([], dt.timedelta(0))
    assert first.waiting[0].next_at == NOON + dt.timedelta(seconds=31)
    assert too_early.sent == []
    assert [item.message for item in second.sent] == ["m1"]


def test_one_delivery_never_waits_longer_than_its_patience_in_all(office: Office) -> None:
    office.queue("m1")

    office.deliver(Mailbox(*[UNREACHABLE] * 30))

    assert office.clock.now - NOON <= delivery.PATIENCE


def test_a_message_whose_attempts_are_used_up_is_failed_and_said_so(office: Office) -> None:
    policy = retry.Policy(dt.timedelta(milliseconds=1), dt.timedelta(seconds=1), 3, dt.timedelta(days=1))
    box = Mailbox(*[UNREACHABLE] * 9)
    office.queue("m1")

    report = office.deliver(box, policy=policy)
    office.clock.sleep(86_400)
    later = office.deliver(box, policy=policy)

    assert [(item.message, item.attempts, item.problem) for item in report.failed] == [("m1", 3, str(UNREACHABLE))]
    assert later == delivery.DeliveryReport()
    assert events(office) == ["queued", "sending", "retry", "sending", "retry", "sending", "failed"]


def test_a_message_that_overslept_its_budget_is_still_tried_once(office: Office) -> None:
    """A machine that was off for a week must not wake up to failed messages nobody tried to send."""
    office.queue("m1", "m2")
    office.clock.sleep(7 * 86_400)

    report = office.deliver(Mailbox(None, UNREACHABLE))

    assert [item.message for item in report.sent] == ["m1"]
    assert [item.message for item in report.failed] == ["m2"]


def test_a_message_to_a_channel_nobody_configures_any_more_waits_and_then_fails(office: Office) -> None:
    office.queue("m1", channel="pigeon")

    early = office.deliver(Mailbox())
    office.clock.sleep(4 * 86_400)
    late = office.deliver(Mailbox())

    assert [item.message for item in early.waiting] == ["m1"]
    assert [item.problem for item in late.failed] == ["channel 'pigeon' is no longer configured"]


def test_one_bad_channel_does_not_hold_up_another(office: Office) -> None:
    office.queue("m1", channel="slack")
    office.queue("m2", channel="hook")
    hook = Mailbox()

    report = delivery.deliver(
        office.store, {"slack": Mailbox(*[UNREACHABLE] * 40), "hook": hook}, sleep=office.clock.sleep
    )

    assert hook.arrived == ["m2"]
    assert [item.message for item in report.waiting] == ["m1"]


def test_every_delay_is_in_the_audit_log_so_that_it_can_be_computed_again(office: Office) -> None:
    office.queue("m1")
    office.deliver(Mailbox(UNREACHABLE))

    with office.store.read() as tx:
        (entry,) = log.entries(tx, event="message.retry")

    decision = retry.decide("m1", 0, outbox.MESSAGES)
    assert entry.body == {
        "message": "m1",
        "channel": "slack",
        "run": None,
        "class": "ChannelUnreachable",
        "outcome_unknown": False,
        "attempts_left": 23,
        **decision.to_json(),
    }


def test_a_sender_that_lost_its_claim_before_the_second_send_does_not_send(office: Office) -> None:
    """It looked for ten seconds; meanwhile somebody thought it dead and sent the message."""
    office.queue("m1")
    box = Mailbox(UNKNOWN, arrives=False)
    moves = []

    def sleep(seconds: float) -> None:
        office.clock.sleep(seconds)
        if box.looked:
            moves.append(seconds)
            with office.store.begin() as tx:
                tx.connection.execute(sa.update(tables.outbox).values(fence=tables.outbox.c.fence + 1))

    delivery.deliver(office.store, {"slack": box}, sleep=sleep)

    assert box.arrived == []
    assert moves == [4.0, 6.0]


def test_what_was_sent_while_the_state_went_away_is_looked_for_by_the_next_delivery_of_that_process(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.queue("m1")
    box, begin = Mailbox(), office.store.begin

    def begin_until_it_arrived() -> object:
        if box.arrived:
            raise StoreUnreachable("the state", "it is restarted")
        return begin()

    monkeypatch.setattr(office.store, "begin", begin_until_it_arrived)
    with pytest.raises(StoreUnreachable):
        office.deliver(box)
    monkeypatch.undo()
    assert [message.status for message in office.messages()] == ["sending"]

    office.deliver(box)

    assert ([message.status for message in office.messages()], len(box.arrived), box.looked) == (["sent"], 1, 1)


# Processes

CHANNEL = """
from notifications.base import Notice, DeliveryReceipt
class Hall:
    def __init__(self, name):
        self.path = root / "hall"
    def send(self, notice):
        with open(self.path, "a") as file:
            file.write(notice.id + "\\n")
        return DeliveryReceipt("hall")
    def find(self, notice):
        return DeliveryReceipt("hall") if notice.id in self.path.read_text().split() else None
"""


@pytest.mark.slow
def test_eight_senders_at_once_send_every_message_once(url: str, tmp_path: Path) -> None:
    with Store.open(url, tmp_path) as store:
        with store.begin() as tx:
            for n in range(60):
                outbox.enqueue(tx, "hall", notice(f"m{n}"))
        code = CHANNEL + (
            "with Store.open(url, root, patience=dt.timedelta(seconds=60)) as store:\n"
            "    print(len(delivery.deliver(store, {'hall': Hall('hall')}, patience=dt.timedelta(0)).sent))\n"
        )

        counts = [int(item) for item in in_parallel(8, code, url, tmp_path)]

        assert sorted((tmp_path / "hall").read_text().split()) == sorted(f"m{n}" for n in range(60))
        assert sum(counts) == 60
        assert log.verify(store).intact


@pytest.mark.chaos
@pytest.mark.parametrize("moment", ["before the send", "after the send"])
def test_a_sender_killed_while_sending_leaves_a_message_that_is_told_once(
    moment: str, url: str, tmp_path: Path
) -> None:
    body = (
        "os.kill(os.getpid(), signal.SIGKILL)"
        if moment == "before the send"
        else "super().send(notice); " + ("os.kill(os.getpid(), signal.SIGKILL)")
    )
    code = CHANNEL + (
        f"class Deadly(Hall):\n    def send(self, notice):\n        {body}\n"
        "with Store.open(url, root) as store:\n    delivery.deliver(store, {'hall': Deadly('hall')})\n"
    )
    (tmp_path / "hall").touch()
    with Store.open(url, tmp_path) as store:
        with store.begin() as tx:
            outbox.enqueue(tx, "hall", notice("m1"))
        killed = Program(code, url, tmp_path).ready().go()
        assert killed.exit_code() == -9
        hall = Hall(tmp_path / "hall")
        waits: list[float] = []

        report = delivery.deliver(store, {"hall": hall}, sleep=waits.append)

        assert (tmp_path / "hall").read_text().split() == ["m1"]
        assert [item.status for item in report.sent] == ["sent"]
        assert waits == ([4.0, 6.0] if moment == "before the send" else [])


class Hall:
    """A channel that is a file, as the programs above have it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def send(self, notice: Notice) -> DeliveryReceipt:
        with self.path.open("a") as file:
            file.write(notice.id + "\n")
        return DeliveryReceipt("hall")

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        return DeliveryReceipt("hall") if notice.id in self.path.read_text().split() else None


@pytest.mark.slow
def test_a_message_another_live_process_is_sending_is_left_to_it(url: str, tmp_path: Path) -> None:
    code = CHANNEL + (
        "class Slow(Hall):\n    def send(self, notice):\n        print('sending')\n"
        "        wait()\n        return super().send(notice)\n"
        "with Store.open(url, root) as store:\n    delivery.deliver(store, {'hall': Slow('hall')})\n"
    )
    (tmp_path / "hall").touch()
    with Store.open(url, tmp_path) as store:
        with store.begin() as tx:
            outbox.enqueue(tx, "hall", notice("m1"))
        slow = Program(code, url, tmp_path).ready().go()
        assert slow.line() == "sending"

        meanwhile = delivery.deliver(store, {"hall": Hall(tmp_path / "hall")})
        slow.go().end()

        assert meanwhile == delivery.DeliveryReport()
        assert (tmp_path / "hall").read_text().split() == ["m1"]


def test_nothing_of_a_notice_is_in_the_audit_log(office: Office) -> None:
    group = GroupNotice("F-1", "new", {"email": "ann@example.org"}, "ch_1", ("ch_2",), 2)
    rule = RuleNotice("double", "high", "charges", 1, 0, 0, 0, 0, 1, largest=(group,))
    with office.store.begin() as tx:
        outbox.enqueue(tx, "slack", Notice("m1", "nightly", "r", NOON, rules=(rule,), test=True))
    office.deliver(Mailbox(UNKNOWN))

    with office.store.read() as tx:
        text = json.dumps([entry.body for entry in log.entries(tx)])
    assert "ann@example.org" not in text
