"""Step 2: groups become known findings, and people decide about them."""
