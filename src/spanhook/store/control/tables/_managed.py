"""What the control plane manages."""

from sqlalchemy import Column, Index, Table

from spanhook.store.control.columns import Big
from spanhook.store.control.tables._base import counted, flag, json_column, metadata, number, text_column

hooks = Table(
    "spanhook_hooks",
    metadata,
    text_column("hook_id", key=True),
    text_column("tenant_id"),
    text_column("name"),
    text_column("event_type"),
    flag("enabled"),
    number("version"),
    json_column("definition"),
    number("created_ns"),
    number("updated_ns"),
    Index(None, "tenant_id", "event_type"),
    Index(None, "event_type", "created_ns", "hook_id"),
    Index(None, "created_ns", "hook_id"),
)
"""Definitions of hooks, as they are now."""

hook_history = Table(
    "spanhook_hook_history",
    metadata,
    counted(),
    text_column("hook_id"),
    text_column("tenant_id"),
    number("version"),
    text_column("action"),
    text_column("actor"),
    json_column("definition"),
    number("time_ns"),
    Index(None, "hook_id", "id"),
)
"""What definitions of hooks were; those that are deleted too."""

policies = Table(
    "spanhook_policies",
    metadata,
    counted("version"),
    text_column("tenant_id"),
    text_column("content"),
    text_column("digest"),
    text_column("actor"),
    text_column("comment"),
    number("created_ns"),
    Index(None, "tenant_id", "version"),
)
"""Every version of the policies; the highest one of a tenant is in force."""

revisions = Table(
    "spanhook_revisions",
    metadata,
    text_column("tenant_id", key=True),
    number("revision"),
    number("changed_ns"),
)
"""How often what a tenant's processes enforce has changed."""

processes = Table(
    "spanhook_processes",
    metadata,
    text_column("process_id", key=True),
    text_column("tenant_id"),
    text_column("service"),
    text_column("host"),
    number("pid"),
    text_column("version"),
    number("revision"),
    text_column("digest"),
    json_column("hooks"),
    json_column("problems"),
    json_column("executions"),
    number("first_seen_ns"),
    number("last_seen_ns"),
    Index(None, "tenant_id", "last_seen_ns"),
    Index(None, "last_seen_ns"),
)
"""Processes of agents that follow this server, the hooks registered in their code, and what all hooks have counted."""

api_keys = Table(
    "spanhook_api_keys",
    metadata,
    text_column("key_id", key=True),
    text_column("hash"),
    text_column("name"),
    text_column("tenant_id"),
    json_column("scopes"),
    text_column("created_by"),
    number("created_ns"),
    number("expires_ns"),
    number("revoked_ns"),
    number("used_ns"),
    Index("uq_spanhook_api_keys_hash", "hash", unique=True),
    Index(None, "tenant_id"),
)
"""API keys, of which only hashes are kept."""

audit = Table(
    "spanhook_audit",
    metadata,
    Column("sequence", Big, primary_key=True, autoincrement=False),
    text_column("tenant_id"),
    number("time_ns"),
    text_column("actor"),
    text_column("action"),
    text_column("subject"),
    text_column("entry"),
    text_column("prev"),
    text_column("hash"),
    Index(None, "tenant_id", "sequence"),
)
"""Every change; entry is the record as canonical JSON, prev and hash chain them."""

settings = Table(
    "spanhook_settings",
    metadata,
    text_column("key", key=True),
    json_column("value"),
    number("updated_ns"),
)
"""What the server itself remembers."""
