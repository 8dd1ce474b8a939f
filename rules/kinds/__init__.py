"""The kinds of rules, one folder each. Only KINDS lists them."""

KINDS: dict[str, str] = {
    "duplicates": "rules.kinds.duplicates:Duplicates",
    "similar": "rules.kinds.similar:Similar",
    "reconciliation": "rules.kinds.reconciliation:Reconciliation",
    "sql": "rules.kinds.custom_sql:CustomSql",
    "check": "rules.kinds.check:Check",
}
BY_KEY = "duplicates"
"""The kind that finds records with equal keys: profiles propose its rules, and frames are searched by it."""
BY_LIKENESS = "similar"
"""The kind that finds records that are written differently; profiles propose its rules too."""
