"""The alarm clock of `serve`: who is woken, and that nobody is after its stop."""

import threading

import pytest

from reconcile.service.alarm import Alarm


def test_a_duty_is_woken_at_once_when_asked() -> None:
    woken = threading.Event()
    alarm = Alarm()
    alarm.every(3600, "duty", woken.set)
    alarm.start()

    alarm.wake("duty")

    assert woken.wait(10)
    alarm.stop(patience=5)


@pytest.mark.slow
def test_after_a_stop_nothing_is_woken_and_nothing_fails() -> None:
    woken = threading.Event()
    now = [0.0]
    alarm = Alarm(monotonic=lambda: now[0])
    alarm.every(3600, "duty", woken.set)
    alarm.start()
    alarm.stop(patience=0)

    alarm.wake("duty")
    now[0] = 10_000.0
    alarm.look()

    assert not woken.wait(0.2)
