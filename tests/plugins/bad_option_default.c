/* bad_option_default.c - an option whose default its own type forbids. */
#include "stub.h"

static const struct hf_option options[] = {
    {"size", "int:1..4", "5", "how much"},
    {NULL, NULL, NULL, NULL},
};
static const struct hf_backend ops = {STUB_MEMBERS("bad_option_default"),
                                      .options = options};
HF_BACKEND_EXPORT(bad_option_default, ops);
