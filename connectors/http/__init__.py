"""Source `http`: a JSON API that a configuration describes, read page by page."""
