/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tables of tuning: a head that says for what the table is, a line for each factor, and their
 * number. docs/tuning.md describes the file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/tuning_table.h"
#include "io/decimal.h"

enum {
    LINE_BYTES = 512,
    FIELDS = 5, /* operation, rung, type, shape, factor */
    SHOWN_BYTES = 256
};

/* A table while it is read. */
typedef struct reader {
    weft_context *ctx;
    const char *call;
    char path[SHOWN_BYTES]; /* as messages show it */
    FILE *file;
    size_t line_number, factors;
    char line[LINE_BYTES]; /* the latest, without its end */
    bool ended;            /* there is no further line */
} reader;

static weft_status damaged(const reader *r, const char *what) {
    return wi_fail(r->ctx, WEFT_EFORMAT,
                   "%s: %s: line %zu: %s; write the table again with weft tune", r->call, r->path,
                   r->line_number, what);
}

static weft_status not_for(const reader *r, const char *what, const char *have, const char *want) {
    char shown[SHOWN_BYTES];
    wi_shown(have, shown, sizeof shown);
    return wi_fail(r->ctx, WEFT_EUNSUPPORTED,
                   "%s: %s: the table is for %s %s, and this is %s; write one with weft tune",
                   r->call, r->path, what, shown, want);
}

static weft_status unreadable(const reader *r, const char *doing) {
    return wi_fail(r->ctx, WEFT_EIO, "%s: %s: %s failed: %s", r->call, r->path, doing,
                   strerror(errno));
}

/* Reads the next line that is not a comment. */
static weft_status next_line(reader *r) {
    do {
        r->line_number++;
        if (!fgets(r->line, sizeof r->line, r->file)) {
            r->ended = true;
            r->line[0] = '\0';
            return ferror(r->file) ? unreadable(r, "reading") : WEFT_OK;
        }
        const size_t length = strlen(r->line);
        if (length == 0 || r->line[length - 1] != '\n')
            return damaged(r, "the line is cut off or too long");
        r->line[length - 1] = '\0';
    } while (r->line[0] == '#');
    return WEFT_OK;
}

/* ---- the head ---- */

/* What follows `key` and a space on the next line; NULL if it says something else. */
static const char *value_of(const reader *r, const char *key) {
    const size_t length = strlen(key);
    if (strncmp(r->line, key, length) != 0 || r->line[length] != ' ')
        return NULL;
    return r->line + length + 1;
}

static weft_status read_first(reader *r) {
    const weft_status status = next_line(r);
    const char *const version = value_of(r, "weft-tuning");
    char known[16];
    if (status == WEFT_EIO)
        return status;
    if (status != WEFT_OK || !version)
        return wi_fail(r->ctx, WEFT_EFORMAT,
                       "%s: %s is no table of tuning; write one with weft tune", r->call, r->path);
    snprintf(known, sizeof known, "%d", WI_TUNING_VERSION);
    return strcmp(version, known) == 0 ? WEFT_OK : not_for(r, "format", version, known);
}

/* Reads `key` VALUE, and what is wrong unless the value is `want`. */
static weft_status expect(reader *r, const char *key, const char *what, const char *want) {
    char missing[64];
    const weft_status status = next_line(r);
    if (status != WEFT_OK)
        return status;
    const char *const value = value_of(r, key);
    snprintf(missing, sizeof missing, "no line \"%s ...\"", key);
    if (!value)
        return damaged(r, missing);
    return strcmp(value, want) == 0 ? WEFT_OK : not_for(r, what, value, want);
}

/* Reads for which place the table is; *other if for another kind of place. */
static weft_status read_place(reader *r, bool lenient, bool *other) {
    static const char *const kinds[] = {"cpu", "gpu", "emu"};
    const char *const own = wi_tuning_place(r->ctx);
    const weft_status status = expect(r, "place", "place", own);
    *other = false;
    if (status != WEFT_EUNSUPPORTED || !lenient)
        return status;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        *other = *other || strcmp(value_of(r, "place"), kinds[k]) == 0;
    return *other ? WEFT_OK : status;
}

static weft_status read_head(reader *r, bool lenient, bool *other) {
    char device[WI_DEVICE_BYTES];
    weft_status status = read_first(r);
    if (status == WEFT_OK)
        status = read_place(r, lenient, other);
    if (status != WEFT_OK || *other)
        return status;
    status = expect(r, "library", "weft", weft_version());
    if (status != WEFT_OK)
        return status;
    wi_tuning_device(r->ctx, device);
    return expect(r, "device", "device", device);
}

/* ---- the factors ---- */

/* Cuts the line into words that are one space apart; false unless there are FIELDS of them. */
static bool cut(reader *r, const char *field[FIELDS]) {
    char *at = r->line;
    for (int k = 0; k < FIELDS; k++) {
        char *const space = strchr(at, ' ');
        field[k] = at;
        if (!*at || *at == ' ' || !space != (k == FIELDS - 1))
            return false;
        if (space) {
            *space = '\0';
            at = space + 1;
        }
    }
    return true;
}

static bool find_row(const char *op_name, const char *row_name, size_t *op, size_t *row) {
    for (*op = 0; *op < wi_op_count && strcmp(wi_ops[*op]->op, op_name) != 0;)
        ++*op;
    if (*op == wi_op_count)
        return false;
    for (*row = 0; *row < wi_ops[*op]->count; ++*row)
        if (strcmp(wi_ops[*op]->rows[*row].name, row_name) == 0)
            return true;
    return false;
}

/* The type and the class of calls that two words name. */
static bool find_class(const char *type_name, const char *shape_name, weft_type *type,
                       unsigned *shape) {
    for (unsigned t = 0; t <= WEFT_TYPE_COUNT; t++)
        for (unsigned s = 0; s < WI_SHAPE_CLASSES; s++) {
            *type = (weft_type)t;
            *shape = s;
            if ((s < WI_ROUNDED || t == WEFT_F32) &&
                strcmp(type_name, wi_tuning_type(*type, s)) == 0 &&
                strcmp(shape_name, wi_tuning_shape(s)) == 0)
                return true;
        }
    return false;
}

static bool read_factor(const char *text, double *factor) {
    const char *const end = text + strlen(text);
    return wi_decimal_read(text, end, factor) == end && *factor >= WI_TUNING_LEAST &&
           *factor <= WI_TUNING_MOST;
}

/* Takes the factor that the line gives. */
static weft_status take_line(reader *r, wi_tuning *tuning) {
    const char *field[FIELDS];
    size_t op, row;
    weft_type type;
    unsigned shape;
    double factor;
    if (!cut(r, field))
        return damaged(r, "it is not OPERATION RUNG TYPE SHAPE FACTOR");
    if (!find_row(field[0], field[1], &op, &row))
        return damaged(r, "this build has no such rung");
    if (!find_class(field[2], field[3], &type, &shape))
        return damaged(r, "there is no such type and shape");
    if (!read_factor(field[4], &factor))
        return damaged(r, "the factor is not a number from 1e-6 to 1e6");
    if (wi_tuning_take(tuning, op) != WEFT_OK)
        return wi_fail(r->ctx, WEFT_ENOMEM, "%s: no host memory for a table of tuning", r->call);
    double *const at = wi_tuning_at(tuning, op, row, type, shape);
    if (*at > 0)
        return damaged(r, "this factor was given before");
    *at = factor;
    r->factors++;
    return WEFT_OK;
}

/* Reads all factors, and the line with their number, which is the last. */
static weft_status read_factors(reader *r, wi_tuning *tuning) {
    char count[32];
    weft_status status = next_line(r);
    while (status == WEFT_OK && !r->ended && !value_of(r, "factors")) {
        status = take_line(r, tuning);
        if (status == WEFT_OK)
            status = next_line(r);
    }
    if (status != WEFT_OK)
        return status;
    snprintf(count, sizeof count, "%zu", r->factors);
    if (r->ended || strcmp(value_of(r, "factors"), count) != 0)
        return damaged(r, "the table does not end with the number of its factors");
    status = next_line(r);
    return status != WEFT_OK || r->ended ? status
                                         : damaged(r, "something follows the end of the table");
}

weft_status wi_tuning_read(weft_context *ctx, const char *call, const char *path, bool lenient,
                           wi_tuning **tuning) {
    reader r = {.ctx = ctx, .call = call};
    bool other = false;
    *tuning = NULL;
    wi_shown(path, r.path, sizeof r.path);
    r.file = fopen(path, "rbe");
    if (!r.file)
        return unreadable(&r, "opening");
    weft_status status = read_head(&r, lenient, &other);
    if (status == WEFT_OK && !other) {
        *tuning = wi_host_alloc(sizeof **tuning);
        if (*tuning)
            **tuning = (wi_tuning){.of = {NULL}};
        status = *tuning
                     ? read_factors(&r, *tuning)
                     : wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for a table of tuning", call);
    }
    fclose(r.file);
    if (status != WEFT_OK) {
        wi_tuning_free(*tuning);
        *tuning = NULL;
    }
    return status;
}
