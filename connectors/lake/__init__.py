"""Tables of a lake: every version stays readable while writers add new ones, so a run reads one version."""
