/* holdfast/record.h - what a store holds: sessions, messages, and the queries for them.
 *
 * Shared by both sides of a backend: embedders (store.h) and backends (backend.h) use
 * the same structs.  Conventions, everywhere below:
 *
 *   - A struct that may grow starts with struct hf_abi.  Whoever makes one starts from
 *     HF_INIT(struct X) (zeroes, with the size stamped); whoever receives one copies at
 *     most abi.size bytes over a zeroed one of its own.  Zero is the safest value of
 *     every member.
 *   - Text is pointer and length, need not end in NUL, may hold any byte.  A NULL
 *     pointer is SQL's NULL, which differs from empty.
 *   - Pointers are borrowed for the length of the call, in both directions.
 *   - Times are seconds since 1970-01-01 UTC as doubles; NaN (HF_NO_TIME) is "none".
 *     Valid is 0 <= t <= 4200000000.
 */
#ifndef HOLDFAST_RECORD_H
#define HOLDFAST_RECORD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_ABI_MAJOR 1u /* differs: the core refuses the backend */
#define HF_ABI_MINOR 1u /* +1 for each member appended; history in docs/abi.md */

struct hf_abi {
    uint16_t major, minor;
    uint32_t size; /* sizeof the whole struct, as its maker knew it */
};

#ifdef __cplusplus
#define HF_INIT(type)                                                \
    ([]() {                                                          \
        type hf_made = {};                                           \
        hf_made.abi = hf_abi{HF_ABI_MAJOR, HF_ABI_MINOR, sizeof(type)}; \
        return hf_made;                                              \
    }())
#else
#define HF_INIT(type) \
    (type) { .abi = { HF_ABI_MAJOR, HF_ABI_MINOR, sizeof(type) } }
#endif
#define HF_ABI(type) { HF_ABI_MAJOR, HF_ABI_MINOR, sizeof(type) }

#define HF_NO_TIME ((double)NAN)
#define HF_NO_INT INT64_MIN /* an integer column that holds NULL */
#define HF_MAX_TIME 4200000000.0
#define HF_MAX_MESSAGE (64u << 20) /* bytes of one message; beyond: HF_TOO_BIG */
#define HF_MAX_TITLE 100u          /* code points of a title */
#define HF_UID_SIZE 33             /* 128 bits in hex, and a NUL */

/* Frozen, as they travel by value and in arrays: these never gain a member. */
struct hf_text { const char *ptr; uint64_t len; };
struct hf_appended {
    int64_t id;
    char uid[HF_UID_SIZE];
    uint8_t in_fallback; /* 1: it waits in the fallback; the id changes when it is merged,
                            the uid does not */
    char reserved[6];
};

/* One change of a session.  NAME is a column of the Hermes schema (those that export
 * writes) or of the backend's own.  Frozen, as above. */
struct hf_field {
    const char *name;
    uint32_t op;   /* enum hf_field_op */
    uint32_t type; /* enum hf_value_type; says which of the three below counts */
    int64_t i;
    double d;
    struct hf_text text;
};
enum hf_field_op { HF_FIELD_SET = 0, HF_FIELD_SET_IF_NULL = 10, HF_FIELD_ADD = 20,
                   HF_FIELD_MAX = 30 /* the greater of what is there and this; numbers;
                                        NULL is less than any */ };
enum hf_value_type { HF_NULL = 0, HF_INT = 10, HF_REAL = 20, HF_TEXT = 30 };

/* A session.  The typed members are what everyone needs; `extra` is a JSON object of
 * whatever else the store keeps for it, by column name, in the store's order.  A BLOB
 * stands there as {"$base64":"..."}.  `extra` and `system_prompt` are filled in only
 * when asked for (HF_WANT_EXTRA). */
struct hf_session {
    struct hf_abi abi;
    struct hf_text id, source, title, model; /* making one: source NULL is "holdfast" */
    struct hf_text parent_id;    /* parent_session_id */
    struct hf_text end_reason;   /* NULL while open */
    struct hf_text model_config; /* JSON text, perhaps broken: read behind a check */
    struct hf_text system_prompt;
    struct hf_text preview;      /* lists only: first user message, 60 characters */
    struct hf_text extra;
    double started_at, ended_at;
    double last_active;          /* lists and get: the later of last_activity_at and the
                                    newest message, else started_at */
    double sort_time;            /* lists only: the time this row is ordered by */
    int64_t message_count, tool_call_count;
    int64_t input_tokens, output_tokens;
    int64_t cache_read_tokens, cache_write_tokens, reasoning_tokens;
    double estimated_cost_usd, actual_cost_usd; /* NaN: NULL */
    uint32_t archived, hidden, pinned;
    uint32_t bad_times; /* bit 0 started_at, 1 ended_at, 2 last_activity_at: the cell
                           held something that is no time (and is no NULL) */
};

enum hf_message_state {
    HF_MSG_ACTIVE = 1u << 0,    /* active = 1: transcript, search, export */
    HF_MSG_COMPACTED = 1u << 1, /* active = 0, compacted = 1: display, search, export */
    HF_MSG_REWOUND = 1u << 2    /* active = 0, compacted = 0: nowhere */
};

/* A message.  `content` is as stored: plain text, or NUL "json:" JSON when it is
 * structured.  `tool_calls` is JSON text.  Order is by id, never by time. */
struct hf_message {
    struct hf_abi abi;
    int64_t id; /* 0 when appending: the store gives one */
    struct hf_text uid, session_id, role, content;
    struct hf_text tool_call_id, tool_calls, tool_name;
    struct hf_text finish_reason, reasoning, platform_message_id;
    struct hf_text extra;
    double timestamp;    /* appending: NaN or outside the window stores now */
    int64_t token_count; /* HF_NO_INT: NULL */
    uint32_t state;      /* one enum hf_message_state; appending: 0 is active */
    uint32_t is_summary; /* _compressed_summary */
    uint32_t observed;
    uint32_t bad_time;   /* the cell held something that is no time */
    int64_t n_tool_calls; /* appending: the calls in tool_calls, counted by the core */
};

enum hf_want {
    HF_WANT_EXTRA = 1u << 0 /* fill in `extra` (and a session's system_prompt) */
};

enum hf_list_view {
    HF_VIEW_DEFAULT = 0,   /* roots, branches, sessions after a reset; of a chain of
                              compressions the tip, in its root's place.  No delegates,
                              archived or hidden ones, nor source "tool" unless named */
    HF_VIEW_ALL = 10,      /* every row: children, archived, hidden, source tool */
    HF_VIEW_ARCHIVED = 20, /* only the archived ones */
    HF_VIEW_WITH_ARCHIVED = 30 /* the default view and the archived ones */
};
enum hf_list_order { HF_BY_STARTED = 0, HF_BY_RECENT = 10 }; /* both newest first */

/* Which sessions.  Rows come newest first, ties by id descending.  To go on after a
 * page, put the last row's sort_time and id into after_time and after_id. */
struct hf_session_query {
    struct hf_abi abi;
    uint64_t limit; /* 0: no limit */
    uint32_t view, order, want, reserved;
    struct hf_text after_id; /* NULL: from the start */
    double after_time;
    struct hf_text id_prefix;               /* literal prefix of the id; NULL: any */
    const struct hf_text *sources;          /* any of these; NULL: any */
    uint64_t n_sources;
    const struct hf_text *exclude_sources;
    uint64_t n_exclude_sources;
    double since, until; /* window of last_active, [since, until); 0: unbounded */
    struct hf_text parent_id;               /* only children of this one; NULL: any */
};

/* Which messages of a session; by id, forwards unless `backwards`.  With `around`, the
 * `limit` messages nearest to that id (half before, half from it on), forwards. */
struct hf_message_query {
    struct hf_abi abi;
    uint64_t limit;  /* 0: no limit */
    int64_t after_id;  /* only ids greater; 0: from the first */
    int64_t before_id; /* only ids less; 0: to the last */
    int64_t around_id; /* 0: not asked */
    uint32_t states;   /* enum hf_message_state, or-ed; 0 is HF_MSG_ACTIVE */
    uint32_t backwards;
    uint32_t want, reserved;
};

enum hf_append_flag {
    HF_APPEND_VERBATIM = 1u << 0 /* import: keep ids that are free, uid, times and state
                                    as given (a NULL uid stays NULL); leave the
                                    session's counters alone */
};

/* An append: all of it in one transaction with the session's counters, or nothing.
 * message_count grows by n_messages and tool_call_count by the calls in them; `fields`
 * are further changes of the session (tokens, cost) in the same transaction.  A message
 * whose uid the store already has is skipped, and its id is returned. */
struct hf_append {
    struct hf_abi abi;
    struct hf_text session_id;
    const struct hf_message *const *messages;
    uint64_t n_messages;
    const struct hf_field *fields;
    uint64_t n_fields;
    uint32_t flags, reserved;
};

enum hf_search_order { HF_BY_RELEVANCE = 0, HF_BY_NEWEST = 10, HF_BY_OLDEST = 20 };

struct hf_search {
    struct hf_abi abi;
    struct hf_text text; /* as the person typed it; no text is an error */
    uint64_t limit, offset; /* limit 0: no limit */
    uint32_t order, include_rewound;
    const struct hf_text *roles, *sources, *exclude_sources;
    uint64_t n_roles, n_sources, n_exclude_sources;
    struct hf_text session_id; /* NULL: all */
    double since, until;       /* window of the message's time, [since, until) */
};
struct hf_hit {
    struct hf_abi abi;
    int64_t message_id;
    struct hf_text session_id, role, title, source;
    struct hf_text snippet; /* matches between ">>>" and "<<<" */
    double timestamp;
};
/* What a search says of itself.  Made by the caller with HF_INIT. */
struct hf_search_info {
    struct hf_abi abi;
    uint32_t degraded, reserved; /* the index could not be used for all of it */
    char note[512];    /* why nothing was found, what was cut; "" if nothing to say */
};

enum hf_severity { HF_SEV_OK = 0, HF_SEV_INFO = 10, HF_SEV_WARNING = 20,
                   HF_SEV_FAILURE = 30 };
struct hf_finding {
    struct hf_abi abi;
    const char *code;   /* stable, lower case: "wal_cross_vm" */
    const char *path;   /* file it is about, or NULL */
    const char *text;   /* one line */
    const char *remedy; /* the command that helps, or NULL */
    uint32_t severity, fixable; /* fixable: `doctor --fix` would do it */
};
enum hf_check_level { HF_CHECK_QUICK = 0, HF_CHECK_FULL = 10, HF_CHECK_DEEP = 20 };

enum hf_store_condition { HF_HEALTHY = 0, HF_DEGRADED = 10, HF_RECOVERING = 20,
                          HF_LOST = 30 };
struct hf_state {
    struct hf_abi abi;
    uint32_t condition, reserved;
    double since;      /* NaN while healthy */
    uint64_t pending;  /* sessions that wait in the fallback */
    char reason[512];
};

struct hf_stats {
    struct hf_abi abi;
    uint64_t sessions, messages; /* rows, archived and hidden ones too */
    uint64_t bytes_main, bytes_wal;
    uint64_t pending_fallback;
    char journal_mode[16]; /* "wal", "delete", "unknown", or "" where it has no meaning */
};

/* Tokens and cost of one model in one session, added to what is stored. */
struct hf_usage {
    struct hf_abi abi;
    struct hf_text session_id, model, billing_provider, billing_base_url, billing_mode;
    struct hf_text task, cost_status, cost_source;
    int64_t api_call_count, input_tokens, output_tokens;
    int64_t cache_read_tokens, cache_write_tokens, reasoning_tokens;
    double estimated_cost_usd, actual_cost_usd;
    double seen_at; /* NaN: now */
};

typedef int hf_message_fn(void *ctx, const struct hf_message *message);

/* A session on its way from one store into another: what a degraded store kept and its
 * primary is to get, or what a lost store had committed and its fallback is to get.  The
 * taker stores it in one transaction, and stores nothing twice:
 *   - `session` as HF_PUT_ENSURE does: created when it is not there (with both counters
 *     at 0: they are counted anew below), else only what is NULL is filled in.  A parent
 *     that is not there makes it a root; a title that another session has gets the next
 *     free " #2", " #3".
 *   - each message that the taker lacks, by uid (of those without one by role, time and
 *     content), is added at the end as it is, its state with it, and counted; one that
 *     it has keeps its id and gets the state it has here.  Where messages became
 *     compacted by this, the two counters become those of what is active.
 *   - `fields` and `usage`, in order.  With a `stamp`, a taker remembers in the same
 *     transaction how many it has carried out under it, and leaves out as many when the
 *     same stamp comes again. */
struct hf_transfer {
    struct hf_abi abi;
    const struct hf_session *session; /* with `extra` and `system_prompt` */
    /* Emits the messages in order; may be called more than once.  What EMIT returns
     * ends the walk and is returned. */
    int (*messages)(void *ctx, hf_message_fn *emit, void *emit_ctx,
                    struct hf_error *err);
    void *ctx;
    const struct hf_field *fields;
    uint64_t n_fields;
    const struct hf_usage *const *usage;
    uint64_t n_usage;
    struct hf_text stamp; /* NULL: none */
};
/* What became of it. */
struct hf_transferred {
    struct hf_abi abi;
    uint64_t messages, states; /* added; states changed */
    uint32_t created, reserved; /* the session was not there */
};
/* HF_OK only when it is safely stored. */
typedef int hf_transfer_fn(void *ctx, const struct hf_transfer *what,
                           struct hf_error *err);

/* Called once an item.  0 goes on; any other value stops the walk, and whoever walks
 * returns that value unchanged. */
typedef int hf_session_fn(void *ctx, const struct hf_session *session);
typedef int hf_hit_fn(void *ctx, const struct hf_hit *hit);
typedef int hf_finding_fn(void *ctx, const struct hf_finding *finding);
typedef int hf_source_fn(void *ctx, const struct hf_text *source, uint64_t sessions);
typedef int hf_usage_fn(void *ctx, const struct hf_usage *usage);

/* The function is named as the struct; C++ may see a hidden constructor in that. */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
static inline struct hf_text
hf_text(const char *ptr, size_t len)
{
    struct hf_text t = {ptr, (uint64_t)len};
    return t;
}
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* The text of a C string; NULL gives NULL. */
static inline struct hf_text
hf_str(const char *s)
{
    size_t len = 0;
    while (s && s[len])
        len++;
    return hf_text(s, len);
}

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_RECORD_H */
