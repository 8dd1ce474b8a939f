"""Places outside the state where signed heads of the audit log are written down. One file a kind."""

from __future__ import annotations

KINDS = {
    "file": "reconcile.audit.anchors.file:FileAnchor",
    "git": "reconcile.audit.anchors.git:GitAnchor",
    "slack": "reconcile.audit.anchors.slack:SlackAnchor",
    "syslog": "reconcile.audit.anchors.syslog:SyslogAnchor",
}
