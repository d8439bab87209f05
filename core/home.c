/* home.c - where things are: the root, the profiles below it, a profile's folder.
 *
 * Everything is looked up once, when a runtime is made (SPEC 1.3).  Nothing is
 * created here. */
#include "internal.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *
env_path(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

/* The user's own folder; without $HOME (a service) as the user database has it. */
static char *
user_home(void)
{
    const char *env = env_path("HOME");
    struct passwd entry, *found = NULL;
    long size = sysconf(_SC_GETPW_R_SIZE_MAX);
    char *text, *ret = NULL;

    if (env)
        return strdup(env);
    if (size < 1024)
        size = 16384;
    text = malloc((size_t)size);
    if (!text)
        return NULL;
    if (getpwuid_r(geteuid(), &entry, text, (size_t)size, &found) == 0 && found &&
        found->pw_dir && found->pw_dir[0])
        ret = strdup(found->pw_dir);
    free(text);
    return ret;
}

static int
holds(const char *folder, const char *name)
{
    char *path = hf__path_join(folder, name);
    struct stat st;
    int ret = path && lstat(path, &st) == 0;

    free(path);
    return ret;
}

static int
is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder that SPEC 1.1 chooses, as written. */
static int
choose(const char *home, char **ret, struct hf_error *err)
{
    const char *from = home && home[0] ? home : NULL;
    char *user = NULL, *hermes = NULL;

    if (!from)
        from = env_path("HOLDFAST_HOME");
    if (!from)
        from = env_path("HERMES_HOME");
    if (from) {
        *ret = strdup(from);
        return *ret ? HF_OK : hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    user = user_home();
    if (!user)
        return hf_error_set(err, HF_CONFIG, NULL,
                            "no home: $HOME is not set and the user database has no "
                            "folder for user %lu; give --home DIR or set HOLDFAST_HOME",
                            (unsigned long)geteuid());
    hermes = hf__path_join(user, ".hermes");
    if (hermes && (holds(hermes, "state.db") || holds(hermes, "config.yaml"))) {
        *ret = hermes;
        hermes = NULL;
    } else {
        *ret = hf__path_join(user, ".holdfast");
    }
    free(hermes);
    free(user);
    return *ret ? HF_OK : hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
}

/* Splits ".../ROOT/profiles/NAME" into ROOT and NAME; 0 when PATH is no such folder. */
static int
split_profile(const char *path, char **ret_root, char **ret_name)
{
    size_t len = strlen(path);
    const char *end = path + len, *name, *parent;

    while (end > path + 1 && end[-1] == '/')
        end--;
    for (name = end; name > path && name[-1] != '/';)
        name--;
    if (name == end || name == path)
        return 0;
    for (end = name; end > path && end[-1] == '/';)
        end--;
    for (parent = end; parent > path && parent[-1] != '/';)
        parent--;
    if (end - parent != 8 || memcmp(parent, "profiles", 8) != 0)
        return 0;
    len = strlen(name);
    while (len > 0 && name[len - 1] == '/')
        len--;
    *ret_name = strndup(name, len);
    /* "profiles/NAME" alone is relative to the working directory. */
    *ret_root = parent == path ? strdup(".") : strndup(path, (size_t)(parent - path));
    if (*ret_name && *ret_root)
        return 1;
    free(*ret_name);
    free(*ret_root);
    *ret_name = *ret_root = NULL;
    return 0;
}

int
hf__profile_name_ok(const char *name)
{
    size_t i;

    for (i = 0; name[i]; i++) {
        char c = name[i];
        int first = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

        if (i > 63 || !(first || (i > 0 && (c == '_' || c == '-'))))
            return 0;
    }
    return i > 0;
}

int
hf__profile_home(const char *root, const char *name, char **ret_home,
                 struct hf_error *err)
{
    char *folder = NULL, *path = NULL, *home = NULL;
    int rc = HF_NO_MEMORY;

    if (strcmp(name, "default") == 0) {
        home = strdup(root);
        goto done;
    }
    if (!hf__profile_name_ok(name))
        return hf_error_set(
            err, HF_INVALID, NULL,
            "'%.100s' is no profile name: allowed are a to z, 0 to 9, '_' "
            "and '-', at most 64 characters, the first one a letter or "
            "digit",
            name);
    folder = hf__path_join(root, "profiles");
    path = folder ? hf__path_join(folder, name) : NULL;
    if (!path)
        goto done;
    if (!is_folder(path)) {
        rc = hf_error_set(err, HF_NOT_FOUND, path,
                          "no profile '%s': there is no folder %s; create it with "
                          "'holdfast profile create %s', or make that folder",
                          name, path, name);
        goto out;
    }
    home = hf__path_resolve(path);
done:
    if (home) {
        *ret_home = home;
        rc = HF_OK;
    } else {
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
out:
    free(path);
    free(folder);
    return rc;
}

int
hf__home_find(const char *home, const char *profile, struct hf__home *ret,
              struct hf_error *err)
{
    struct hf__home found = {0};
    char *chosen = NULL, *resolved = NULL, *root = NULL, *implied = NULL;
    struct stat st;
    int rc;

    rc = choose(home, &chosen, err);
    if (rc != HF_OK)
        return rc;
    rc = HF_NO_MEMORY;
    resolved = hf__path_resolve(chosen);
    if (!resolved)
        goto out;
    if (stat(resolved, &st) == 0 && !S_ISDIR(st.st_mode)) {
        rc = hf_error_set(err, HF_INVALID, resolved,
                          "the home %s is not a folder: name the folder that holds "
                          "state.db",
                          resolved);
        goto out;
    }
    /* As written first: a profile's folder may be a link to somewhere else.  Then as
     * resolved: a link may point into profiles/.  ".." means nothing before it is
     * resolved. */
    if ((!strstr(chosen, "..") && split_profile(chosen, &root, &implied)) ||
        split_profile(resolved, &root, &implied))
        found.root = hf__path_resolve(root);
    else
        found.root = strdup(resolved);
    if (!profile || !profile[0])
        profile = implied ? implied : "default";
    found.profile = strdup(profile);
    if (!found.root || !found.profile)
        goto out;
    rc = hf__profile_home(found.root, profile, &found.home, err);
out:
    if (rc == HF_NO_MEMORY)
        hf_error_set(err, rc, NULL, "out of memory");
    if (rc == HF_OK)
        *ret = found;
    else
        hf__home_free(&found);
    free(implied);
    free(root);
    free(resolved);
    free(chosen);
    return rc;
}

void
hf__home_free(struct hf__home *home)
{
    free(home->root);
    free(home->profile);
    free(home->home);
    memset(home, 0, sizeof *home);
}
