/* address.c - "@session:PROFILE/ID", the way to name a session of another profile. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "@session:";

int
hf__session_address_parse(const struct hf_text *arg, char **ret_profile,
                          struct hf_text *ret_id, struct hf_error *err)
{
    size_t skip = sizeof mark - 1;
    struct hf_text profile;
    const char *slash;
    char *name;

    if (arg->len < skip || memcmp(arg->ptr, mark, skip) != 0) {
        *ret_profile = NULL;
        *ret_id = *arg;
        return HF_OK;
    }
    slash = memchr(arg->ptr + skip, '/', arg->len - skip);
    if (!slash)
        return hf_error_set(err, HF_INVALID, NULL,
                            "an address of a session has the form @session:PROFILE/ID");
    profile = hf_text(arg->ptr + skip, (size_t)(slash - arg->ptr) - skip);
    name = hf__text_dup(&profile);
    if (!name)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    /* A NUL inside would hide what follows it from the check. */
    if (strlen(name) != profile.len || !hf__profile_name_ok(name)) {
        free(name);
        return hf_error_set(err, HF_INVALID, NULL,
                            "the profile in @session:PROFILE/ID must match "
                            "[a-z0-9][a-z0-9_-]{0,63}");
    }
    *ret_id = hf_text(slash + 1, arg->len - (size_t)(slash + 1 - arg->ptr));
    if (!ret_id->len) {
        free(name);
        return hf_error_set(err, HF_INVALID, NULL,
                            "the id in @session:PROFILE/ID is empty");
    }
    *ret_profile = name;
    return HF_OK;
}

int
hf_session_address(const struct hf_text *arg, char **ret_profile,
                   struct hf_text *ret_id, struct hf_error *err)
{
    if (!arg || !arg->ptr || !ret_profile || !ret_id)
        return hf_error_set(err, HF_INVALID, NULL, "the session's address is NULL");
    return hf__session_address_parse(arg, ret_profile, ret_id, err);
}
