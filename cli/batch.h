/* batch.h - messages to append, read from JSON Lines. */
#ifndef CLI_BATCH_H
#define CLI_BATCH_H

#include "print.h"

struct batch_item; /* a message and the memory behind its texts */
struct batch {
    struct batch_item *items;
    size_t n, cap;
};

/* Adds one message per line of TEXT, an object each.  EXIT_GO_ON, or an exit status after
 * saying which line is wrong.  NAME is the file's, for messages. */
int batch_read(const struct cli *cli, struct batch *batch, const char *name,
               const char *text, size_t len);
/* The messages, for hf_store_append(); the array is for free(), NULL without memory. */
const struct hf_message **batch_messages(const struct batch *batch);
void batch_free(struct batch *batch);

#endif
