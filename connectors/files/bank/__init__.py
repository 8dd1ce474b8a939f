"""Files of banks: CAMT (ISO 20022), MT940 (SWIFT), OFX and QIF, read as records of entries."""
