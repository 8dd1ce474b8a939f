"""Any order of claims, ends, renewals, kills and decisions of people gives what a few lines of model say."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule, run_state_machine_as_test

from reconcile.guard import Claim, ClaimLost, Done, InProgress, OtherPayload, claiming
from reconcile.store import guarded_keys
from tests.reconcile.guard.doors import BOTH, Door, clock, door, place
from tests.support.chance import few

__all__ = ["clock", "door", "place"]

KEYS = st.sampled_from(("a", "b", "c"))
PAYLOADS = st.sampled_from((1, 2))
LEASE = 60.0


@dataclass
class Known:
    """What the model holds of a key."""

    payload: int
    state: str = "in_progress"
    holder: int = 0
    until: float = 0.0
    result: Any = None
    fences: list[int] = field(default_factory=list)


class Machine(RuleBasedStateMachine):
    """Claimers never know more than their claim; the model knows the number of the claim that holds each key."""

    claims = Bundle("claims")
    example = 0
    door: Door

    def __init__(self) -> None:
        super().__init__()
        type(self).example += 1
        self.now = 0.0
        self.keys: dict[str, Known] = {}
        self.held: dict[int, tuple[str, Claim]] = {}

    def _named(self, key: str) -> tuple[str, int]:
        return key, self.example

    @rule(target=claims, key=KEYS, payload=PAYLOADS)
    def claim(self, key: str, payload: int) -> Any:
        known = self.keys.get(key)
        is_free = known is None or known.state in ("failed", "released")
        if known is not None and not is_free and known.payload != payload:
            with pytest.raises(OtherPayload):
                self.door.guard.claim("welcome", self._named(key), payload)
            return multiple()
        answer = self.door.guard.claim("welcome", self._named(key), payload)
        if known is not None and known.state == "done":
            assert isinstance(answer, Done)
            assert answer.result == known.result
            return multiple()
        if known is not None and not is_free and self.now < known.until:
            assert isinstance(answer, InProgress)
            assert answer.seconds == pytest.approx(known.until - self.now)
            return multiple()
        assert isinstance(answer, Claim), "the key is new, free, or its lease ended"
        number = len(self.held) + 1
        self.held[number] = (key, answer)
        fences = [*(known.fences if known else []), answer.fence]
        self.keys[key] = Known(payload, holder=number, until=self.now + LEASE, fences=fences)
        assert answer.attempt == len(fences)
        return number

    def _holds(self, number: int) -> Known | None:
        key, _ = self.held[number]
        known = self.keys[key]
        return known if known.holder == number and known.state == "in_progress" else None

    @rule(number=claims, result=st.sampled_from((None, {"m": 1}, [1])))
    def complete(self, number: int, result: Any) -> None:
        key, claim = self.held[number]
        known = self.keys[key]
        if self._holds(number) is not None:
            claim.complete(result)
            known.state, known.result = "done", result
        elif known.holder == number and known.state == "done" and known.result == result:
            claim.complete(result)
        else:
            with pytest.raises(ClaimLost):
                claim.complete(result)

    @rule(number=claims)
    def fail(self, number: int) -> None:
        key, claim = self.held[number]
        known = self.keys[key]
        if self._holds(number) is not None:
            claim.fail("the work was not done")
            known.state = "failed"
        elif known.holder == number and known.state == "failed":
            claim.fail("the work was not done")
        else:
            with pytest.raises(ClaimLost):
                claim.fail("too late")

    @rule(number=claims)
    def renew(self, number: int) -> None:
        _, claim = self.held[number]
        known = self._holds(number)
        if known is None:
            with pytest.raises(ClaimLost):
                claim.renew()
        else:
            claim.renew()
            known.until = self.now + LEASE

    @rule(seconds=st.sampled_from((1.0, 30.0, 60.0)))
    def pass_time(self, seconds: float) -> None:
        """A claimer that was killed does nothing more than let time pass."""
        self.now += seconds
        self.door.pass_time(seconds)

    @rule(number=claims, how=st.sampled_from(("release", "expire")))
    def decide(self, number: int, how: str) -> None:
        key, claim = self.held[number]
        known = self.keys[key]
        if how == "expire" and known.state != "in_progress":
            with self.door.store.begin() as tx, pytest.raises(claiming.NotInProgress):
                claiming.expire(tx, claim.key, reason="dead", by="ada")
            return
        with self.door.store.begin() as tx:
            (claiming.release if how == "release" else claiming.expire)(tx, claim.key, reason="stuck", by="ada")
        known.state, known.holder = ("released", known.holder) if how == "release" else ("in_progress", 0)
        known.until = self.now

    @invariant()
    def is_as_the_model_says(self) -> None:
        of_key = {key: claim.key for key, claim in self.held.values()}
        with self.door.store.read() as tx:
            for key, name in of_key.items():
                stored = guarded_keys.get(tx, name)
                assert stored is not None
                known = self.keys[key]
                assert (stored[0].state.value, stored[0].attempts) == (known.state, len(known.fences))
                assert stored[1] == (known.result if known.state == "done" else None)

    def teardown(self) -> None:
        for known in self.keys.values():
            assert known.fences == sorted(set(known.fences)), "each claim has a higher fence than those before"


@BOTH
@pytest.mark.slow
def test_claims_do_what_the_model_says(door: Door, place: str) -> None:
    machine = type("OfStore", (Machine,), {"door": door})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=few(25, 2000) if place == "sqlite" else few(6, 300),
            stateful_step_count=20,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
