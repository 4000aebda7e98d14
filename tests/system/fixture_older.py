#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes of a database one as an older rtl wrote it: fixture_older.py FILE SCHEMA VERSION OUT.

The first VERSION migrations, which never change once released, and of each table the columns that it had.
"""
import pathlib
import sqlite3
import sys

path, schema, version, out = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
db = sqlite3.connect(out, isolation_level=None)
db.execute("PRAGMA synchronous = OFF")  # no machine goes down in between
for migration in sorted(schema.glob("*.sql"))[:version]:
    db.executescript("BEGIN;" + migration.read_text(encoding="utf-8") + "COMMIT;")
db.execute("ATTACH ? AS newer", (path,))
db.execute(f"PRAGMA application_id = {db.execute('PRAGMA newer.application_id').fetchone()[0]}")
db.execute(f"PRAGMA user_version = {version}")
db.execute("BEGIN")
tables = [t for (t,) in db.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
for table in tables:
    columns = [{c[1] for c in db.execute(f"PRAGMA {name}.table_xinfo({table})") if not c[6]}
               for name in ("main", "newer")]
    both = ", ".join(f'"{c}"' for c in sorted(columns[0] & columns[1]))
    if both:
        db.execute(f"DELETE FROM main.{table}")
        db.execute(f"INSERT INTO main.{table} ({both}) SELECT {both} FROM newer.{table}")
db.execute("COMMIT")
