/* gateway.h - what the files of the example gateway know of each other.
 *
 *   stdin ── main.c ── event.c ── workers.c ── handle.c ── stores.c ── libholdfast
 *            (reads)   (parses)   (orders)     (does)      (opens)
 *   stdout <─ output.c: one JSON line for each event, after it was done
 *   stderr <─ output.c: the log
 */
#ifndef GATEWAY_H
#define GATEWAY_H

#include <jansson.h>

#include <holdfast/holdfast.h>

/* ---- event.c: one line of input ---- */

enum op { OP_MESSAGE, OP_SESSION, OP_END, OP_TITLE, OP_REWIND, OP_READ, OP_FLUSH,
          OP_STATE, OP_SYNC };

/* All text points into JSON, which the event owns. */
struct event {
    struct event *next;
    json_t *json;
    enum op op;
    const char *op_name;
    struct hf_text ref; /* "id": the client's name for it, given back in the answer */
    const char *profile; /* NULL: the gateway's own */
    struct hf_text session;
};
/* The event in LINE; NULL with *err set when it is none. */
struct event *event_parse(const char *line, size_t len, struct hf_error *err);
void event_free(struct event *event);
/* A member as text (NULL when it is absent or no string), or as a whole number. */
struct hf_text event_text(const struct event *event, const char *name);
int64_t event_int(const struct event *event, const char *name, int64_t fallback);

/* ---- stores.c: one store per profile, opened when it is first needed ---- */

struct stores;
struct stores *stores_new(struct hf_runtime *runtime, int read_only_first);
/* The store of PROFILE; any thread.  It stays open until stores_close(). */
int stores_get(struct stores *stores, const char *profile, struct hf_store **ret_store,
               struct hf_error *err);
/* Says on standard output when the condition of a store has changed.  Looks at most once
 * a second, so that it may be called after every message. */
void stores_watch(struct stores *stores);
/* Makes calls that wait for a lock come back, for a gateway that must end now. */
void stores_interrupt(struct stores *stores);
/* No worker runs any more. */
void stores_close(struct stores **stores);

/* ---- handle.c: what each event means ---- */

void event_handle(struct stores *stores, const struct event *event);

/* ---- workers.c: threads, and the order of events ---- */

struct workers;
struct workers *workers_new(struct stores *stores, int n_threads);
/* Hands over EVENT.  Events of one session are done in the order in which they were
 * given.  While too many are queued it waits, at most SECONDS; -1 when there was no room:
 * the event is still the caller's. */
int workers_give(struct workers *workers, struct event *event, double seconds);
/* Waits until everything given so far is done, at most SECONDS (negative: for ever).
 * Returns 0, or -1 when the time is over. */
int workers_wait(struct workers *workers, double seconds);
/* From now on queued events are answered with HF_CANCELLED instead of being done. */
void workers_cancel(struct workers *workers);
void event_refuse(const struct event *event);
void workers_stop(struct workers **workers);

/* ---- output.c: answers on standard output, log on standard error ---- */

enum log_style { LOG_TEXT, LOG_JSON };
void output_init(enum log_style style);
hf_log_fn output_log;
/* Prints OBJECT as one line and releases it. */
void output_line(json_t *object);
/* {"ok":true,"op":...,"id":...,"profile":...,"session":...}, for the caller to add to. */
json_t *output_answer(const struct event *event);
/* Prints the failure of an event; EVENT is NULL when there is none. */
void output_failure(const struct event *event, const struct hf_error *err);
json_t *text_json(const struct hf_text *text);
const char *condition_name(uint32_t condition);

#endif
