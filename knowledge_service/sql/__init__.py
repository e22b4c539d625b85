"""The parts that live in a database: SQLite by default, PostgreSQL with row level security where there is one.

They need the extra 'service' (and 'postgres'); nothing here is imported before a host asks for it.
"""
