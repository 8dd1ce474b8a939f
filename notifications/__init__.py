"""How people hear of it: channels that tell a notice, and the words it is told in."""

__reconcile__ = True  # `reconcile doctor` checks this mark: another distribution can silently replace our package.

KINDS: dict[str, str] = {
    "slack": "notifications.slack.channel:SlackChannel",
    "webhook": "notifications.webhook:WebhookChannel",
    "file": "notifications.file:FileChannel",
}
"""The channels, one file each; this is the only place that lists them. Loaded when a configuration names them."""
