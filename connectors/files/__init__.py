"""Source `files`: CSV, TSV, JSON Lines and Parquet below one directory, `.gz` too."""
