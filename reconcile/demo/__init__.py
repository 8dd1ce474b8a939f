"""`reconcile demo`: a small shop with the mishaps of real life, and one night's job over it."""
