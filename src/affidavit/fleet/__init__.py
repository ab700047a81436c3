"""Questions over many nodes at once: indexes as Parquet, asked in SQL that DuckDB and Athena both understand."""
