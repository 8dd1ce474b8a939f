"""JSON: lines with an object each, and documents with an array of them."""
