/* bad_option_twice.c - one key twice. */
#include "stub.h"

static const struct hf_option options[] = {
    {"dir", "path", NULL, "where"},
    {"dir", "string", NULL, "where else"},
    {NULL, NULL, NULL, NULL},
};
static const struct hf_backend ops = {STUB_MEMBERS("bad_option_twice"),
                                      .options = options};
HF_BACKEND_EXPORT(bad_option_twice, ops);
