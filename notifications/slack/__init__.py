"""Slack: messages as Block Kit, sent by a bot or an incoming webhook."""
