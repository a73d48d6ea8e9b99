"""Records of files, as streams: JSON lines, JSON, CSV and Parquet, plain or gzipped, and what fields of them mean."""
