/* driver.h - what the files of hf-driver know of each other, grouped by file.
 *
 * hf-driver lets a test that is written in Python use libholdfast as an embedder does:
 * one JSON command a line in, one JSON answer a line out (../README.md). */
#ifndef HF_DRIVER_H
#define HF_DRIVER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

/* ---- main.c: the loop, and commands that run in a thread of their own ---- */

/* One command under way. */
struct call {
    json_t *in;  /* the command */
    json_t *out; /* the answer, an object */
    struct hf_error err;
    void **kept; /* memory that lives as long as the call */
    size_t n_kept;
};
/* Returns HF_OK, a negative enum hf_code with call->err filled in, or the positive number
 * by which an emit callback stopped a walk. */
typedef int command_fn(struct call *call);
struct command {
    const char *name;
    command_fn *run;
};
/* Runs CALL->in and fills CALL->out, "ok" and "elapsed" included. */
void call_run(struct call *call);

/* ---- values.c: JSON into the library's structs and back, by tables ---- */

enum kind { K_TEXT, K_TEXTS, K_REAL, K_INT, K_U64, K_U32, K_CHARS, K_STRING };
struct member {
    const char *name;
    enum kind kind;
    size_t offset, count; /* of the member; K_TEXTS: of its count */
};
#define MEMBER(type, kind, name) {#name, kind, offsetof(struct type, name), 0}
#define MEMBER_TEXTS(type, name) \
    {#name, K_TEXTS, offsetof(struct type, name), offsetof(struct type, n_##name)}

/* Zeroed memory that is freed with the call; ends the program when there is none. */
void *call_keep(struct call *call, size_t size);
/* Fills the members that OBJECT names; HF_INVALID for a name that TABLE lacks or a value
 * of the wrong type.  OBJECT may be NULL. */
int members_read(struct call *call, const json_t *object, const struct member *table,
                 void *ret);
json_t *members_write(const struct member *table, const void *from);
int text_read(struct call *call, const json_t *value, struct hf_text *ret);
json_t *text_write(const struct hf_text *text);
json_t *real_write(double value);
/* Members of the command itself, with what they are when absent. */
struct hf_text arg_text(struct call *call, const char *name);
const char *arg_string(struct call *call, const char *name, const char *fallback);
int64_t arg_int(struct call *call, const char *name, int64_t fallback);
double arg_real(struct call *call, const char *name, double fallback);
int bad(struct call *call, const char *what);

/* ---- tables.c ---- */

extern const struct member session_members[], message_members[], list_members[],
    read_members[], search_members[], hit_members[], search_info_members[],
    finding_members[], state_members[], stats_members[], usage_members[],
    import_members[], field_members[];

/* ---- names.c: runtimes and stores by name ---- */

int runtime_put(struct call *call, const char *name, struct hf_runtime *runtime);
struct hf_runtime *runtime_get(struct call *call);
struct hf_runtime *runtime_take(struct call *call);
int store_put(struct call *call, const char *name, struct hf_store *store);
/* The store that the member "store" names ("main" when absent); NULL with call->err. */
struct hf_store *store_get(struct call *call);
struct hf_store *store_take(struct call *call);
void names_close_all(void);

/* ---- log.c, trace.c: what the library logged; what SQLite was asked ---- */

hf_log_fn log_collect;
command_fn cmd_log, cmd_trace;

/* ---- cmd_*.c: the commands, each file with its own table, last name NULL ---- */

/* cmd_session.c: the member "fields" of update and append. */
int fields_arg(struct call *call, const struct hf_field **ret, uint64_t *ret_n);

extern const struct command runtime_commands[], session_commands[], message_commands[],
    store_commands[], process_commands[], fork_commands[], second_commands[];
int emit_into(json_t *list, json_t *item, struct call *call);

#endif
