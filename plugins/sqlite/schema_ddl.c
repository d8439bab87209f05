/* schema_ddl.c - the Hermes schema as declarations: tables, columns and indexes.
 * schema.c compares them with a file; columns.c finds columns in them. */
#include "private.h"

#define TEXT_ "TEXT", "NULL"
#define REAL_ "REAL", "NULL"
#define INT_ "INTEGER", "NULL"
#define INT0 "INTEGER DEFAULT 0", "0"
#define INT0N "INTEGER NOT NULL DEFAULT 0", "0"
#define EMPTYN "TEXT NOT NULL DEFAULT ''", "''"

const struct hf__column hf__session_columns[] = {
    {"id", "TEXT PRIMARY KEY", NULL},
    {"source", "TEXT NOT NULL", NULL},
    {"created_source", TEXT_},
    {"user_id", TEXT_},
    {"session_key", TEXT_},
    {"chat_id", TEXT_},
    {"chat_type", TEXT_},
    {"thread_id", TEXT_},
    {"display_name", TEXT_},
    {"origin_json", TEXT_},
    {"expiry_finalized", INT0},
    {"model", TEXT_},
    {"model_config", TEXT_},
    {"system_prompt", TEXT_},
    {"system_prompt_hash", TEXT_},
    {"parent_session_id", TEXT_},
    {"started_at", "REAL NOT NULL", NULL},
    {"ended_at", REAL_},
    {"end_reason", TEXT_},
    {"message_count", INT0},
    {"tool_call_count", INT0},
    {"input_tokens", INT0},
    {"output_tokens", INT0},
    {"cache_read_tokens", INT0},
    {"cache_write_tokens", INT0},
    {"reasoning_tokens", INT0},
    {"cwd", TEXT_},
    {"git_branch", TEXT_},
    {"git_repo_root", TEXT_},
    {"git_metadata_generation", INT0N},
    {"billing_provider", TEXT_},
    {"billing_base_url", TEXT_},
    {"billing_mode", TEXT_},
    {"estimated_cost_usd", REAL_},
    {"actual_cost_usd", REAL_},
    {"cost_status", TEXT_},
    {"cost_source", TEXT_},
    {"pricing_version", TEXT_},
    {"title", TEXT_},
    {"title_source", TEXT_},
    {"last_activity_at", REAL_},
    {"last_activity_description", TEXT_},
    {"last_activity_provenance", TEXT_},
    {"api_call_count", INT0},
    {"handoff_state", TEXT_},
    {"handoff_platform", TEXT_},
    {"handoff_error", TEXT_},
    {"compression_failure_cooldown_until", REAL_},
    {"compression_failure_error", TEXT_},
    {"compression_fallback_streak", INT0N},
    {"compression_ineffective_count", INT0N},
    {"compression_recovery_deadline", REAL_},
    {"compression_overload_streak", INT0N},
    {"profile_name", TEXT_},
    {"transport_profile", TEXT_},
    {"rewind_count", INT0N},
    {"archived", INT0N},
    {"auto_archived", INT0N},
    {"pinned", INT0N},
    {"hidden", INT0N},
    {"last_read_at", REAL_},
    {"tool_names", TEXT_},
    {NULL, NULL, NULL},
};

const struct hf__column hf__message_columns[] = {
    {"id", "INTEGER PRIMARY KEY AUTOINCREMENT", NULL},
    {"session_id", "TEXT NOT NULL REFERENCES sessions(id)", NULL},
    {"role", "TEXT NOT NULL", NULL},
    {"content", TEXT_},
    {"tool_call_id", TEXT_},
    {"tool_calls", TEXT_},
    {"tool_name", TEXT_},
    {"effect_disposition", TEXT_},
    {"timestamp", "REAL NOT NULL", NULL},
    {"token_count", INT_},
    {"finish_reason", TEXT_},
    {"reasoning", TEXT_},
    {"reasoning_content", TEXT_},
    {"reasoning_details", TEXT_},
    {"codex_reasoning_items", TEXT_},
    {"codex_message_items", TEXT_},
    {"platform_message_id", TEXT_},
    {"observed", INT0},
    {"_compressed_summary", INT0N},
    {"active", "INTEGER NOT NULL DEFAULT 1", "1"},
    {"compacted", INT0N},
    {"api_content", TEXT_},
    {"display_kind", TEXT_},
    {"display_metadata", TEXT_},
    {"display_identity", "BLOB", "NULL"},
    {"display_order", INT_},
    {"message_uid", TEXT_},
    {NULL, NULL, NULL},
};

static const struct hf__column version_columns[] = {
    {"version", "INTEGER NOT NULL", NULL},
    {NULL, NULL, NULL},
};
static const struct hf__column prompt_columns[] = {
    {"hash", "TEXT PRIMARY KEY", NULL},
    {"prompt", "TEXT NOT NULL", NULL},
    {NULL, NULL, NULL},
};
static const struct hf__column meta_columns[] = {
    {"key", "TEXT PRIMARY KEY", NULL},
    {"value", TEXT_},
    {NULL, NULL, NULL},
};
static const struct hf__column usage_columns[] = {
    {"session_id", "TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE", NULL},
    {"model", "TEXT NOT NULL", NULL},
    {"billing_provider", EMPTYN},
    {"billing_base_url", EMPTYN},
    {"billing_mode", EMPTYN},
    {"task", EMPTYN},
    {"api_call_count", INT0N},
    {"input_tokens", INT0N},
    {"output_tokens", INT0N},
    {"cache_read_tokens", INT0N},
    {"cache_write_tokens", INT0N},
    {"reasoning_tokens", INT0N},
    {"estimated_cost_usd", "REAL NOT NULL DEFAULT 0", "0"},
    {"actual_cost_usd", "REAL NOT NULL DEFAULT 0", "0"},
    {"cost_status", TEXT_},
    {"cost_source", TEXT_},
    {"first_seen", REAL_},
    {"last_seen", REAL_},
    {NULL, NULL, NULL},
};
static const struct hf__column routing_columns[] = {
    {"scope", EMPTYN},
    {"session_key", "TEXT NOT NULL", NULL},
    {"entry_json", "TEXT NOT NULL", NULL},
    {"updated_at", "REAL NOT NULL", NULL},
    {NULL, NULL, NULL},
};
static const struct hf__column hygiene_columns[] = {
    {"session_key", "TEXT PRIMARY KEY", NULL},
    {"failure_streak", INT0N},
    {NULL, NULL, NULL},
};
static const struct hf__column generation_columns[] = {
    {"source", "TEXT NOT NULL", NULL},
    {"session_key", "TEXT NOT NULL", NULL},
    {"generation", INT0N},
    {NULL, NULL, NULL},
};
static const struct hf__column heartbeat_columns[] = {
    {"backend_id", "TEXT PRIMARY KEY", NULL},
    {"pid", "INTEGER NOT NULL", NULL},
    {"started_at", "REAL NOT NULL", NULL},
    {"last_heartbeat", "REAL NOT NULL", NULL},
    {"profile", EMPTYN},
    {"host", EMPTYN},
    {NULL, NULL, NULL},
};
static const struct hf__column lock_columns[] = {
    {"session_id", "TEXT PRIMARY KEY", NULL},
    {"holder", "TEXT NOT NULL", NULL},
    {"acquired_at", "REAL NOT NULL", NULL},
    {"expires_at", "REAL NOT NULL", NULL},
    {NULL, NULL, NULL},
};
static const struct hf__column turn_columns[] = {
    {"conversation_id", "TEXT PRIMARY KEY", NULL},
    {"holder", "TEXT NOT NULL", NULL},
    {"acquired_at", "REAL NOT NULL", NULL},
    {"expires_at", "REAL NOT NULL", NULL},
    {NULL, NULL, NULL},
};
static const struct hf__column delegation_columns[] = {
    {"delegation_id", "TEXT PRIMARY KEY", NULL},
    {"origin_session", "TEXT NOT NULL", NULL},
    {"origin_ui_session_id", EMPTYN},
    {"parent_session_id", TEXT_},
    {"state", "TEXT NOT NULL", NULL},
    {"dispatched_at", "REAL NOT NULL", NULL},
    {"completed_at", REAL_},
    {"updated_at", "REAL NOT NULL", NULL},
    {"event_json", TEXT_},
    {"result_json", TEXT_},
    {"delivery_state", "TEXT NOT NULL DEFAULT 'pending'", "'pending'"},
    {"delivery_attempts", INT0N},
    {"delivered_at", REAL_},
    {"owner_pid", INT_},
    {"owner_started_at", INT_},
    {"task_json", TEXT_},
    {"delivery_claim", TEXT_},
    {"delivery_claimed_at", REAL_},
    {"origin_session_id", EMPTYN},
    {NULL, NULL, NULL},
};

/* A table stands after those that it refers to. */
const struct hf__table_decl hf__tables[] = {
    {"schema_version", version_columns, ""},
    {"system_prompts", prompt_columns, ""},
    {"sessions", hf__session_columns,
     ", FOREIGN KEY (parent_session_id) REFERENCES sessions(id)"
     ", FOREIGN KEY (system_prompt_hash) REFERENCES system_prompts(hash)"},
    {"messages", hf__message_columns, ""},
    {"session_model_usage", usage_columns,
     ", PRIMARY KEY (session_id, model, billing_provider, billing_base_url,"
     " billing_mode, task)"},
    {"state_meta", meta_columns, ""},
    {"gateway_routing", routing_columns, ", PRIMARY KEY (scope, session_key)"},
    {"gateway_hygiene_state", hygiene_columns, ""},
    {"conversation_generations", generation_columns,
     ", PRIMARY KEY (source, session_key)"},
    {"gateway_heartbeats", heartbeat_columns, ""},
    {"compression_locks", lock_columns, ""},
    {"session_turn_leases", turn_columns, ""},
    {"async_delegations", delegation_columns, ""},
    {NULL, NULL, NULL},
};

/* The names that Hermes gives them, so that neither program makes a second one.  The
 * last one is ours: an append asks by uid whether a message is there already.  The
 * session in front keeps the pages that a running conversation touches together, where
 * a bare random uid would touch another page of a large index with every append. */
const struct hf__index_decl hf__indexes[] = {
    {"idx_sessions_source", "sessions", "(source)", 0},
    {"idx_sessions_source_id", "sessions", "(source, id)", 0},
    {"idx_sessions_parent", "sessions", "(parent_session_id)", 0},
    {"idx_sessions_started", "sessions", "(started_at DESC)", 0},
    {"idx_sessions_session_key", "sessions", "(session_key, started_at DESC)", 0},
    {"idx_sessions_gateway_peer", "sessions",
     "(source, user_id, chat_id, chat_type, thread_id, started_at DESC)", 0},
    {"idx_sessions_handoff_state", "sessions", "(handoff_state, started_at)", 0},
    {"idx_sessions_system_prompt_hash", "sessions", "(system_prompt_hash)", 0},
    {"idx_sessions_last_activity", "sessions",
     "(COALESCE(last_activity_at, started_at) DESC)", 0},
    {"idx_sessions_title_unique", "sessions", "(title) WHERE title IS NOT NULL", 1},
    {"idx_messages_session", "messages", "(session_id, timestamp)", 0},
    {"idx_messages_session_id", "messages", "(session_id, id)", 0},
    {"idx_messages_session_active", "messages", "(session_id, active, timestamp)", 0},
    {"idx_messages_active_null", "messages", "(active) WHERE active IS NULL", 0},
    {"idx_messages_assistant_calls_by_session", "messages",
     "(session_id) WHERE role = 'assistant' AND tool_calls IS NOT NULL", 0},
    {"idx_messages_platform_msg_id", "messages",
     "(session_id, platform_message_id) WHERE platform_message_id IS NOT NULL", 0},
    {"idx_messages_display_identity", "messages",
     "(session_id, display_identity, display_order)"
     " WHERE display_identity IS NOT NULL AND (active = 1 OR compacted = 1)", 0},
    {"idx_session_model_usage_session", "session_model_usage", "(session_id)", 0},
    {"idx_session_model_usage_model", "session_model_usage", "(model)", 0},
    {"idx_compression_locks_expires", "compression_locks", "(expires_at)", 0},
    {"idx_session_turn_leases_expires", "session_turn_leases", "(expires_at)", 0},
    {"idx_async_delegations_delivery", "async_delegations",
     "(delivery_state, completed_at)", 0},
    {"idx_messages_holdfast_uid", "messages",
     "(session_id, message_uid) WHERE message_uid IS NOT NULL", 0},
    {NULL, NULL, NULL, 0},
};

void
hf__table_sql(struct hf__buf *out, const struct hf__table_decl *table)
{
    hf__buf_addf(out, "CREATE TABLE %s (", table->name);
    for (const struct hf__column *c = table->columns; c->name; c++)
        hf__buf_addf(out, "%s\n    %s %s", c == table->columns ? "" : ",", c->name,
                     c->decl);
    hf__buf_addf(out, "%s\n)", table->tail);
}
