"""The kinds of rules: one folder each. KINDS is the only place that lists them."""

KINDS: dict[str, str] = {
    "duplicates": "rules.kinds.duplicates:Duplicates",
}
