"""The kinds of rules: one file each. KINDS is the only place that lists them."""

KINDS: dict[str, str] = {
    "duplicates": "rules.kinds.duplicates:DuplicatesRule",
}
