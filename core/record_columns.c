/* record_columns.c - the columns of sessions and messages in the order of today's
 * schema (SPEC 6).  A column that an older file lacks is written with its default, so
 * that two files of different layouts with the same content export the same bytes. */
#include "record_columns.h"

#include <string.h>

#include <holdfast/record.h>

#define SESSION(member) offsetof(struct hf_session, member)
#define MESSAGE(member) offsetof(struct hf_message, member)

const struct hf__record_column hf__session_record[] = {
    {"id", HF_COL_TEXT, SESSION(id), HF_NO_INT},
    {"source", HF_COL_TEXT, SESSION(source), HF_NO_INT},
    {"created_source", HF_COL_EXTRA, 0, HF_NO_INT},
    {"user_id", HF_COL_EXTRA, 0, HF_NO_INT},
    {"session_key", HF_COL_EXTRA, 0, HF_NO_INT},
    {"chat_id", HF_COL_EXTRA, 0, HF_NO_INT},
    {"chat_type", HF_COL_EXTRA, 0, HF_NO_INT},
    {"thread_id", HF_COL_EXTRA, 0, HF_NO_INT},
    {"display_name", HF_COL_EXTRA, 0, HF_NO_INT},
    {"origin_json", HF_COL_EXTRA, 0, HF_NO_INT},
    {"expiry_finalized", HF_COL_EXTRA, 0, 0},
    {"model", HF_COL_TEXT, SESSION(model), HF_NO_INT},
    {"model_config", HF_COL_TEXT, SESSION(model_config), HF_NO_INT},
    {"system_prompt", HF_COL_TEXT, SESSION(system_prompt), HF_NO_INT},
    {"system_prompt_hash", HF_COL_EXTRA, 0, HF_NO_INT},
    {"parent_session_id", HF_COL_TEXT, SESSION(parent_id), HF_NO_INT},
    {"started_at", HF_COL_TIME, SESSION(started_at), HF_NO_INT},
    {"ended_at", HF_COL_TIME, SESSION(ended_at), HF_NO_INT},
    {"end_reason", HF_COL_TEXT, SESSION(end_reason), HF_NO_INT},
    {"message_count", HF_COL_INT, SESSION(message_count), 0},
    {"tool_call_count", HF_COL_INT, SESSION(tool_call_count), 0},
    {"input_tokens", HF_COL_INT, SESSION(input_tokens), 0},
    {"output_tokens", HF_COL_INT, SESSION(output_tokens), 0},
    {"cache_read_tokens", HF_COL_INT, SESSION(cache_read_tokens), 0},
    {"cache_write_tokens", HF_COL_INT, SESSION(cache_write_tokens), 0},
    {"reasoning_tokens", HF_COL_INT, SESSION(reasoning_tokens), 0},
    {"cwd", HF_COL_EXTRA, 0, HF_NO_INT},
    {"git_branch", HF_COL_EXTRA, 0, HF_NO_INT},
    {"git_repo_root", HF_COL_EXTRA, 0, HF_NO_INT},
    {"git_metadata_generation", HF_COL_EXTRA, 0, 0},
    {"billing_provider", HF_COL_EXTRA, 0, HF_NO_INT},
    {"billing_base_url", HF_COL_EXTRA, 0, HF_NO_INT},
    {"billing_mode", HF_COL_EXTRA, 0, HF_NO_INT},
    {"estimated_cost_usd", HF_COL_REAL, SESSION(estimated_cost_usd), HF_NO_INT},
    {"actual_cost_usd", HF_COL_REAL, SESSION(actual_cost_usd), HF_NO_INT},
    {"cost_status", HF_COL_EXTRA, 0, HF_NO_INT},
    {"cost_source", HF_COL_EXTRA, 0, HF_NO_INT},
    {"pricing_version", HF_COL_EXTRA, 0, HF_NO_INT},
    {"title", HF_COL_TEXT, SESSION(title), HF_NO_INT},
    {"title_source", HF_COL_EXTRA, 0, HF_NO_INT},
    {"last_activity_at", HF_COL_EXTRA_TIME, 0, HF_NO_INT},
    {"last_activity_description", HF_COL_EXTRA, 0, HF_NO_INT},
    {"last_activity_provenance", HF_COL_EXTRA, 0, HF_NO_INT},
    {"api_call_count", HF_COL_EXTRA, 0, 0},
    {"handoff_state", HF_COL_EXTRA, 0, HF_NO_INT},
    {"handoff_platform", HF_COL_EXTRA, 0, HF_NO_INT},
    {"handoff_error", HF_COL_EXTRA, 0, HF_NO_INT},
    {"compression_failure_cooldown_until", HF_COL_EXTRA_TIME, 0, HF_NO_INT},
    {"compression_failure_error", HF_COL_EXTRA, 0, HF_NO_INT},
    {"compression_fallback_streak", HF_COL_EXTRA, 0, 0},
    {"compression_ineffective_count", HF_COL_EXTRA, 0, 0},
    {"compression_recovery_deadline", HF_COL_EXTRA_TIME, 0, HF_NO_INT},
    {"compression_overload_streak", HF_COL_EXTRA, 0, 0},
    {"profile_name", HF_COL_EXTRA, 0, HF_NO_INT},
    {"transport_profile", HF_COL_EXTRA, 0, HF_NO_INT},
    {"rewind_count", HF_COL_EXTRA, 0, 0},
    {"archived", HF_COL_FLAG, SESSION(archived), 0},
    {"auto_archived", HF_COL_EXTRA, 0, 0},
    {"pinned", HF_COL_FLAG, SESSION(pinned), 0},
    {"hidden", HF_COL_FLAG, SESSION(hidden), 0},
    {"last_read_at", HF_COL_EXTRA_TIME, 0, HF_NO_INT},
    {"tool_names", HF_COL_EXTRA, 0, HF_NO_INT},
    {NULL, HF_COL_EXTRA, 0, 0},
};

const struct hf__record_column hf__message_record[] = {
    {"id", HF_COL_INT, MESSAGE(id), 0},
    {"session_id", HF_COL_TEXT, MESSAGE(session_id), HF_NO_INT},
    {"role", HF_COL_TEXT, MESSAGE(role), HF_NO_INT},
    {"content", HF_COL_CONTENT, MESSAGE(content), HF_NO_INT},
    {"tool_call_id", HF_COL_TEXT, MESSAGE(tool_call_id), HF_NO_INT},
    {"tool_calls", HF_COL_CALLS, MESSAGE(tool_calls), HF_NO_INT},
    {"tool_name", HF_COL_TEXT, MESSAGE(tool_name), HF_NO_INT},
    {"effect_disposition", HF_COL_EXTRA, 0, HF_NO_INT},
    {"timestamp", HF_COL_TIME, MESSAGE(timestamp), HF_NO_INT},
    {"token_count", HF_COL_INT, MESSAGE(token_count), HF_NO_INT},
    {"finish_reason", HF_COL_TEXT, MESSAGE(finish_reason), HF_NO_INT},
    {"reasoning", HF_COL_TEXT, MESSAGE(reasoning), HF_NO_INT},
    {"reasoning_content", HF_COL_EXTRA, 0, HF_NO_INT},
    {"reasoning_details", HF_COL_EXTRA, 0, HF_NO_INT},
    {"codex_reasoning_items", HF_COL_EXTRA, 0, HF_NO_INT},
    {"codex_message_items", HF_COL_EXTRA, 0, HF_NO_INT},
    {"platform_message_id", HF_COL_TEXT, MESSAGE(platform_message_id), HF_NO_INT},
    {"observed", HF_COL_FLAG, MESSAGE(observed), 0},
    {"_compressed_summary", HF_COL_FLAG, MESSAGE(is_summary), 0},
    {"active", HF_COL_ACTIVE, MESSAGE(state), 1},
    {"compacted", HF_COL_COMPACTED, MESSAGE(state), 0},
    {"api_content", HF_COL_EXTRA, 0, HF_NO_INT},
    {"display_kind", HF_COL_EXTRA, 0, HF_NO_INT},
    {"display_metadata", HF_COL_EXTRA, 0, HF_NO_INT},
    {"display_identity", HF_COL_EXTRA, 0, HF_NO_INT},
    {"display_order", HF_COL_ORDER, 0, HF_NO_INT},
    {"message_uid", HF_COL_TEXT, MESSAGE(uid), HF_NO_INT},
    {NULL, HF_COL_EXTRA, 0, 0},
};

const struct hf__record_column *
hf__record_column_find(const struct hf__record_column *columns, const char *name)
{
    for (; columns->name; columns++)
        if (!strcmp(columns->name, name))
            return columns;
    return NULL;
}
