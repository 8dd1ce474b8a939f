"""`reconcile demo`: a small shop with realistic mistakes, and one nightly job over it."""
