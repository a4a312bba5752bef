/* SPDX-License-Identifier: Apache-2.0 */
/* The types of a table's columns. One that grows begins as i64, and becomes u64 or f64 where a
 * field asks for it: within a part its rows before that field are converted, and when all parts
 * have been parsed those that end with a lesser type are. So a column has one type, which does not
 * depend on how the text was divided. */
#include <string.h>

#include "cpu/team.h"
#include "io/text_table.h"

void wi_table_set_type(wi_table_target *t, weft_type type) {
    const size_t size = weft_type_size(type);
    const bool is_float = wi_type_is_float(type), is_signed = !is_float && wi_type_is_signed(type);
    const uint64_t ones = UINT64_MAX >> (64 - 8 * size);
    t->type = type;
    t->size = size;
    t->is_float = is_float;
    t->most[0] = is_signed ? ones >> 1 : ones;
    t->most[1] = is_signed ? (ones >> 1) + 1 : 0;
}

/* ---- converting ---- */

/* The nearest f64 of an i64 or u64; false if that is another number. */
static bool widen(weft_type from, uint64_t bits, double *value) {
    *value = from == WEFT_I64 ? (double)(int64_t)bits : (double)bits;
    return from == WEFT_I64 ? *value < 0x1p63 && (int64_t)*value == (int64_t)bits
                            : *value < 0x1p64 && (uint64_t)*value == bits;
}

/* Gives `rows` elements of type `from`, which come before `to`, that type. False if one of them has
 * no such value: then they are what they were. */
static bool change(char *elements, size_t rows, weft_type from, weft_type to) {
    uint64_t bits;
    double value;
    for (size_t i = 0; i < rows; i++) {
        memcpy(&bits, elements + i * sizeof bits, sizeof bits);
        if (to == WEFT_U64 ? (int64_t)bits < 0 : !widen(from, bits, &value))
            return false;
    }
    for (size_t i = 0; i < rows && to == WEFT_F64; i++) {
        memcpy(&bits, elements + i * sizeof bits, sizeof bits);
        widen(from, bits, &value);
        memcpy(elements + i * sizeof value, &value, sizeof value);
    }
    return true;
}

/* The place of a type in the order in which columns grow. */
static int stage_of(weft_type type) {
    return type == WEFT_I64 ? 0 : type == WEFT_U64 ? 1 : 2;
}

/* ---- within a part ---- */

bool wi_table_may_grow(const wi_table_target *t, wi_table_fault fault) {
    return t->grows && !t->is_float &&
           (fault == WI_TABLE_NO_INTEGER || fault == WI_TABLE_TOO_LARGE);
}

bool wi_table_grow(wi_table_target *t, const wi_table_part *part) {
    char *const elements = t->to + part->first * t->stride;
    const weft_type from = t->type;
    const bool is_large = part->fault == WI_TABLE_TOO_LARGE && *part->fault_text.begin != '-';
    if (is_large && from == WEFT_I64 && change(elements, part->stored, from, WEFT_U64)) {
        wi_table_set_type(t, WEFT_U64);
        return true;
    }
    wi_table_set_type(t, WEFT_F64);
    return change(elements, part->stored, from, WEFT_F64);
}

/* ---- among parts ---- */

/* What the threads do together. */
typedef struct agreement {
    const wi_table_head *head;
    wi_table_part *parts;
    size_t count;
    wi_table_target *targets;
} agreement;

/* Sets the target's type to the largest that a part has; u64 where others have negative numbers is
 * f64. */
static void find_type(const agreement *a, size_t column) {
    wi_table_target *const t = &a->targets[column];
    weft_type type = WEFT_I64;
    for (size_t k = 0; k < a->count; k++) {
        const weft_type other = (weft_type)a->parts[k].types[column];
        type = stage_of(other) > stage_of(type) ? other : type;
    }
    for (size_t k = 0; k < a->count && type == WEFT_U64; k++) {
        const wi_table_part *const part = &a->parts[k];
        if (part->types[column] == WEFT_I64 &&
            !change(t->to + part->first * t->stride, part->stored, WEFT_I64, WEFT_U64))
            type = WEFT_F64;
    }
    wi_table_set_type(t, type);
}

/* Converts what a part has of lesser types. If f64 would round an element, the part is parsed anew,
 * as which it says where that is. */
static void raise_part(const agreement *a, wi_table_part *part) {
    bool sound = true;
    for (size_t column = 0; column < a->head->columns; column++) {
        const wi_table_target *const t = &a->targets[column];
        const weft_type from = (weft_type)part->types[column];
        if (t->grows && t->to && from != t->type)
            sound &= change(t->to + part->first * t->stride, part->stored, from, t->type);
    }
    if (!sound)
        wi_table_parse(part, a->head, a->targets);
}

static void raise_parts(void *user, int rank, int team) {
    const agreement *const a = user;
    for (size_t k = (size_t)rank; k < a->count; k += (size_t)team)
        raise_part(a, &a->parts[k]);
}

void wi_table_agree(const weft_context *ctx, int team, const wi_table_head *head,
                    wi_table_part *parts, size_t count, wi_table_target *targets) {
    agreement a = {head, parts, count, targets};
    for (size_t column = 0; column < head->columns; column++)
        if (targets[column].grows && targets[column].to)
            find_type(&a, column);
    wi_team_run(ctx, team, raise_parts, &a);
}
