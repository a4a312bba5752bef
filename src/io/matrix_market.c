/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Matrix Market files block by block: each block of whole lines is first counted and then
 * parsed by several threads, which know from the counts where their entries belong. */
#include "io/matrix_market.h"

#include <errno.h>
#include <string.h>

#include "cpu/team.h"

enum {
    MOST_PARTS = 64,
    USUAL_BLOCK_BYTES = 1 << 23, /* for each thread: several milliseconds of work */
    MOST_BLOCK_BYTES = 1 << 26,
    LEAST_BLOCK_BYTES = 64,
    LONGEST_LINE_BYTES = 1 << 24,
    FIRST_ENTRIES = 1 << 16,   /* room allocated before any entry has been read */
    WORTHWHILE_BYTES = 1 << 16 /* of a block; smaller ones are parsed by one thread */
};

/* A file being read, and the part of it in memory. */
typedef struct source {
    FILE *file;
    const char *name;
    wi_note *note;
    const weft_context *ctx; /* its threads parse */
    char *buffer;
    size_t size;       /* of the buffer */
    wi_mm_text unread; /* a part of the buffer */
    bool ended;        /* end of file */
    size_t lines;      /* lines read so far */
} source;

static weft_status no_memory(const source *s, size_t bytes) {
    return wi_note_fail(s->note, WEFT_ENOMEM, "%s: no memory for %zu bytes", s->name, bytes);
}

/* Resizes the buffer to `size` bytes, at least as many as it has, and moves the unread ones to its
 * front. */
static weft_status resize_buffer(source *s, size_t size) {
    const size_t used = (size_t)(s->unread.end - s->unread.begin);
    char *larger = s->buffer;
    if (size != s->size) {
        larger = wi_host_alloc(size);
        if (!larger)
            return no_memory(s, size);
    }
    if (used)
        memmove(larger, s->unread.begin, used);
    if (larger != s->buffer)
        wi_host_free(s->buffer);
    s->buffer = larger;
    s->size = size;
    s->unread = (wi_mm_text){larger, larger + used};
    return WEFT_OK;
}

/* Fills the buffer after the unread bytes; if these fill it already, doubles it first. */
static weft_status refill(source *s) {
    const size_t used = (size_t)(s->unread.end - s->unread.begin);
    if (used > LONGEST_LINE_BYTES)
        return wi_note_fail(s->note, WEFT_EFORMAT, "%s: line %zu is longer than %d bytes", s->name,
                            s->lines + 1, LONGEST_LINE_BYTES);
    const weft_status status = resize_buffer(s, used == s->size ? 2 * s->size : s->size);
    if (status != WEFT_OK)
        return status;
    const size_t room = s->size - used;
    const size_t got = fread(s->buffer + used, 1, room, s->file);
    if (ferror(s->file))
        return wi_note_fail(s->note, WEFT_EIO, "%s: reading failed: %s", s->name, strerror(errno));
    s->unread.end += got;
    s->ended = got < room;
    return WEFT_OK;
}

/* Reads the next line; line->begin is NULL after the last. */
static weft_status take_line(source *s, wi_mm_text *line) {
    *line = (wi_mm_text){NULL, NULL};
    while (!s->ended && !memchr(s->unread.begin, '\n', (size_t)(s->unread.end - s->unread.begin))) {
        const weft_status status = refill(s);
        if (status != WEFT_OK)
            return status;
    }
    if (s->unread.begin == s->unread.end)
        return WEFT_OK;
    *line = wi_mm_next_line(&s->unread);
    s->lines++;
    return WEFT_OK;
}

/* Reads as many whole lines as the buffer holds; `text` is empty after the last. */
static weft_status take_block(source *s, wi_mm_text *text) {
    const char *end = NULL;
    for (;;) {
        const size_t used = (size_t)(s->unread.end - s->unread.begin);
        end = s->ended ? s->unread.end : memrchr(s->unread.begin, '\n', used);
        if (end)
            break;
        const weft_status status = refill(s);
        if (status != WEFT_OK)
            return status;
    }
    *text = (wi_mm_text){s->unread.begin, s->ended ? end : end + 1};
    s->unread.begin = text->end;
    return WEFT_OK;
}

static weft_status cut_short(const source *s, const char *missing) {
    return wi_note_fail(s->note, WEFT_EFORMAT, "%s: the file ends after %zu lines, before its %s",
                        s->name, s->lines, missing);
}

static weft_status read_head(source *s, wi_mm_head *head) {
    wi_mm_text line;
    weft_status status = take_line(s, &line);
    if (status == WEFT_OK && !line.begin)
        return cut_short(s, "first line, which begins %%MatrixMarket");
    if (status == WEFT_OK)
        status = wi_mm_parse_banner(line, s->name, head, s->note);
    do {
        if (status == WEFT_OK)
            status = take_line(s, &line);
        if (status == WEFT_OK && !line.begin)
            return cut_short(s, "line of sizes");
    } while (status == WEFT_OK && wi_mm_is_blank(line));
    return status == WEFT_OK ? wi_mm_parse_sizes(line, s->lines, s->name, head, s->note) : status;
}

/* Moves `used` elements of 8 bytes at *array to room for `count`. */
static weft_status grow(const source *s, void *array, size_t used, size_t count) {
    void *before;
    void *const larger = count <= PTRDIFF_MAX / 8 ? wi_host_alloc(count * 8) : NULL;
    if (!larger)
        return no_memory(s, count * 8);
    memcpy(&before, array, sizeof before);
    if (used)
        memcpy(larger, before, used * 8);
    wi_host_free(before);
    memcpy(array, &larger, sizeof larger);
    return WEFT_OK;
}

/* Provides room for `needed` entries, `used` of which are there; never for more than the file's
 * header says. */
static weft_status reserve(const source *s, wi_mm *m, size_t used, size_t needed, size_t *room) {
    weft_status status = WEFT_OK;
    if (needed > m->head.entries)
        needed = m->head.entries;
    if (needed <= *room && m->value)
        return WEFT_OK;
    size_t count = 2 * *room > needed ? 2 * *room : needed;
    if (count < FIRST_ENTRIES)
        count = FIRST_ENTRIES;
    if (count > m->head.entries)
        count = m->head.entries;
    status = grow(s, &m->value, used, count);
    if (status == WEFT_OK && !m->head.array)
        status = grow(s, &m->row, used, count);
    if (status == WEFT_OK && !m->head.array)
        status = grow(s, &m->col, used, count);
    *room = count;
    return status;
}

/* Divides a block at line ends into one part for each thread; returns how many. */
static size_t cut(const source *s, wi_mm_text text, wi_mm_part parts[MOST_PARTS]) {
    const size_t length = (size_t)(text.end - text.begin);
    size_t count =
        length < WORTHWHILE_BYTES && s->size >= WORTHWHILE_BYTES ? 1 : (size_t)s->ctx->threads;
    if (count > MOST_PARTS)
        count = MOST_PARTS;
    const char *begin = text.begin;
    for (size_t k = 0; k < count; k++) {
        /* If an earlier part ends inside this line, this part ends at the same place. */
        const char *end = text.begin + length / count * (k + 1);
        const char *const line_end =
            k + 1 < count ? memchr(end, '\n', (size_t)(text.end - end)) : NULL;
        end = line_end ? line_end + 1 : text.end;
        parts[k] = (wi_mm_part){.text = {begin, end}};
        begin = end;
    }
    return count;
}

static weft_status explain(const source *s, const wi_mm_head *head, const wi_mm_part *part,
                           size_t line) {
    char quoted[WI_QUOTE_BYTES], what[192];
    const weft_status status = part->fault == WI_MM_NOT_FINITE ? WEFT_ENONFINITE : WEFT_EFORMAT;
    switch (part->fault) {
    case WI_MM_NOT_INTEGER:
        snprintf(what, sizeof what, "holds no integer, though line 1 says integer");
        break;
    case WI_MM_NOT_FINITE:
        snprintf(what, sizeof what, "holds a value that is not a finite double");
        break;
    case WI_MM_OUTSIDE:
        snprintf(what, sizeof what,
                 "is outside the matrix of %zu x %zu; rows and columns count from 1", head->rows,
                 head->cols);
        break;
    case WI_MM_WRONG_SIDE:
        snprintf(what, sizeof what,
                 head->symmetry == WI_MM_SKEW
                     ? "is an entry on or above the diagonal, which a skew-symmetric file does not "
                       "list"
                     : "is an entry above the diagonal, which a symmetric file does not list; swap "
                       "its row and column");
        break;
    case WI_MM_TOO_MANY:
        snprintf(what, sizeof what, "is one entry too many: the sizes promise %zu", head->entries);
        break;
    default:
        snprintf(what, sizeof what, "should hold %s",
                 head->array                    ? "one value"
                 : head->field == WI_MM_PATTERN ? "a row and a column"
                                                : "a row, a column and a value");
    }
    const size_t length = (size_t)(part->fault_text.end - part->fault_text.begin);
    return wi_note_fail(s->note, status, "%s: line %zu %s: \"%s\"", s->name, line, what,
                        wi_note_quote(part->fault_text.begin, length, quoted));
}

static void count_part(void *user, int rank, int size) {
    wi_mm_part *const parts = user;
    (void)size;
    wi_mm_count(&parts[rank]);
}

typedef struct parsing {
    wi_mm_part *parts;
    wi_mm *m;
} parsing;

static void parse_part(void *user, int rank, int size) {
    const parsing *const p = user;
    (void)size;
    wi_mm_parse(&p->parts[rank], p->m);
}

/* Parses a block; `done` entries were read before, to which it adds its own. */
static weft_status read_block(source *s, wi_mm *m, wi_mm_text text, size_t *done, size_t *room) {
    wi_mm_part parts[MOST_PARTS];
    const size_t count = cut(s, text, parts);
    const size_t before = *done;
    wi_team_run(s->ctx, (int)count, count_part, parts);
    for (size_t k = 0; k < count; k++) {
        parts[k].first = *done;
        *done += parts[k].entries;
    }
    const weft_status status = reserve(s, m, before, *done, room);
    if (status != WEFT_OK)
        return status;
    wi_team_run(s->ctx, (int)count, parse_part, &(parsing){parts, m});
    for (size_t k = 0; k < count; k++) {
        if (parts[k].fault != WI_MM_SOUND)
            return explain(s, &m->head, &parts[k], s->lines + parts[k].fault_line + 1);
        s->lines += parts[k].lines;
    }
    return WEFT_OK;
}

static weft_status read_entries(source *s, wi_mm *m) {
    size_t done = 0, room = 0;
    wi_mm_text text = {NULL, NULL};
    weft_status status = reserve(s, m, 0, 0, &room);
    while (status == WEFT_OK) {
        status = take_block(s, &text);
        if (status != WEFT_OK || text.begin == text.end)
            break;
        status = read_block(s, m, text, &done, &room);
    }
    if (status == WEFT_OK && done < m->head.entries)
        return wi_note_fail(s->note, WEFT_EFORMAT,
                            "%s: the file ends after %zu lines with %zu of the %zu entries that "
                            "its sizes promise",
                            s->name, s->lines, done, m->head.entries);
    return status;
}

weft_status wi_mm_read(const weft_context *ctx, FILE *file, const char *name, size_t block_bytes,
                       wi_mm *m, wi_note *note) {
    size_t size = block_bytes ? block_bytes : (size_t)ctx->threads * USUAL_BLOCK_BYTES;
    if (size < LEAST_BLOCK_BYTES)
        size = LEAST_BLOCK_BYTES;
    if (size > MOST_BLOCK_BYTES)
        size = MOST_BLOCK_BYTES;
    char *const buffer = wi_host_alloc(size);
    source s = {.file = file,
                .name = name,
                .note = note,
                .ctx = ctx,
                .buffer = buffer,
                .size = size,
                .unread = {buffer, buffer}};
    *m = (wi_mm){.value = NULL};
    if (!buffer)
        return no_memory(&s, size);
    weft_status status = read_head(&s, &m->head);
    if (status == WEFT_OK)
        status = read_entries(&s, m);
    wi_host_free(s.buffer);
    if (status != WEFT_OK)
        wi_mm_free(m);
    return status;
}

void wi_mm_free(wi_mm *m) {
    wi_host_free(m->row);
    wi_host_free(m->col);
    wi_host_free(m->value);
    *m = (wi_mm){.value = NULL};
}
