/* bad_entry.c - a good backend under another entry symbol than its file's name asks. */
#include "stub.h"

static const struct hf_backend ops = {STUB_MEMBERS("bad_entry")};
HF_BACKEND_EXPORT(another_name, ops);
