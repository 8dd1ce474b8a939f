"""Webhooks: signatures checked, and each event worked on once. See docs/guard.md."""

from reconcile.guard.webhooks.receiving import WebhookAnswer, WebhookEvent, receive
from reconcile.guard.webhooks.signatures import (
    EventUnnamed,
    GitHub,
    Headers,
    Hmac,
    SecretMissing,
    Sender,
    Shopify,
    SignatureRefused,
    Slack,
    Stripe,
)

__all__ = [
    "EventUnnamed",
    "GitHub",
    "Headers",
    "Hmac",
    "SecretMissing",
    "Sender",
    "Shopify",
    "SignatureRefused",
    "Slack",
    "Stripe",
    "WebhookAnswer",
    "WebhookEvent",
    "receive",
]
