/* SPDX-License-Identifier: Apache-2.0 */
/* Writing files so that after a full disk, a signal or a power failure there is either the old file
 * or the complete new one. */
#include "io/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    MOST_LINKS = 40,  /* limit on links that lead to links, the same as the system's */
    MOST_NAMES = 1000 /* names that are tried if others exist already */
};

/* What is known of a path to write to. */
typedef struct path_facts {
    bool exists;
    bool direct; /* it is not a file that can be replaced */
    struct stat facts;
} path_facts;

/* The length of the folder's part of a path, its slash included; 0 if it has none. */
static size_t folder_length(const char *path) {
    const char *const slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static void folder_of(const char *path, char folder[WI_PATH_BYTES]) {
    const size_t length = folder_length(path);
    snprintf(folder, WI_PATH_BYTES, "%.*s", length ? (int)length : 1, length ? path : ".");
}

/* Is the path in /proc, where /dev/stdout leads? Links there are open files, and what readlink
 * gives of them may be the name of another file. */
static bool is_in_proc(const char *path) {
    char folder[WI_PATH_BYTES];
    struct statfs facts;
    folder_of(path, folder);
    return statfs(folder, &facts) == 0 && facts.f_type == PROC_SUPER_MAGIC;
}

int wi_target_find(const char *path, char final[WI_PATH_BYTES]) {
    if (!*path)
        return ENOENT;
    if (snprintf(final, WI_PATH_BYTES, "%s", path) >= WI_PATH_BYTES)
        return ENAMETOOLONG;
    for (int links = 0; links < MOST_LINKS; links++) {
        char link[WI_PATH_BYTES];
        const ssize_t length = readlink(final, link, sizeof link - 1);
        if (length < 0)
            return errno == EINVAL || errno == ENOENT ? 0 : errno;
        if (is_in_proc(final))
            return 0;
        const size_t kept = link[0] == '/' ? 0 : folder_length(final);
        if (kept + (size_t)length >= WI_PATH_BYTES)
            return ENAMETOOLONG;
        memcpy(final + kept, link, (size_t)length);
        final[kept + (size_t)length] = '\0';
    }
    return ELOOP;
}

/* In a sticky folder, such as /tmp, only the owner may remove a name. */
static bool may_replace(const struct stat *file, const struct stat *folder) {
    const uid_t user = geteuid();
    return !(folder->st_mode & S_ISVTX) || user == 0 || user == file->st_uid ||
           user == folder->st_uid;
}

/* Finds what `path` leads to, and whether it can be written; 0, or the error as errno has it. */
static int look(const char *path, char final[WI_PATH_BYTES], path_facts *p) {
    char folder[WI_PATH_BYTES];
    struct stat around;
    *p = (path_facts){.exists = false};
    const int error = wi_target_find(path, final);
    if (error != 0)
        return error;
    p->exists = stat(final, &p->facts) == 0;
    if (p->exists && S_ISDIR(p->facts.st_mode))
        return EISDIR;
    if (p->exists && faccessat(AT_FDCWD, final, W_OK, AT_EACCESS) != 0)
        return errno;
    p->direct = p->exists && (!S_ISREG(p->facts.st_mode) || is_in_proc(final));
    if (p->direct)
        return 0;
    if (!final[folder_length(final)])
        return EISDIR; /* the name ends in a slash */
    folder_of(final, folder);
    if (stat(folder, &around) != 0 || faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        return errno;
    return p->exists && !may_replace(&p->facts, &around) ? EPERM : 0;
}

int wi_target_foresee(const char *path) {
    char final[WI_PATH_BYTES];
    path_facts p;
    return look(path, final, &p);
}

/* Creates a file in the folder of the one it is to replace; -1 and errno on failure. */
static int create_beside(wi_target *target, mode_t mode) {
    int descriptor = -1;
    errno = EEXIST;
    for (int k = 0; descriptor < 0 && errno == EEXIST && k < MOST_NAMES; k++) {
        const int length =
            snprintf(target->temporary, WI_PATH_BYTES, "%.*s.weft_%ld_%d.part",
                     (int)folder_length(target->final), target->final, (long)getpid(), k);
        errno = ENAMETOOLONG;
        if (length < WI_PATH_BYTES)
            descriptor = open(target->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    return descriptor;
}

/* Gives the new file the owner, group and mode of the old one. If the group cannot be set, the
 * group's rights are removed, and so are the set-id bits. */
static void keep_rights(int descriptor, const struct stat *old) {
    struct stat fresh;
    const bool same = fstat(descriptor, &fresh) == 0 && fresh.st_uid == old->st_uid &&
                      fresh.st_gid == old->st_gid;
    const bool kept = same || fchown(descriptor, old->st_uid, old->st_gid) == 0;
    const bool grouped = kept || fchown(descriptor, (uid_t)-1, old->st_gid) == 0;
    const mode_t lost = (kept ? 0u : S_ISUID | S_ISGID) | (grouped ? 0u : S_IRWXG);
    fchmod(descriptor, old->st_mode & 07777 & ~lost); /* some file systems have no modes */
}

/* Forgets the file, which is closed, and removes it unless it has its final name. */
static void forget(wi_target *target, bool named) {
    if (target->temporary[0] && !named)
        unlink(target->temporary);
    target->file = NULL;
    target->temporary[0] = '\0';
}

static weft_status open_failed(const char *path, int error, wi_note *note) {
    return wi_note_fail(note, WEFT_EIO, "%s: opening for writing failed: %s", path,
                        strerror(error));
}

weft_status wi_target_open(const char *path, wi_target *target, wi_note *note) {
    path_facts p;
    target->file = NULL;
    target->path = path;
    target->temporary[0] = '\0';
    const int error = look(path, target->final, &p);
    if (error != 0)
        return open_failed(path, error, note);
    /* If the old file is private, nobody else may read the new one. */
    const int descriptor = p.direct ? open(target->final, O_WRONLY | O_TRUNC | O_CLOEXEC)
                                    : create_beside(target, p.exists ? S_IRUSR | S_IWUSR : 0666);
    if (descriptor < 0) {
        target->temporary[0] = '\0';
        return open_failed(path, errno, note);
    }
    if (!p.direct && p.exists)
        keep_rights(descriptor, &p.facts);
    target->file = fdopen(descriptor, "wb");
    if (target->file)
        return WEFT_OK;
    const weft_status status = open_failed(path, errno, note);
    close(descriptor);
    forget(target, false);
    return status;
}

/* Writes the new name to the disk too. If a folder cannot be flushed, the system does it soon
 * anyway. */
static void flush_folder(const char *path) {
    char folder[WI_PATH_BYTES];
    folder_of(path, folder);
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        fsync(descriptor);
        close(descriptor);
    }
}

static weft_status write_failed(const wi_target *target, int error, wi_note *note) {
    return wi_note_fail(note, WEFT_EIO, "%s: writing failed: %s", target->path, strerror(error));
}

/* Is the whole file on the disk, under its final name? If not, errno says why. */
static bool complete(wi_target *target) {
    const bool replaces = target->temporary[0] != '\0';
    errno = EIO; /* in case nothing sets errno */
    bool sound = !ferror(target->file) && fflush(target->file) == 0;
    if (sound && replaces)
        sound = fsync(fileno(target->file)) == 0 || errno == EINVAL; /* cannot be flushed */
    const int error = errno;
    if (fclose(target->file) != 0)
        return false;
    errno = error;
    if (!sound || !replaces)
        return sound;
    if (rename(target->temporary, target->final) != 0)
        return false;
    flush_folder(target->final);
    return true;
}

weft_status wi_target_close(wi_target *target, wi_note *note) {
    const bool sound = complete(target);
    const int error = errno;
    forget(target, sound);
    return sound ? WEFT_OK : write_failed(target, error, note);
}

weft_status wi_target_fail(wi_target *target, wi_note *note) {
    const int error = errno;
    wi_target_drop(target);
    return write_failed(target, error, note);
}

void wi_target_drop(wi_target *target) {
    fclose(target->file);
    forget(target, false);
}
