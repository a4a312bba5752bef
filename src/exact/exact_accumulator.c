/* SPDX-License-Identifier: Apache-2.0 */
/* weft_exact: a wide number that the user keeps. */
#include "exact/exact.h"

struct weft_exact {
    int64_t word[WI_EXACT_WORDS]; /* carried between calls */
};

enum {
    MAGIC_BYTES = 8,
    COUNTS = WI_EXACT_WORDS - WI_EXACT_DIGITS
};

static const char magic[MAGIC_BYTES + 1] = "weftsum1";

/* The order of the counts in a saved sum. */
static const int counted[COUNTS] = {WI_EXACT_COUNT, WI_EXACT_NAN, WI_EXACT_PLUS, WI_EXACT_MINUS,
                                    WI_EXACT_OTHER};

_Static_assert(WEFT_EXACT_BYTES == MAGIC_BYTES + 8 * COUNTS + 4 * WI_EXACT_DIGITS,
               "a saved sum has one digit after the other");

/* Refuses NULL for a context or an argument. */
static weft_status check(weft_context *ctx, const char *call, const char *name, const void *p) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return p ? WEFT_OK : wi_fail(ctx, WEFT_EARG, "%s: %s is NULL; pass its address", call, name);
}

weft_status weft_exact_create(weft_context *ctx, weft_exact **sum) {
    static const char call[] = "weft_exact_create";
    const weft_status status = check(ctx, call, "sum", sum);
    if (status != WEFT_OK)
        return status;
    *sum = wi_host_alloc(sizeof **sum);
    if (!*sum)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for a sum; free some", call);
    memset(*sum, 0, sizeof **sum);
    return WEFT_OK;
}

void weft_exact_destroy(weft_exact *sum) {
    wi_host_free(sum);
}

/* Of many elements that are not -0.0 it only matters that there are any. */
static void merge(weft_exact *sum, const int64_t *word) {
    wi_exact_merge_words(sum->word, word);
    sum->word[WI_EXACT_OTHER] = sum->word[WI_EXACT_OTHER] != 0;
    wi_exact_carry(sum->word);
}

static weft_status add(weft_context *ctx, const char *call, weft_exact *sum, wi_exact_args *args) {
    int64_t word[WI_EXACT_WORDS];
    weft_status status = wi_exact_check_float(ctx, call, "type", args->type);
    args->sum = word;
    if (status == WEFT_OK && !sum)
        status = check(ctx, call, "sum", sum);
    status = wi_exact_call(ctx, call, args, status);
    if (status == WEFT_OK)
        merge(sum, word);
    return status;
}

weft_status weft_exact_add(weft_context *ctx, weft_exact *sum, weft_type type, size_t n,
                           const void *x) {
    wi_exact_args args = {.terms = WI_EXACT_SUM, .type = type, .n = n, .x = x};
    return wi_check_context(ctx) == WEFT_OK ? add(ctx, "weft_exact_add", sum, &args) : WEFT_EARG;
}

weft_status weft_exact_add_dot(weft_context *ctx, weft_exact *sum, weft_type type, size_t n,
                               const void *x, const void *y) {
    wi_exact_args args = {.terms = WI_EXACT_DOT, .type = type, .n = n, .x = x, .y = y};
    return wi_check_context(ctx) == WEFT_OK ? add(ctx, "weft_exact_add_dot", sum, &args)
                                            : WEFT_EARG;
}

weft_status weft_exact_add_value(weft_context *ctx, weft_exact *sum, double x) {
    int64_t word[WI_EXACT_WORDS] = {[WI_EXACT_COUNT] = 1};
    const weft_status status = check(ctx, "weft_exact_add_value", "sum", sum);
    if (status != WEFT_OK)
        return status;
    wi_exact_add_f64(word, x);
    merge(sum, word);
    return WEFT_OK;
}

weft_status weft_exact_add_product(weft_context *ctx, weft_exact *sum, double x, double y) {
    int64_t word[WI_EXACT_WORDS] = {[WI_EXACT_COUNT] = 1};
    const weft_status status = check(ctx, "weft_exact_add_product", "sum", sum);
    if (status != WEFT_OK)
        return status;
    wi_exact_add_product(word, x, y);
    merge(sum, word);
    return WEFT_OK;
}

weft_status weft_exact_merge(weft_context *ctx, weft_exact *sum, const weft_exact *other) {
    static const char call[] = "weft_exact_merge";
    weft_status status = check(ctx, call, "sum", sum);
    if (status == WEFT_OK)
        status = check(ctx, call, "other", other);
    if (status == WEFT_OK)
        merge(sum, other->word);
    return status;
}

weft_status weft_exact_round(weft_context *ctx, const weft_exact *sum, weft_type type,
                             void *result) {
    static const char call[] = "weft_exact_round";
    weft_status status = check(ctx, call, "sum", sum);
    if (status == WEFT_OK)
        status = wi_exact_check_float(ctx, call, "type", type);
    if (status == WEFT_OK)
        status = check(ctx, call, "result", result);
    if (status == WEFT_OK)
        wi_exact_store(type, wi_exact_round(sum->word, type, false), result);
    return status;
}

weft_status weft_exact_count(weft_context *ctx, const weft_exact *sum, uint64_t *count) {
    static const char call[] = "weft_exact_count";
    weft_status status = check(ctx, call, "sum", sum);
    if (status == WEFT_OK)
        status = check(ctx, call, "count", count);
    if (status == WEFT_OK)
        *count = (uint64_t)sum->word[WI_EXACT_COUNT];
    return status;
}

/* ---- as bytes ---- */

static void put(unsigned char *to, int bytes, uint64_t value) {
    for (int k = 0; k < bytes; k++)
        to[k] = (unsigned char)(value >> 8 * k);
}

static uint64_t get(const unsigned char *from, int bytes) {
    uint64_t value = 0;
    for (int k = 0; k < bytes; k++)
        value |= (uint64_t)from[k] << 8 * k;
    return value;
}

weft_status weft_exact_save(weft_context *ctx, const weft_exact *sum, void *bytes) {
    static const char call[] = "weft_exact_save";
    unsigned char *at = bytes;
    weft_status status = check(ctx, call, "sum", sum);
    if (status == WEFT_OK)
        status = check(ctx, call, "bytes", bytes);
    if (status != WEFT_OK)
        return status;
    memcpy(at, magic, MAGIC_BYTES);
    at += MAGIC_BYTES;
    for (int k = 0; k < COUNTS; k++, at += 8)
        put(at, 8, (uint64_t)sum->word[counted[k]]);
    for (int k = 0; k < WI_EXACT_DIGITS; k++, at += 4)
        put(at, 4, (uint64_t)sum->word[k]);
    return WEFT_OK;
}

weft_status weft_exact_load(weft_context *ctx, weft_exact *sum, const void *bytes) {
    static const char call[] = "weft_exact_load";
    const unsigned char *at = bytes;
    weft_exact loaded;
    weft_status status = check(ctx, call, "sum", sum);
    if (status == WEFT_OK)
        status = check(ctx, call, "bytes", bytes);
    if (status != WEFT_OK)
        return status;
    if (memcmp(at, magic, MAGIC_BYTES) != 0)
        return wi_fail(ctx, WEFT_EFORMAT,
                       "%s: bytes do not begin with \"%s\"; pass what weft_exact_save wrote", call,
                       magic);
    at += MAGIC_BYTES;
    for (int k = 0; k < COUNTS; k++, at += 8)
        loaded.word[counted[k]] = (int64_t)get(at, 8);
    for (int k = 0; k < WI_EXACT_DIGITS; k++, at += 4)
        loaded.word[k] = (int64_t)get(at, 4);
    loaded.word[WI_EXACT_DIGITS - 1] = (int32_t)(uint32_t)loaded.word[WI_EXACT_DIGITS - 1];
    if ((uint64_t)loaded.word[WI_EXACT_OTHER] > 1)
        return wi_fail(ctx, WEFT_EFORMAT,
                       "%s: the fifth count of bytes is neither 0 nor 1; the sum is damaged", call);
    *sum = loaded;
    return WEFT_OK;
}
