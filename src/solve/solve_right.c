/* SPDX-License-Identifier: Apache-2.0 */
/* Right-hand sides: scaled to c, narrowed to the type of the factors, and beside H, to be
 * eliminated with it. */
#include "core/smaller.h"
#include "solve/system.h"

enum {
    IN_RANGE = 300 /* right-hand sides within 2^+-this are not shifted */
};

weft_status wi_system_load(wi_system *s, size_t first, size_t count) {
    wi_grid b = s->args->b;
    int32_t power[WI_SYSTEM_GROUP];
    b.p = (const char *)b.p + first * b.across * weft_type_size(b.type);
    b.columns = count;
    b.row_power = s->a.row_power;
    weft_status status = s->place->peaks(s->ctx, &b, s->powers);
    if (status == WEFT_OK)
        status = wi_system_get(s, power, s->powers, count * sizeof *power);
    for (size_t j = 0; j < count && status == WEFT_OK; j++) {
        const int32_t peak = power[j];
        const bool is_far = peak != WI_EXPONENT_OF_0 && (peak > IN_RANGE || peak < -IN_RANGE);
        s->shift[first + j] = is_far ? peak : 0;
        power[j] = is_far ? -peak : 0;
    }
    if (status == WEFT_OK)
        status = wi_system_put(s, s->powers, power, count * sizeof *power);
    b.column_power = s->powers;
    return status == WEFT_OK ? s->place->copy(s->ctx, &b, WEFT_F64, s->c, s->n) : status;
}

weft_status wi_system_narrow(wi_system *s, size_t count, const double *from, const double *size,
                             int32_t *power, void *to) {
    for (size_t j = 0; j < count; j++) {
        const int32_t e = wi_exponent(size[j]);
        power[j] = e == WI_EXPONENT_OF_0 || e == WI_EXPONENT_OF_BAD ? 0 : e;
    }
    const weft_status status = wi_system_put(s, s->powers, power, count * sizeof *power);
    return status == WEFT_OK ? s->place->narrow(s->ctx, s->factor, s->n, count, from, s->powers, to)
                             : status;
}

/* The column of f beside H for a right-hand side; f has no gaps then. */
static char *beside(const wi_system *s, size_t column) {
    return (char *)s->f + (s->n + column) * s->n * weft_type_size(s->factor);
}

weft_status wi_system_augment(wi_system *s) {
    weft_status status = WEFT_OK;
    for (size_t j = 0; j < s->args->rhs && status == WEFT_OK; j += s->group) {
        const size_t count = wi_smaller(s->args->rhs - j, s->group);
        double size[WI_SYSTEM_GROUP];
        int32_t power[WI_SYSTEM_GROUP];
        status = wi_system_load(s, j, count);
        if (status == WEFT_OK)
            status = s->place->columns_most(s->ctx, WEFT_F64, s->n, count, s->c, s->words);
        if (status == WEFT_OK)
            status = wi_system_get(s, size, s->words, count * sizeof *size);
        if (status == WEFT_OK)
            status = wi_system_narrow(s, count, s->c, size, power, beside(s, j));
    }
    return status;
}

weft_status wi_system_back_substitute(wi_system *s, size_t first, size_t count) {
    const size_t bytes = count * s->n * weft_type_size(s->factor);
    const weft_status status = wi_system_get(s, s->d, beside(s, first), bytes);
    return status == WEFT_OK ? wi_system_triangle(s, true, false, false, count) : status;
}
