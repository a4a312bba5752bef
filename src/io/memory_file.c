/* SPDX-License-Identifier: Apache-2.0 */
/* Memory as files, by fopencookie: fmemopen takes a zero byte for the end, and adds one. */
#include "io/memory_file.h"

#include <errno.h>
#include <string.h>

static ssize_t put(void *user, const char *from, size_t bytes) {
    wi_memory_file *const m = user;
    if (m->memory) {
        if (bytes > m->bytes - m->at) {
            errno = ENOSPC;
            return 0;
        }
        memcpy(m->memory + m->at, from, bytes);
    }
    m->at += bytes;
    return (ssize_t)bytes;
}

static ssize_t get(void *user, char *to, size_t bytes) {
    wi_memory_file *const m = user;
    const size_t left = m->bytes - m->at;
    const size_t taken = bytes < left ? bytes : left;
    if (taken)
        memcpy(to, m->memory + m->at, taken);
    m->at += taken;
    return (ssize_t)taken;
}

static int seek(void *user, off64_t *offset, int whence) {
    wi_memory_file *const m = user;
    const size_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? m->at : m->bytes;
    const off64_t to = (off64_t)base + *offset;
    if (to < 0 || (size_t)to > m->bytes) {
        errno = EINVAL;
        return -1;
    }
    m->at = (size_t)to;
    *offset = to;
    return 0;
}

FILE *wi_memory_file_write(wi_memory_file *m) {
    m->at = 0;
    return fopencookie(m, "wb", (cookie_io_functions_t){.write = put});
}

FILE *wi_memory_file_read(wi_memory_file *m) {
    m->at = 0;
    return fopencookie(m, "rb", (cookie_io_functions_t){.read = get, .seek = seek});
}
