"""Step 2: store groups as findings, and record people's decisions about them."""
