"""Source `airtable`: the tables of an Airtable base, read and cleaned through its Web API."""
