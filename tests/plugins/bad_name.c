/* bad_name.c - calls itself something else than its file. */
#include "stub.h"

static const struct hf_backend ops = {STUB_MEMBERS("sqlite")};
HF_BACKEND_EXPORT(bad_name, ops);
