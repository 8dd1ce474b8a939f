"""Statements of banks: CAMT.053 (ISO 20022) and MT940 (SWIFT), read as records of booked entries."""
