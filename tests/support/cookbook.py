"""The cookbook as one configuration: its datasets and the rules of all recipes."""

from __future__ import annotations

from tests.support.docs import ROOT, Block, blocks

COOKBOOK = ROOT / "docs" / "cookbook.md"


def recipes() -> list[Block]:
    return [block for block in blocks(COOKBOOK, "yaml") if block.info == "yaml recipe"]


def configuration(*recipe: Block) -> str:
    """The datasets of the cookbook with the rules of these recipes."""
    [head] = [block.body for block in blocks(COOKBOOK, "yaml") if block.info == "yaml cookbook"]
    lines = (line for block in recipe for line in block.body.splitlines())
    return f"{head}rules:\n" + "".join(f"  {line}\n" for line in lines)
