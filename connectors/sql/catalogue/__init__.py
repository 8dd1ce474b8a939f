"""Tables as their database describes them, with everything that refers to them."""
