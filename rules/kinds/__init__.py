"""The kinds of rules, one folder each. Only KINDS lists them."""

KINDS: dict[str, str] = {
    "duplicates": "rules.kinds.duplicates:Duplicates",
}
