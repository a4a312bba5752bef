/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of writing files: the old file stays complete until the new one is, and nothing is left
 * behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "full_disk.h"
#include "io/target.h"

static const char old_text[] = "what was there", new_text[] = "what comes";
static char folder[64];

/* Every test works in its own folder, which must be empty at the end. */
static int enter(void **state) {
    (void)state;
    strcpy(folder, "/tmp/weft_target_test_XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state) {
    (void)state;
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void put(const char *path, const char *text) {
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void check_text(const char *path, const char *expected) {
    char got[64] = "";
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    got[fread(got, 1, sizeof got - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(got, expected);
}

static mode_t mode_of(const char *path) {
    struct stat facts;
    assert_int_equal(lstat(path, &facts), 0);
    return facts.st_mode & 07777;
}

static size_t files_here(void) {
    size_t count = 0;
    DIR *const listing = opendir(".");
    assert_non_null(listing);
    while (readdir(listing))
        count++;
    closedir(listing);
    return count - 2; /* . and .. */
}

/* Writes new_text to `path`; until the end the old contents stay. */
static void replace(const char *path, const char *before) {
    static wi_target t;
    wi_note note = {""};
    if (wi_target_open(path, &t, &note) != WEFT_OK)
        fail_msg("%s", note.text);
    fputs(new_text, t.file);
    fflush(t.file);
    if (before)
        check_text(path, before);
    if (wi_target_close(&t, &note) != WEFT_OK)
        fail_msg("%s", note.text);
    check_text(path, new_text);
}

static void refuse(const char *path, int error) {
    static wi_target t;
    wi_note note = {""};
    assert_int_equal(wi_target_foresee(path), error);
    assert_int_equal(wi_target_open(path, &t, &note), WEFT_EIO);
    if (!strstr(note.text, strerror(error)) || !strstr(note.text, "opening for writing"))
        fail_msg("\"%s\"", note.text);
}

static void names(void **state) {
    (void)state;
    char longest[256], path[128];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    snprintf(path, sizeof path, "%s/new", folder);
    const char *const all[] = {"new", "./new", path, longest, "-"};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        assert_int_equal(wi_target_foresee(all[k]), 0);
        replace(all[k], NULL);
        replace(all[k], new_text);
        assert_int_equal(files_here(), 1);
        unlink(all[k]);
    }
    refuse("", ENOENT);
    refuse("no/file", ENOENT);
    refuse("new/", EISDIR);
    refuse(".", EISDIR);
    refuse(folder, EISDIR);
    static char far[WI_PATH_BYTES + 1];
    memset(far, '/', sizeof far - 1);
    assert_int_equal(wi_target_foresee(far), ENAMETOOLONG);
    assert_int_equal(files_here(), 0);
}

static void rights(void **state) {
    (void)state;
    static const mode_t modes[] = {0600, 0644, 0755, 0640, 0666};
    const mode_t mask = umask(027);
    replace("new", NULL);
    assert_int_equal(mode_of("new"), 0640);
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
        assert_int_equal(chmod("new", modes[k]), 0);
        replace("new", new_text);
        assert_int_equal(mode_of("new"), modes[k]);
    }
    umask(mask);
    if (geteuid() == 0) { /* somebody else's file stays theirs */
        struct stat facts;
        assert_int_equal(chown("new", 12345, 54321), 0);
        replace("new", new_text);
        assert_int_equal(stat("new", &facts), 0);
        assert_int_equal(facts.st_uid, 12345);
        assert_int_equal(facts.st_gid, 54321);
        assert_int_equal(chown("new", 0, 0), 0);
        assert_int_equal(seteuid(65534), 0);
        refuse("new", EACCES);
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(chmod(".", 01777), 0); /* like /tmp */
        assert_int_equal(seteuid(65534), 0);
        refuse("new", EPERM);
        replace("own", NULL);
        replace("own", new_text);
        unlink("own");
        assert_int_equal(seteuid(0), 0);
    } else { /* a file that may not be written is not replaced either */
        assert_int_equal(chmod("new", 0444), 0);
        refuse("new", EACCES);
        assert_int_equal(chmod(".", 0555), 0);
        assert_int_equal(chmod("new", 0644), 0);
        refuse("new", EACCES);
        assert_int_equal(chmod(".", 0755), 0);
    }
    unlink("new");
}

static void links(void **state) {
    (void)state;
    char target[64] = "";
    assert_int_equal(mkdir("deep", 0755), 0);
    put("deep/file", old_text);
    assert_int_equal(symlink("deep/link", "link"), 0);
    assert_int_equal(symlink("file", "deep/link"), 0);
    assert_int_equal(symlink("deep/none", "dangling"), 0);
    assert_int_equal(symlink("round", "round"), 0);
    replace("link", old_text);
    check_text("deep/file", new_text);
    assert_int_equal(readlink("link", target, sizeof target), 9);
    replace("dangling", NULL);
    check_text("deep/none", new_text);
    refuse("round", ELOOP);
    unlink("deep/none");
    unlink("deep/file");
    unlink("deep/link");
    assert_int_equal(rmdir("deep"), 0);
    unlink("dangling");
    unlink("round");
    unlink("link");
}

/* A file that is not regular, or is open already, is written directly. */
static void direct(void **state) {
    (void)state;
    static wi_target t;
    char path[64];
    wi_note note = {""};
    put("open", old_text);
    const int descriptor = open("open", O_RDWR);
    assert_true(descriptor >= 0);
    assert_int_equal(unlink("open"), 0); /* its name in /proc then leads nowhere */
    snprintf(path, sizeof path, "/dev/fd/%d", descriptor);
    replace(path, NULL);
    close(descriptor);
    assert_int_equal(wi_target_open("/dev/null", &t, &note), WEFT_OK);
    assert_int_equal(wi_target_close(&t, &note), WEFT_OK);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(wi_target_open("/dev/full", &t, &note), WEFT_OK);
        fputs(new_text, t.file);
        assert_int_equal(wi_target_close(&t, &note), WEFT_EIO);
        assert_string_equal(note.text, "/dev/full: writing failed: No space left on device");
    }
    assert_int_equal(access("/dev/null", F_OK), 0);
}

/* A full disk, simulated by a limit on the size of files; and a writer that gives up. */
static void failures(void **state) {
    (void)state;
    static wi_target t;
    wi_note note = {""};
    put("file", old_text);
    assert_int_equal(wi_target_open("file", &t, &note), WEFT_OK);
    fputs(new_text, t.file);
    wi_target_drop(&t);
    check_text("file", old_text);
    assert_int_equal(files_here(), 1);
    test_limit_files(4096);
    const weft_status opened = wi_target_open("file", &t, &note);
    for (int k = 0; opened == WEFT_OK && k < 10000; k++)
        fputc('x', t.file);
    const weft_status closed = wi_target_close(&t, &note);
    test_limit_files(RLIM_INFINITY);
    assert_int_equal(opened, WEFT_OK);
    assert_int_equal(closed, WEFT_EIO);
    assert_non_null(strstr(note.text, "file: writing failed"));
    check_text("file", old_text);
    assert_int_equal(files_here(), 1);
    unlink("file");
}

/* A temporary name left behind by a process with the same number is skipped, not removed. */
static void left_behind(void **state) {
    (void)state;
    static wi_target t, other;
    wi_note note = {""};
    assert_int_equal(wi_target_open("file", &t, &note), WEFT_OK);
    assert_int_equal(wi_target_open("file", &other, &note), WEFT_OK);
    assert_string_not_equal(t.temporary, other.temporary);
    fputs(new_text, other.file);
    assert_int_equal(wi_target_close(&other, &note), WEFT_OK);
    assert_int_equal(files_here(), 2);
    check_text("file", new_text);
    assert_int_equal(wi_target_close(&t, &note), WEFT_OK);
    check_text("file", "");
    assert_int_equal(files_here(), 1);
    unlink("file");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names, enter, leave),
        cmocka_unit_test_setup_teardown(rights, enter, leave),
        cmocka_unit_test_setup_teardown(links, enter, leave),
        cmocka_unit_test_setup_teardown(direct, enter, leave),
        cmocka_unit_test_setup_teardown(failures, enter, leave),
        cmocka_unit_test_setup_teardown(left_behind, enter, leave),
    };
    return cmocka_run_group_tests_name("targets", tests, NULL, NULL);
}
