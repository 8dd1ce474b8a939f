"""CSV and TSV: one grammar, the dialect of a file, and DuckDB as its reader."""
