/* SPDX-License-Identifier: Apache-2.0 */
/* Draws, arguments that may be wrong on purpose, and the checks after every call; see calls.h. */
#include "calls/calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- draws ---- */

size_t fuzz_below(fuzz *f, size_t bound) {
    uint64_t bits = 0;
    if (bound <= 1) {
        return 0;
    }
    if (f->length == 0) {
        return test_below(&f->random, bound);
    }
    for (size_t left = bound - 1; left > 0 && f->length > 0; left >>= 8) {
        bits = bits << 8 | *f->bytes++;
        f->length--;
    }
    return bits % bound;
}

bool fuzz_one_in(fuzz *f, size_t chances) {
    return fuzz_below(f, chances) == 0;
}

size_t fuzz_size(fuzz *f, size_t most) {
    size_t n;
    switch (fuzz_below(f, 8)) {
    case 0:
        n = fuzz_below(f, 3);
        break;
    case 1:
    case 2:
        n = fuzz_below(f, 70);
        break;
    case 3:
    case 4:
        n = ((size_t)1 << fuzz_below(f, 15)) + fuzz_below(f, 3) - 1;
        break;
    case 5:
        n = fuzz_below(f, most);
        break;
    default:
        n = fuzz_below(f, most / 10 + 1);
    }
    return n < most ? n : most;
}

weft_type fuzz_type(fuzz *f) {
    return (weft_type)fuzz_below(f, WEFT_TYPE_COUNT);
}

weft_type fuzz_count_type(fuzz *f) {
    static const weft_type types[] = {WEFT_I32, WEFT_U32, WEFT_I64, WEFT_U64};
    return types[fuzz_below(f, 4)];
}

test_random *fuzz_random(fuzz *f) {
    f->random.state ^= fuzz_below(f, 1 << 16);
    return &f->random;
}

static void fill_bits(test_random *r, size_t bytes, unsigned char *p) {
    for (size_t i = 0; i < bytes; i++) {
        p[i] = (unsigned char)test_bits(r);
    }
}

/* Rising or falling, with plateaus, and some of the time with a few elements out of order. */
static void fill_ordered(fuzz *f, weft_type type, size_t n, void *p) {
    const bool falling = fuzz_one_in(f, 2), twisted = fuzz_one_in(f, 2);
    const size_t step = 1 + fuzz_below(f, 9);
    test_random *const r = fuzz_random(f);
    for (size_t i = 0; i < n; i++) {
        size_t k = (falling ? n - i : i) / step;
        if (twisted && test_below(r, 50) == 0) {
            k = test_below(r, n);
        }
        test_store(type, p, i,
                   test_is_float(type) ? (test_value){.f = (double)k} : (test_value){.u = k});
    }
}

/* Far up and down again: sums, or products, of neighbours may leave the range, prefixes do not. */
static void fill_swings(fuzz *f, weft_type type, size_t n, void *p) {
    const bool products = fuzz_one_in(f, 2);
    const double far = ldexp(test_largest_of(type), -1 - (int)fuzz_below(f, 4));
    const size_t period = 1 + fuzz_below(f, 40);
    for (size_t i = 0; i < n; i++) {
        const bool back = i / period % 2 != 0;
        const double part = products ? pow(far, 1.0 / (double)period) : far / (double)period;
        test_store(type, p, i, (test_value){.f = !back ? part : products ? 1 / part : -part});
    }
}

void fuzz_fill(fuzz *f, weft_type type, size_t n, void *p) {
    const size_t pattern = fuzz_below(f, TEST_NANS + (test_is_float(type) ? 4 : 3));
    if (pattern <= TEST_NANS) {
        test_fill(fuzz_random(f), (test_pattern)pattern, type, n, p);
    } else if (pattern == TEST_NANS + 1) {
        fill_bits(fuzz_random(f), n * test_size_of(type), p);
    } else if (pattern == TEST_NANS + 2) {
        fill_ordered(f, type, n, p);
    } else {
        fill_swings(f, type, n, p);
    }
}

void fuzz_fill_tame(fuzz *f, weft_type type, size_t n, void *p) {
    test_fill(fuzz_random(f), fuzz_one_in(f, 4) ? TEST_EQUAL : TEST_SMALL, type, n, p);
}

/* ---- arguments ---- */

/* What fuzz_take gave, one after the other. */
typedef struct fuzz_memory {
    struct fuzz_memory *next;
    void *p;
} fuzz_memory;

void *fuzz_take(fuzz *f, size_t bytes) {
    fuzz_memory *const m = malloc(sizeof *m);
    void *const p = calloc(bytes ? bytes : 1, 1);
    if (!m || !p) {
        fail_msg("the fuzzer itself has no memory for %zu bytes", bytes);
    }
    *m = (fuzz_memory){f->owned, p};
    f->owned = m;
    return p;
}

void fuzz_begin(fuzz *f, const char *op) {
    const wi_row *rows[TEST_MAX_ROWS];
    if (f->forced) { /* the call may use that ladder within */
        test_use(f->ctx, f->op, NULL);
    }
    f->op = op;
    f->forced = NULL;
    f->wrong = NULL;
    f->gaps = false;
    f->count = 0;
    f->type = fuzz_type(f);
    f->n = fuzz_size(f, f->most);
    for (size_t k = 0; op && k < wi_op_count; k++) {
        if (strcmp(wi_ops[k]->op, op) == 0 && fuzz_below(f, 3)) {
            const size_t count = test_rows(f->ctx, wi_ops[k], rows);
            f->forced = rows[fuzz_below(f, count)];
        }
    }
    if (op) {
        test_use(f->ctx, op, f->forced);
        f->used = weft_used(f->ctx, op);
    }
}

static fuzz_array *add(fuzz *f, const char *name, bool device, size_t bytes, size_t align,
                       const void *from) {
    fuzz_array *const a = &f->arrays[f->count++];
    const size_t most = TEST_MAX_OFFSET / align;
    *a = (fuzz_array){.name = name, .bytes = bytes, .align = align, .type = WEFT_U8};
    a->buffer = test_buffer_open(f->ctx, device, bytes);
    const size_t offset = fuzz_one_in(f, 2) ? 0 : align * fuzz_below(f, most);
    test_buffer_load(&a->buffer, from, bytes, offset);
    a->p = a->buffer.p;
    a->before = fuzz_take(f, bytes);
    a->want = fuzz_take(f, bytes);
    if (from && bytes > 0) {
        memcpy(a->before, from, bytes);
    } else {
        memset(a->before, TEST_POISON, bytes);
    }
    memcpy(a->want, a->before, bytes);
    if (bytes == 0 && fuzz_one_in(f, 2)) {
        a->p = NULL; /* no elements need no memory */
    }
    return a;
}

static bool on_device(fuzz *f) {
    return f->gpu && fuzz_below(f, 3);
}

fuzz_array *fuzz_input(fuzz *f, const char *name, size_t bytes, size_t align, const void *from) {
    return add(f, name, on_device(f), bytes, align, from);
}

fuzz_array *fuzz_host_input(fuzz *f, const char *name, size_t bytes, size_t align,
                            const void *from) {
    return add(f, name, false, bytes, align, from);
}

fuzz_array *fuzz_output(fuzz *f, const char *name, size_t bytes, size_t align) {
    fuzz_array *const a = add(f, name, on_device(f), bytes, align, NULL);
    a->output = true;
    return a;
}

fuzz_array *fuzz_host_output(fuzz *f, const char *name, size_t bytes, size_t align) {
    fuzz_array *const a = add(f, name, false, bytes, align, NULL);
    a->output = true;
    return a;
}

fuzz_array *fuzz_output_or(fuzz *f, fuzz_array *input, const char *name) {
    if (fuzz_one_in(f, 3)) {
        input->shared = true;
        return input;
    }
    return fuzz_output(f, name, input->bytes, input->align);
}

fuzz_array *fuzz_elements(fuzz *f, const char *name, size_t n) {
    const size_t size = test_size_of(f->type);
    void *const data = fuzz_take(f, n * size);
    fuzz_fill(f, f->type, n, data);
    fuzz_array *const a = fuzz_input(f, name, n * size, size, data);
    a->type = f->type;
    return a;
}

/* An output that begins inside another array. */
static bool overlap(fuzz *f, fuzz_array *a) {
    fuzz_array *const other = &f->arrays[fuzz_below(f, f->count)];
    if (!a->output || other == a || a->bytes < 2 || other->bytes < 2 || f->gaps) {
        return false;
    }
    const uintptr_t begin = (uintptr_t)other->p, end = begin + other->bytes;
    uintptr_t at = begin + 1 + fuzz_below(f, other->bytes - 1);
    at = (at + a->align - 1) / a->align * a->align;
    if (at >= end) {
        return false;
    }
    a->p = (void *)at; // NOLINT(performance-no-int-to-ptr)
    return true;
}

void fuzz_spoil_array(fuzz *f) {
    fuzz_array *const a = &f->arrays[fuzz_below(f, f->count)];
    if (f->count == 0 || a->shared || a->bytes == 0) {
        return;
    }
    switch (fuzz_below(f, 3)) {
    case 0:
        if (a->optional) {
            return;
        }
        a->p = NULL;
        break;
    case 1:
        if (a->align == 1) {
            return;
        }
        a->p = (char *)a->p + 1 + fuzz_below(f, a->align - 1);
        break;
    default:
        if (!overlap(f, a)) {
            return;
        }
    }
    f->wrong = a->name;
}

void fuzz_spoil_any_array(fuzz *f) {
    if (!f->wrong && fuzz_one_in(f, 16)) {
        fuzz_spoil_array(f);
    }
}

void fuzz_spoil(fuzz *f) {
    static const int no_types[] = {-1, WEFT_TYPE_COUNT, 99};
    if (f->wrong || !fuzz_one_in(f, 12)) {
        return;
    }
    switch (fuzz_below(f, 6)) {
    case 0:
        f->type = (weft_type)no_types[fuzz_below(f, 3)];
        f->wrong = "type";
        break;
    case 1:
        f->n = SIZE_MAX >> fuzz_below(f, 1 + (f->type == WEFT_F64));
        f->wrong = "";
        break;
    default:
        fuzz_spoil_array(f);
    }
}

bool fuzz_spoil_own(fuzz *f, const char *name) {
    if (f->wrong || !fuzz_one_in(f, 40)) {
        return false;
    }
    f->wrong = name;
    return true;
}

/* ---- checks ---- */

static char said[FUZZ_SAID_BYTES];

void fuzz_say(fuzz *f, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    snprintf(said + used, sizeof said - (size_t)used, "; place %s, %s of %s forced, wrong: %s",
             weft_place(f->ctx), f->forced ? f->forced->name : "nothing", f->op ? f->op : "it",
             f->wrong ? f->wrong : "nothing");
    for (size_t k = 0; k < f->count; k++) {
        const fuzz_array *const a = &f->arrays[k];
        used = (int)strlen(said);
        snprintf(said + used, sizeof said - (size_t)used, "; %s: %s + %zu%s", a->name,
                 a->buffer.device ? "device" : "host", (uintptr_t)a->buffer.p % TEST_MAX_OFFSET,
                 a->shared ? ", in place" : "");
    }
    if (getenv("WEFT_FUZZ_SAY")) {
        fprintf(stderr, "%s\n", said);
    }
}

const char *fuzz_said(void) {
    return said;
}

/* Is `got` what is wanted of element i? */
static bool is_bounded(const fuzz_array *a, size_t i, test_value got) {
    const long double want = a->value[i], bound = a->bound[i];
    if (isinf(bound)) {
        return true;
    }
    if (isnan(want) || isnan(got.f)) {
        return isnan(want) && isnan(got.f);
    }
    if (want == 0 && bound == 0 && a->signs && !signbit(got.f) != !signbit(want)) {
        return false;
    }
    return got.f == want || fabsl(got.f - want) <= bound;
}

static void compare_elements(const fuzz_array *a, const char *call, const void *got) {
    const size_t n = a->bytes / test_size_of(a->type);
    for (size_t i = 0; i < n; i++) {
        const test_value have = test_load(a->type, got, i);
        if (a->compare == FUZZ_BOUNDED) {
            if (!is_bounded(a, i, have)) {
                fail_msg("%s: %s[%zu] of %zu is %.20g, not %.20Lg give or take %Lg", call, a->name,
                         i, n, have.f, a->value[i], a->bound[i]);
            }
        } else if (!test_same(a->type, have, test_load(a->type, a->want, i))) {
            fail_msg("%s: %s[%zu] of %zu is %s, not %s", call, a->name, i, n,
                     test_text(a->type, have), test_text(a->type, test_load(a->type, a->want, i)));
        }
    }
}

static void compare_bits(const fuzz_array *a, const char *call, const unsigned char *got,
                         const unsigned char *want, const char *when) {
    for (size_t i = 0; i < a->bytes; i++) {
        if (got[i] != want[i]) {
            fail_msg("%s: byte %zu of the %zu of %s is %#x, not %#x, after %s", call, i, a->bytes,
                     a->name, got[i], want[i], when);
        }
    }
}

const void *fuzz_read(fuzz *f, fuzz_array *a) {
    (void)f;
    return test_buffer_read(&a->buffer, a->name);
}

static void check_arrays(fuzz *f, const char *call, bool ran) {
    for (size_t k = 0; k < f->count; k++) {
        fuzz_array *const a = &f->arrays[k];
        const unsigned char *const got = fuzz_read(f, a);
        if (!ran) {
            compare_bits(a, call, got, a->before, "it was refused");
        } else if (a->compare == FUZZ_BITS) {
            compare_bits(a, call, got, a->want, "it ran");
        } else if (a->compare != FUZZ_ANY) {
            compare_elements(a, call, got);
        }
    }
}

/* A forced rung need not be able to do every call, but has to say so. */
static bool is_misfit(const fuzz *f, weft_status status) {
    return status == WEFT_EUNSUPPORTED && f->forced &&
           strstr(weft_message(f->ctx), "is forced, but it");
}

/* What ran was what was forced; or nothing new, if it was refused or had nothing to do. */
static void check_used(const fuzz *f, const char *call, bool ran) {
    const char *const used = f->op ? weft_used(f->ctx, f->op) : NULL;
    const bool as_forced = used && f->forced && strcmp(used, f->forced->name) == 0;
    if (f->op && used != f->used && !(ran && (as_forced || !f->forced))) {
        fail_msg("%s: weft_used says %s", call, used ? used : "nothing");
    }
}

bool fuzz_end(fuzz *f, const char *call, weft_status status) {
    if (f->wrong) {
        test_refused(f->ctx, status, WEFT_EARG, call, *f->wrong ? f->wrong : NULL);
    } else if (is_misfit(f, status)) {
        test_refused(f->ctx, status, WEFT_EUNSUPPORTED, call, f->forced->name);
    } else if (status != WEFT_OK) {
        fail_msg("%s: %s, \"%s\"", call, weft_status_name(status), weft_message(f->ctx));
    }
    check_used(f, call, status == WEFT_OK);
    check_arrays(f, call, status == WEFT_OK);
    return status == WEFT_OK;
}

void fuzz_free(fuzz *f) {
    for (size_t k = 0; k < f->count; k++) {
        test_buffer_close(&f->arrays[k].buffer);
    }
    while (f->owned) {
        fuzz_memory *const m = f->owned;
        f->owned = m->next;
        free(m->p);
        free(m);
    }
    f->count = 0;
}

/* ---- oracles ---- */

uint64_t fuzz_bits(const void *p, size_t size, size_t i) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)p + i * size, size);
    return bits;
}

void fuzz_store_bits(void *p, size_t size, size_t i, uint64_t bits) {
    memcpy((char *)p + i * size, &bits, size);
}

/* As sort.h words it, not as it computes it: the number line from -infinity to +infinity, then NaN
 * without a sign by rising payload, then those with one by falling payload. */
uint64_t fuzz_rank(weft_type type, const void *p, size_t i) {
    const size_t size = test_size_of(type);
    const uint64_t u = fuzz_bits(p, size, i), top = UINT64_C(1) << (8 * size - 1);
    if (test_is_signed(type)) {
        return u < top ? u + top : u - top;
    }
    if (!test_is_float(type)) {
        return u;
    }
    const unsigned mantissa = type == WEFT_F16    ? 10
                              : type == WEFT_BF16 ? 7
                              : type == WEFT_F32  ? 23
                                                  : 52;
    const uint64_t magnitude = u & (top - 1);
    const uint64_t infinity = top - (UINT64_C(1) << mantissa); /* of the magnitude */
    if (magnitude <= infinity) {
        return u & top ? infinity - magnitude : infinity + 1 + magnitude;
    }
    const uint64_t payload = magnitude - infinity, most = (UINT64_C(1) << mantissa) - 1;
    return 2 * infinity + 1 + (u & top ? most + (most + 1 - payload) : payload);
}

/* Merges neighbouring runs of twice the length each time. */
void fuzz_order(const uint64_t *ranks, size_t n, size_t *positions) {
    size_t *const other = malloc((n ? n : 1) * sizeof *other);
    size_t *from = positions, *to = other;
    for (size_t i = 0; i < n; i++) {
        positions[i] = i;
    }
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t begin = 0; begin < n; begin += 2 * run) {
            const size_t middle = begin + run < n ? begin + run : n;
            const size_t end = middle + run < n ? middle + run : n;
            size_t a = begin, b = middle;
            for (size_t k = begin; k < end; k++) {
                const bool left = a < middle && (b == end || ranks[from[a]] <= ranks[from[b]]);
                to[k] = left ? from[a++] : from[b++];
            }
        }
        size_t *const swap = from;
        from = to;
        to = swap;
    }
    if (from != positions && n > 0) {
        memcpy(positions, from, n * sizeof *positions);
    }
    free(other);
}
