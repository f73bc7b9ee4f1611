"""Migrations of the control plane's tables, in Alembic's form; new ones are added, old ones never changed."""
