"""An index in a PostgreSQL database with pgvector: a row for each graph."""
