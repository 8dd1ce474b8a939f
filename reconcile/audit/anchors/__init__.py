"""Places outside the state that keep signed heads of the audit log. One file per kind."""

from __future__ import annotations

KINDS = {
    "file": "reconcile.audit.anchors.file:FileAnchor",
    "git": "reconcile.audit.anchors.git:GitAnchor",
    "slack": "reconcile.audit.anchors.slack:SlackAnchor",
    "syslog": "reconcile.audit.anchors.syslog:SyslogAnchor",
}
