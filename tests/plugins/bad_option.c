/* bad_option.c - an option of a type that does not exist. */
#include "stub.h"

static const struct hf_option options[] = {
    {"dir", "path", NULL, "where"},
    {"size", "integer", "5", "how much"},
    {NULL, NULL, NULL, NULL},
};
static const struct hf_backend ops = {STUB_MEMBERS("bad_option"), .options = options};
HF_BACKEND_EXPORT(bad_option, ops);
