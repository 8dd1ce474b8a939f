"""What every door shows of findings, plans and decisions: typed, with personal data masked, drawn by the door."""
