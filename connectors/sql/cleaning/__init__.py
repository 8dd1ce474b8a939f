"""Databases whose rows can be changed: one transaction for a batch, with receipts."""
