"""Places outside the state where signed heads of the audit log are written down. One file a kind."""

from __future__ import annotations

KINDS = {
    "file": "reconcile.anchors.file:FileAnchor",
    "git": "reconcile.anchors.git:GitAnchor",
    "slack": "reconcile.anchors.slack:SlackAnchor",
    "syslog": "reconcile.anchors.syslog:SyslogAnchor",
}
