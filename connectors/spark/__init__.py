"""Source `spark`: tables and Parquet files that Spark reads; rules run on its cluster."""
