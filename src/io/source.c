/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files that are not trusted. */
#include "io/source.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

enum {
    FIRST_BYTES = 1 << 20 /* allocated before anything of a pipe's array has been read */
};

weft_status wi_source_cut_short(const wi_source *s, const char *what, size_t expected, size_t got) {
    if (ferror(s->file))
        return wi_note_fail(s->note, WEFT_EIO, "%s: reading failed: %s", s->name, strerror(errno));
    return wi_note_fail(s->note, WEFT_EFORMAT,
                        "%s: the file is cut short: its %s should have %zu bytes, and %zu are "
                        "there",
                        s->name, what, expected, got);
}

weft_status wi_source_no_memory(const wi_source *s, size_t bytes) {
    return wi_note_fail(s->note, WEFT_ENOMEM, "%s: no memory for %zu bytes", s->name, bytes);
}

bool wi_source_left(FILE *file, size_t *left) {
    struct stat facts;
    const int descriptor = fileno(file);
    if (descriptor < 0 || fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode))
        return false;
    const off_t at = ftello(file);
    if (at < 0)
        return false;
    *left = facts.st_size > at ? (size_t)(facts.st_size - at) : 0;
    return true;
}

weft_status wi_source_resize(const wi_source *s, unsigned char **data, size_t used, size_t room) {
    unsigned char *const larger = wi_host_alloc_huge(room);
    if (!larger)
        return wi_source_no_memory(s, room);
    if (used)
        memcpy(larger, *data, used);
    wi_host_free(*data);
    *data = larger;
    return WEFT_OK;
}

/* Reads exactly `bytes` bytes into new memory. How much a pipe will deliver is unknown, so its
 * memory is doubled only when it is full. */
weft_status wi_source_read(const wi_source *s, const char *what, size_t bytes, void **result) {
    unsigned char *data = NULL;
    size_t used = 0, room = bytes, left;
    weft_status status = WEFT_OK;
    *result = NULL;
    if (wi_source_left(s->file, &left)) {
        if (left < bytes)
            return wi_source_cut_short(s, what, bytes, left);
    } else if (room > FIRST_BYTES) {
        room = FIRST_BYTES;
    }
    while (status == WEFT_OK) {
        status = wi_source_resize(s, &data, used, room);
        if (status != WEFT_OK)
            break;
        used += fread(data + used, 1, room - used, s->file);
        if (used < room)
            status = wi_source_cut_short(s, what, bytes, used);
        if (used == bytes)
            break;
        room = bytes - room > room ? 2 * room : bytes;
    }
    if (status == WEFT_OK)
        *result = data;
    else
        wi_host_free(data);
    return status;
}
