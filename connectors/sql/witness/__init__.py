"""What a database itself counts as changed, compared with what our statements did."""
