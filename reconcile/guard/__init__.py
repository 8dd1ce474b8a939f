"""The front door: programs claim a key before they do something, so that it is done once. See docs/guard.md."""

from reconcile.config.guarding import Namespace
from reconcile.guard.claiming import (
    ClaimLost,
    Done,
    InProgress,
    KeyAmbiguous,
    KeyUnknown,
    NamespaceUnknown,
    NotInProgress,
    OtherPayload,
    ResultNotStored,
    StillInProgress,
)
from reconcile.guard.guard import AsyncRefused, Claim, Guard, LeaseRefused, ParameterUnknown
from reconcile.guard.keys import KeyRefused, PayloadRefused

__all__ = [
    "AsyncRefused",
    "Claim",
    "ClaimLost",
    "Done",
    "Guard",
    "InProgress",
    "KeyAmbiguous",
    "KeyRefused",
    "KeyUnknown",
    "LeaseRefused",
    "Namespace",
    "NamespaceUnknown",
    "NotInProgress",
    "OtherPayload",
    "ParameterUnknown",
    "PayloadRefused",
    "ResultNotStored",
    "StillInProgress",
]
