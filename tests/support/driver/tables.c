/* tables.c - the members of the library's structs, by the names they have in C. */
#include "driver.h"

#define S(kind, name) MEMBER(hf_session, kind, name)
const struct member session_members[] = {
    S(K_TEXT, id), S(K_TEXT, source), S(K_TEXT, title), S(K_TEXT, model),
    S(K_TEXT, parent_id), S(K_TEXT, end_reason), S(K_TEXT, model_config),
    S(K_TEXT, system_prompt), S(K_TEXT, preview), S(K_TEXT, extra),
    S(K_REAL, started_at), S(K_REAL, ended_at), S(K_REAL, last_active),
    S(K_REAL, sort_time), S(K_INT, message_count), S(K_INT, tool_call_count),
    S(K_INT, input_tokens), S(K_INT, output_tokens), S(K_INT, cache_read_tokens),
    S(K_INT, cache_write_tokens), S(K_INT, reasoning_tokens),
    S(K_REAL, estimated_cost_usd), S(K_REAL, actual_cost_usd), S(K_U32, archived),
    S(K_U32, hidden), S(K_U32, pinned), S(K_U32, bad_times), {NULL, K_INT, 0, 0}};

#define M(kind, name) MEMBER(hf_message, kind, name)
const struct member message_members[] = {
    M(K_INT, id), M(K_TEXT, uid), M(K_TEXT, session_id), M(K_TEXT, role),
    M(K_TEXT, content), M(K_TEXT, tool_call_id), M(K_TEXT, tool_calls),
    M(K_TEXT, tool_name), M(K_TEXT, finish_reason), M(K_TEXT, reasoning),
    M(K_TEXT, platform_message_id), M(K_TEXT, extra), M(K_REAL, timestamp),
    M(K_INT, token_count), M(K_U32, state), M(K_U32, is_summary), M(K_U32, observed),
    M(K_U32, bad_time), {NULL, K_INT, 0, 0}};

#define L(kind, name) MEMBER(hf_session_query, kind, name)
const struct member list_members[] = {
    L(K_U64, limit), L(K_U32, view), L(K_U32, order), L(K_U32, want),
    L(K_TEXT, after_id), L(K_REAL, after_time), L(K_TEXT, id_prefix),
    MEMBER_TEXTS(hf_session_query, sources), MEMBER_TEXTS(hf_session_query, exclude_sources), L(K_REAL, since),
    L(K_REAL, until), L(K_TEXT, parent_id), {NULL, K_INT, 0, 0}};

#define R(kind, name) MEMBER(hf_message_query, kind, name)
const struct member read_members[] = {
    R(K_U64, limit), R(K_INT, after_id), R(K_INT, before_id), R(K_INT, around_id),
    R(K_U32, states), R(K_U32, backwards), R(K_U32, want), {NULL, K_INT, 0, 0}};

#define Q(kind, name) MEMBER(hf_search, kind, name)
const struct member search_members[] = {
    Q(K_TEXT, text), Q(K_U64, limit), Q(K_U64, offset), Q(K_U32, order),
    Q(K_U32, include_rewound), MEMBER_TEXTS(hf_search, roles), MEMBER_TEXTS(hf_search, sources),
    MEMBER_TEXTS(hf_search, exclude_sources), Q(K_TEXT, session_id), Q(K_REAL, since),
    Q(K_REAL, until), {NULL, K_INT, 0, 0}};

#define H(kind, name) MEMBER(hf_hit, kind, name)
const struct member hit_members[] = {
    H(K_INT, message_id), H(K_TEXT, session_id), H(K_TEXT, role), H(K_TEXT, title),
    H(K_TEXT, source), H(K_TEXT, snippet), H(K_REAL, timestamp), {NULL, K_INT, 0, 0}};

const struct member search_info_members[] = {
    MEMBER(hf_search_info, K_U32, degraded), MEMBER(hf_search_info, K_CHARS, note),
    {NULL, K_INT, 0, 0}};

#define F(kind, name) MEMBER(hf_finding, kind, name)
const struct member finding_members[] = {
    F(K_STRING, code), F(K_STRING, path), F(K_STRING, text), F(K_STRING, remedy),
    F(K_U32, severity), F(K_U32, fixable), {NULL, K_INT, 0, 0}};

#define T(kind, name) MEMBER(hf_state, kind, name)
const struct member state_members[] = {
    T(K_U32, condition), T(K_REAL, since), T(K_U64, pending), T(K_CHARS, reason),
    {NULL, K_INT, 0, 0}};

#define C(kind, name) MEMBER(hf_stats, kind, name)
const struct member stats_members[] = {
    C(K_U64, sessions), C(K_U64, messages), C(K_U64, bytes_main), C(K_U64, bytes_wal),
    C(K_U64, pending_fallback), C(K_CHARS, journal_mode), {NULL, K_INT, 0, 0}};

#define U(kind, name) MEMBER(hf_usage, kind, name)
const struct member usage_members[] = {
    U(K_TEXT, session_id), U(K_TEXT, model), U(K_TEXT, billing_provider),
    U(K_TEXT, billing_base_url), U(K_TEXT, billing_mode), U(K_TEXT, task),
    U(K_TEXT, cost_status), U(K_TEXT, cost_source), U(K_INT, api_call_count),
    U(K_INT, input_tokens), U(K_INT, output_tokens), U(K_INT, cache_read_tokens),
    U(K_INT, cache_write_tokens), U(K_INT, reasoning_tokens),
    U(K_REAL, estimated_cost_usd), U(K_REAL, actual_cost_usd), U(K_REAL, seen_at),
    {NULL, K_INT, 0, 0}};

#define I(kind, name) MEMBER(hf_import_result, kind, name)
const struct member import_members[] = {I(K_U64, sessions), I(K_U64, skipped),
                                        I(K_U64, merged), I(K_U64, messages),
                                        {NULL, K_INT, 0, 0}};

#define E(kind, name) MEMBER(hf_field, kind, name)
const struct member field_members[] = {
    E(K_STRING, name), E(K_U32, op), E(K_U32, type), E(K_INT, i), E(K_REAL, d),
    E(K_TEXT, text), {NULL, K_INT, 0, 0}};
