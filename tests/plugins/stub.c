/* stub.c - a good module, for tests that break its file. */
#include "stub.h"

static const struct hf_backend ops = {STUB_MEMBERS("stub")};
HF_BACKEND_EXPORT(stub, ops);
