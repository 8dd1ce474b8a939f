"""Channels that deliver notices, and the wording of the messages."""

__reconcile__ = True  # `reconcile doctor` checks this mark: another distribution can silently replace our package.

KINDS: dict[str, str] = {
    "slack": "notifications.slack.channel:SlackChannel",
    "webhook": "notifications.webhook:WebhookChannel",
    "file": "notifications.file:FileChannel",
    "email": "notifications.mail.channel:EmailChannel",
    "apprise": "notifications.apprise:AppriseChannel",
}
"""The only list of channels, one file each. A channel is imported when a configuration names it."""
