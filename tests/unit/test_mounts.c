/* test_mounts.c - the verdict on a folder: the mount tables of field cases F01 to F05,
 * and every rule of SPEC 3.1; then the real thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "internal.h"
#include "mountinfo.h"
#include "../support/scratch.h"

#define ROOT "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
#define GVISOR "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"
#define ORDINARY "Linux version 6.1.0-26-amd64 (debian-kernel@lists.debian.org)"

/* What look() finds: a path, its mount id. */
static struct hf__mount_place seen[4];

static int
look(void *ctx, const char *path, struct hf__mount_place *ret)
{
    size_t i;

    (void)ctx;
    for (i = 0; i < 4 && seen[i].path; i++)
        if (strcmp(seen[i].path, path) == 0) {
            *ret = seen[i];
            return 1;
        }
    return 0;
}

static struct hf_mount
decide(const char *table, const char *version, int64_t id, const char *folder,
       int64_t file_id, const char *file)
{
    struct hf_mount m = HF_INIT(struct hf_mount);
    struct hf__mount_question q = {0};

    q.table = table;
    q.table_len = table ? strlen(table) : 0;
    q.proc_version = version;
    q.folder = (struct hf__mount_place){folder, id, 0};
    q.file = (struct hf__mount_place){file, file_id, 0};
    q.look = look;
    hf__mount_decide(&q, &m);
    assert_int_equal(m.abi.size, sizeof m);
    return m;
}

static struct hf_mount
by_prefix(const char *table, const char *folder)
{
    return decide(table, ORDINARY, -1, folder, -1, NULL);
}

static void
f01_virtiofs(void **state)
{
    static const char *const types[] = {"virtiofs", "fuse.virtiofs"};
    char table[500];
    struct hf_mount m;
    int i;

    (void)state;
    for (i = 0; i < 2; i++) {
        snprintf(table, sizeof table,
                 ROOT "52 40 0:61 / /srv/agent rw,relatime - %s hostshare rw\n",
                 types[i]);
        m = by_prefix(table, "/srv/agent/home");
        assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
        assert_string_equal(m.fs_type, types[i]);
        assert_string_equal(m.mount_point, "/srv/agent");
        assert_int_equal(m.known_native, 0);
        m = decide(table, ORDINARY, 52, "/srv/agent/home", -1, NULL);
        assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
        /* (e): a native mount over the home folder */
        strcat(table, "53 52 8:2 / /srv/agent/home rw - ext4 /dev/sdb1 rw\n");
        m = by_prefix(table, "/srv/agent/home");
        assert_int_equal(m.mount_class, HF_MOUNT_NATIVE);
        assert_int_equal(m.known_native, 1);
    }
}

static void
f02_nine_p(void **state)
{
    static const char *const rows[] = {
        "61 40 0:70 / /srv/agent rw - 9p none rw,trans=fd,rfdno=9,wfdno=9,aname=/",
        "62 40 0:71 / /srv/agent rw - 9p D:\\134 rw,aname=drvfs;path=D:\\134,trans=fd",
        ("61 40 0:70 / /srv/agent rw - 9p2000.L none "
         "rw,trans=fd,rfdno=9,wfdno=9,aname=/"),
        "61 40 0:70 / /srv/agent rw - 9p2000 none rw",
        "61 40 0:70 / /srv/agent rw - 9p2000.u none rw",
        "61 40 0:70 / /srv/agent rw - drvfs D: rw",
    };
    char table[500];
    struct hf_mount m;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(table, sizeof table, ROOT "%s\n", rows[i]);
        m = by_prefix(table, "/srv/agent");
        assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
        assert_int_equal(m.sandbox, 0); /* an ordinary kernel */
    }
}

static void
gvisor_is_named(void **state)
{
    static const char nine_p[] =
        ROOT "61 1 0:70 / /srv rw - 9p none rw,trans=fd,rfdno=9,wfdno=9,aname=/\n";
    struct hf_mount m;

    (void)state;
    m = decide(nine_p, GVISOR, -1, "/srv", -1, NULL);
    assert_int_equal(m.sandbox, 1);
    assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
    m = decide(nine_p, "Linux version 4.19.0-gvisor", -1, "/srv", -1, NULL);
    assert_int_equal(m.sandbox, 1);
    m = decide(ROOT "61 1 0:70 / /srv rw - 9p none rw,trans=virtio\n", GVISOR, -1,
               "/srv", -1, NULL);
    assert_int_equal(m.sandbox, 0);
    m = decide(nine_p, NULL, -1, "/srv", -1, NULL);
    assert_int_equal(m.sandbox, 0);
}

static void
f03_docker_desktop_and_controls(void **state)
{
    static const struct {
        const char *type;
        uint32_t mount_class, known;
    } rows[] = {
        {"fakeowner", HF_MOUNT_CROSS_VM, 0},
        {"fuse.grpcfuse", HF_MOUNT_CROSS_VM, 0},
        {"fuse.osxfs", HF_MOUNT_CROSS_VM, 0},
        {"grpcfuse", HF_MOUNT_CROSS_VM, 0},
        {"osxfs", HF_MOUNT_CROSS_VM, 0},
        {"vboxsf", HF_MOUNT_CROSS_VM, 0},
        {"prl_fs", HF_MOUNT_CROSS_VM, 0},
        {"vmhgfs", HF_MOUNT_CROSS_VM, 0},
        {"fuse.vmhgfs-fuse", HF_MOUNT_CROSS_VM, 0},
        {"fuse.fuse-overlayfs", HF_MOUNT_NETWORK, 0},
        {"fuse.shfs", HF_MOUNT_NETWORK, 0},
        {"fuse.zzz", HF_MOUNT_NETWORK, 0},
        {"fuse", HF_MOUNT_NETWORK, 0},
        {"fuseblk", HF_MOUNT_NATIVE, 0},
        {"ext4", HF_MOUNT_NATIVE, 1},
        {"zzz", HF_MOUNT_NATIVE, 0},
        {"zfs", HF_MOUNT_NATIVE, 1},
        {"tmpfs", HF_MOUNT_NATIVE, 1},
        {"btrfs", HF_MOUNT_NATIVE, 1},
        {"xfs", HF_MOUNT_NATIVE, 1},
        {"ceph", HF_MOUNT_NATIVE, 0},
        {"9pfoo", HF_MOUNT_NATIVE, 0},
    };
    char table[500];
    struct hf_mount m;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(table, sizeof table,
                 ROOT "70 1 0:80 /work /srv/agent rw,nosuid,nodev - %s /run/host rw\n",
                 rows[i].type);
        m = by_prefix(table, "/srv/agent");
        assert_string_equal(m.fs_type, rows[i].type);
        assert_int_equal(m.mount_class, rows[i].mount_class);
        assert_int_equal(m.known_native, rows[i].known);
    }
}

static void
f04_network(void **state)
{
    static const char *const rows[] = {
        "90 1 0:95 / /srv/agent rw - nfs4 filer:/vol rw,vers=4.2",
        "90 1 0:95 / /srv/agent rw - nfs filer:/vol rw",
        "91 1 0:96 / /srv/agent rw - cifs //filer/share rw",
        "91 1 0:96 / /srv/agent rw - smb3 //filer/share rw",
        "92 1 0:97 / /srv/agent rw - fuse.sshfs host:/x rw",
    };
    char table[500];
    struct hf_mount m;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(table, sizeof table, ROOT "%s\n", rows[i]);
        m = by_prefix(table, "/srv/agent");
        assert_int_equal(m.mount_class, HF_MOUNT_NETWORK);
        assert_int_equal(m.known_native, 0);
    }
}

static void
f05_escaped(void **state)
{
    static const struct {
        const char *row, *folder;
    } names[] = {
        {"/srv/my\\040agent", "/srv/my agent"},
        {"/srv/tab\\011x", "/srv/tab\tx"},
        {"/srv/nl\\012x", "/srv/nl\nx"},
        {"/srv/back\\134slash", "/srv/back\\slash"},
        {"/srv/h#ash", "/srv/h#ash"},
        {"/srv/caf\xc3\xa9", "/srv/caf\xc3\xa9"},
    };
    char table[500];
    struct hf_mount m;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(table, sizeof table,
                 ROOT "62 43 0:38 / /srv/x\\04 rw - 9p d rw\n"
                      "63 43 0:39 / %s rw,relatime - virtiofs hostshare rw\n",
                 names[i].row);
        m = by_prefix(table, names[i].folder);
        assert_string_equal(m.fs_type, "virtiofs");
        assert_string_equal(m.mount_point, names[i].folder);
        m = by_prefix(table, "/srv/x");
        assert_string_equal(m.fs_type, "ext4");
    }
    m = by_prefix(ROOT "2 1 0:9 / /srv/agent rw - virtiofs h rw\n", "/srv/agent2");
    assert_string_equal(m.fs_type, "ext4");
    assert_int_equal(m.mount_class, HF_MOUNT_NATIVE);
}

static void
the_mount_id_decides_over_the_path(void **state)
{
    static const char table[] = ROOT "2 1 0:9 / /srv rw - virtiofs h rw\n"
                                     "3 2 8:9 / /srv rw - ext4 d rw\n";

    (void)state;
    /* A file system that was covered later is still the one that holds the folder. */
    assert_int_equal(decide(table, NULL, 2, "/srv", -1, NULL).mount_class,
                     HF_MOUNT_CROSS_VM);
    assert_int_equal(decide(table, NULL, 3, "/srv", -1, NULL).mount_class,
                     HF_MOUNT_NATIVE);
    assert_int_equal(decide(table, NULL, -1, "/srv", -1, NULL).mount_class,
                     HF_MOUNT_NATIVE);
}

static void
an_id_without_a_row(void **state)
{
    struct hf_mount m = HF_INIT(struct hf_mount);
    struct hf__mount_question q = {0};

    (void)state;
    q.table = ROOT;
    q.table_len = strlen(ROOT);
    q.look = look;
    q.folder = (struct hf__mount_place){"/srv", 77, 1};
    hf__mount_decide(&q, &m);
    assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
    q.folder.is_fuse = 0;
    hf__mount_decide(&q, &m);
    assert_int_equal(m.mount_class, HF_MOUNT_NATIVE);
    assert_string_equal(m.fs_type, "ext4");
}

static void
no_table_is_not_cross_vm(void **state)
{
    struct hf_mount m = decide(NULL, NULL, 5, "/srv", -1, NULL);

    (void)state;
    assert_int_equal(m.mount_class, HF_MOUNT_NATIVE);
    assert_int_equal(m.known_native, 0);
    assert_string_equal(m.fs_type, "");
    m = by_prefix("rubbish\n", "/srv");
    assert_int_equal(m.mount_class, HF_MOUNT_NATIVE);
}

static void
the_file_can_only_make_it_stricter(void **state)
{
    static const char table[] = ROOT "2 1 0:9 / /srv rw - virtiofs h rw\n"
                                     "3 2 8:9 / /srv/state.db rw - ext4 d rw\n"
                                     "4 1 0:8 / /net rw - nfs4 h rw\n";
    struct hf_mount m;

    (void)state;
    /* A file bound from elsewhere: its sidecars stay in the folder. */
    m = decide(table, NULL, 1, "/home", 3, "/home/state.db");
    assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
    assert_string_equal(m.fs_type, "ext4");
    assert_int_equal(m.known_native, 0);
    m = decide(ROOT "3 1 8:9 / /home/state.db rw - ext4 d rw\n", NULL, -1, "/home", -1,
               "/home/state.db");
    assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
    /* The folder's own verdict stays when it is the stricter one. */
    m = decide(table, NULL, 2, "/srv", 3, "/srv/state.db");
    assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
    m = decide(table, NULL, 4, "/net", 4, "/net/state.db");
    assert_int_equal(m.mount_class, HF_MOUNT_NETWORK);
    m = decide(table, NULL, 1, "/home", 1, "/home/state.db");
    assert_int_equal(m.mount_class, HF_MOUNT_NATIVE);
    assert_int_equal(m.known_native, 1);
}

static void
overlay_is_its_upper_folder(void **state)
{
    static const char table[] =
        ROOT "2 1 0:9 / /share rw - virtiofs h rw\n"
             "3 1 0:10 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/up\\040per/d,"
             "workdir=/w\n"
             "4 1 0:11 / /m rw - overlay overlay rw,lowerdir=/l,upperdir=/share/u\n"
             "5 1 0:12 / /ro rw - overlay overlay ro,lowerdir=/l\n"
             "6 1 0:13 / /oo rw - overlay overlay rw,lowerdir=/l,upperdir=/m/u\n"
             "7 1 0:14 / /self rw - overlay overlay rw,upperdir=/self/u\n"
             "8 1 0:14 / /net rw - nfs h rw\n"
             "9 1 0:14 / /on rw - overlay overlay rw,upperdir=/net/u\n";
    struct hf_mount m;

    (void)state;
    memset(seen, 0, sizeof seen);
    m = decide(table, NULL, 3, "/", -1, NULL); /* not to be seen: a container's */
    assert_int_equal(m.mount_class, HF_MOUNT_NATIVE);
    assert_int_equal(m.overlay_unknown, 1);
    assert_int_equal(m.known_native, 0);
    assert_string_equal(m.fs_type, "overlay");
    seen[0] = (struct hf__mount_place){"/up per/d", 1, 0};
    m = decide(table, NULL, 3, "/", -1, NULL);
    assert_int_equal(m.overlay_unknown, 0);
    assert_int_equal(m.known_native, 1);
    assert_string_equal(m.fs_type, "overlay");
    seen[0] = (struct hf__mount_place){"/share/u", 2, 0};
    seen[1] = (struct hf__mount_place){"/m/u", 4, 0};
    seen[2] = (struct hf__mount_place){"/self/u", 7, 0};
    seen[3] = (struct hf__mount_place){"/net/u", 8, 0};
    m = decide(table, NULL, 4, "/m", -1, NULL);
    assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
    assert_string_equal(m.fs_type, "virtiofs");
    m = decide(table, NULL, 6, "/oo", -1, NULL); /* an overlay on an overlay */
    assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
    m = decide(table, NULL, 9, "/on", -1, NULL);
    assert_int_equal(m.mount_class, HF_MOUNT_NETWORK);
    m = decide(table, NULL, 7, "/self", -1, NULL); /* leads to itself */
    assert_int_equal(m.overlay_unknown, 1);
    m = decide(table, NULL, 5, "/ro", -1, NULL); /* has no upper folder */
    assert_int_equal(m.overlay_unknown, 1);
    assert_int_equal(m.mount_class, HF_MOUNT_NATIVE);
}

static void
overlays_in_a_ring_end(void **state)
{
    static const char table[] = "1 0 0:1 / /a rw - overlay o rw,upperdir=/b/u\n"
                                "2 0 0:2 / /b rw - overlay o rw,upperdir=/a/u\n";
    struct hf_mount m;

    (void)state;
    memset(seen, 0, sizeof seen);
    seen[0] = (struct hf__mount_place){"/b/u", 2, 0};
    seen[1] = (struct hf__mount_place){"/a/u", 1, 0};
    m = decide(table, NULL, 1, "/a", -1, NULL);
    assert_int_equal(m.overlay_unknown, 1);
}

static void
a_table_of_ones_own(void **state)
{
    char *dir = scratch_make(), table[9000];
    const char *file = scratch_path(dir, "mounts"), *home = scratch_path(dir, "home");
    struct hf_mount m = HF_INIT(struct hf_mount);

    (void)state;
    scratch_folder(home);
    snprintf(table, sizeof table, ROOT "2 1 0:9 / %s rw - virtiofs h rw\n", home);
    scratch_text(file, table);
    unsetenv("HOLDFAST_MOUNTINFO");
    hf__mount_environment();
    assert_int_equal(hf__mount_faked(), 0);
    setenv("HOLDFAST_MOUNTINFO", file, 1);
    hf__mount_environment();
    assert_int_equal(hf__mount_faked(), 1);
    hf__mount_classify(scratch_path(home, "state.db"), &m); /* not there yet */
    assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
    assert_string_equal(m.fs_type, "virtiofs");
    scratch_text(scratch_path(home, "state.db"), "x");
    hf__mount_classify(scratch_path(home, "state.db"), &m);
    assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
    hf__mount_classify(home, &m); /* a folder itself */
    assert_int_equal(m.mount_class, HF_MOUNT_CROSS_VM);
    hf__mount_classify(scratch_path(dir, "other.db"), &m);
    assert_string_equal(m.fs_type, "ext4");
    /* What was looked at when the runtime was made stays. */
    unsetenv("HOLDFAST_MOUNTINFO");
    assert_int_equal(hf__mount_faked(), 1);
    remove(file);
    hf__mount_classify(scratch_path(home, "state.db"), &m);
    assert_int_equal(m.mount_class, HF_MOUNT_NATIVE); /* unreadable */
    hf__mount_environment();
    scratch_remove(dir);
}

/* In a chroot whose root is no mount the table has no row for "/". */
static int
root_has_a_row(void)
{
    FILE *table = fopen("/proc/self/mountinfo", "r");
    char line[8192], point[4096];
    int found = 0;

    while (table && fgets(line, sizeof line, table))
        found |= sscanf(line, "%*s %*s %*s %*s %4095s", point) == 1 &&
                 strcmp(point, "/") == 0;
    if (table)
        fclose(table);
    return found;
}

static void
the_real_table(void **state)
{
    struct hf_mount m = HF_INIT(struct hf_mount);

    (void)state;
    unsetenv("HOLDFAST_MOUNTINFO");
    hf__mount_environment();
    if (access("/proc/self/mountinfo", R_OK) != 0)
        skip();
    hf__mount_classify("/proc/version", &m);
    assert_string_equal(m.fs_type, "proc");
    assert_string_equal(m.mount_point, "/proc");
    hf__mount_classify("/no/such/folder/state.db", &m);
    if (root_has_a_row())
        assert_true(m.fs_type[0] != '\0');
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f01_virtiofs),
        cmocka_unit_test(f02_nine_p),
        cmocka_unit_test(gvisor_is_named),
        cmocka_unit_test(f03_docker_desktop_and_controls),
        cmocka_unit_test(f04_network),
        cmocka_unit_test(f05_escaped),
        cmocka_unit_test(the_mount_id_decides_over_the_path),
        cmocka_unit_test(an_id_without_a_row),
        cmocka_unit_test(no_table_is_not_cross_vm),
        cmocka_unit_test(the_file_can_only_make_it_stricter),
        cmocka_unit_test(overlay_is_its_upper_folder),
        cmocka_unit_test(overlays_in_a_ring_end),
        cmocka_unit_test(a_table_of_ones_own),
        cmocka_unit_test(the_real_table),
    };

    return cmocka_run_group_tests_name("mounts", tests, NULL, NULL);
}
