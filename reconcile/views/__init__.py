"""Views of findings, plans and decisions for every door: typed, with personal data masked. The door draws them."""
