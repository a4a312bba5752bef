/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the place, copies, forcing rungs, and the conversions of 16-bit floats. */
#include "calls/calls.h"

#include <math.h>
#include <string.h>

static void copy(fuzz *f) {
    static const char name[] = "weft_copy";
    unsigned char *const data = fuzz_take(f, f->n);
    fuzz_fill(f, WEFT_U8, f->n, data);
    fuzz_array *const from = fuzz_input(f, "from", f->n, 1, data);
    fuzz_array *const to = fuzz_output(f, "to", f->n, 1);
    if (f->n > 0) {
        memcpy(to->want, data, f->n);
    }
    if (f->n > 1 && fuzz_spoil_own(f, "overlap")) {
        to->p = (char *)from->p + 1 + fuzz_below(f, f->n - 1);
    } else if (f->n > 0 && fuzz_spoil_own(f, "from")) {
        from->p = NULL;
    }
    fuzz_say(f, "%s(%zu)", name, f->n);
    fuzz_end(f, name, weft_copy(f->ctx, to->p, from->p, f->n));
}

static void allocate(fuzz *f) {
    unsigned char *p = (unsigned char *)&p;
    unsigned char *const data = fuzz_take(f, f->n), *const back = fuzz_take(f, f->n);
    fuzz_fill(f, WEFT_U8, f->n, data);
    fuzz_say(f, "weft_alloc(%zu)", f->n);
    if (weft_alloc(f->ctx, (void **)&p, f->n) != WEFT_OK || (p == NULL) != (f->n == 0) ||
        (uintptr_t)p % 64 != 0) {
        fail_msg("weft_alloc of %zu: %p, %s", f->n, (void *)p, weft_message(f->ctx));
    }
    if (weft_copy(f->ctx, p, data, f->n) != WEFT_OK ||
        weft_copy(f->ctx, back, p, f->n) != WEFT_OK || memcmp(back, data, f->n) != 0 ||
        weft_free(f->ctx, p) != WEFT_OK || weft_free(f->ctx, NULL) != WEFT_OK) {
        fail_msg("memory of the place: %s", weft_message(f->ctx));
    }
    p = (unsigned char *)&p;
    /* A GPU's own refusal tells of the device and not of the call. */
    const weft_status status = weft_alloc(f->ctx, (void **)&p, SIZE_MAX / 2);
    if (status != WEFT_ENOMEM || p || strchr(weft_message(f->ctx), '\n')) {
        fail_msg("weft_alloc of half the address space: %s", weft_message(f->ctx));
    }
}

static void force(fuzz *f) {
    static const char *const wrong[] = {"", "serial ", "Serial", "no_such", "scan:lookback", ","};
    const wi_ladder *const ladder = wi_ops[fuzz_below(f, wi_op_count)];
    if (ladder->count == 0) {
        return; /* a build without GPUs has no rungs of some */
    }
    const wi_row *const row = &ladder->rows[fuzz_below(f, ladder->count)];
    fuzz_say(f, "weft_use(%s, %s)", ladder->op, row->name);
    const weft_status status = weft_use(f->ctx, ladder->op, row->name);
    if (status == WEFT_EUNSUPPORTED) {
        test_refused(f->ctx, status, WEFT_EUNSUPPORTED, "weft_use", row->name);
    } else if (status != WEFT_OK) {
        fail_msg("weft_use: %s", weft_message(f->ctx));
    }
    test_refused(f->ctx, weft_use(f->ctx, ladder->op, wrong[fuzz_below(f, 6)]), WEFT_EARG,
                 "weft_use", ladder->op);
    test_refused(f->ctx, weft_use(f->ctx, wrong[fuzz_below(f, 6)], "serial"), WEFT_EARG, "weft_use",
                 NULL);
    if (weft_use(f->ctx, ladder->op, fuzz_one_in(f, 2) ? NULL : "auto") != WEFT_OK ||
        weft_sync(f->ctx) != WEFT_OK || weft_set_stream(f->ctx, NULL) != WEFT_OK) {
        fail_msg("%s", weft_message(f->ctx));
    }
}

/* To a 16-bit float and back, against arithmetic of the tests' own. */
static void convert(fuzz *f) {
    uint32_t bits = (uint32_t)fuzz_below(f, 65536) << 16 | (uint32_t)fuzz_below(f, 65536);
    float value;
    memcpy(&value, &bits, sizeof value);
    const weft_f16 half = weft_f16_from_float(value);
    const weft_bf16 brain = weft_bf16_from_float(value);
    const double want[] = {test_round(WEFT_F16, (long double)value),
                           test_round(WEFT_BF16, (long double)value)};
    const double have[] = {test_load(WEFT_F16, &half, 0).f, test_load(WEFT_BF16, &brain, 0).f};
    const double back[] = {(double)weft_f16_to_float(half), (double)weft_bf16_to_float(brain)};
    fuzz_say(f, "conversions of %a", (double)value);
    for (int k = 0; k < 2; k++) {
        if (!test_same(WEFT_F64, (test_value){.f = have[k]}, (test_value){.f = want[k]}) ||
            !test_same(WEFT_F64, (test_value){.f = back[k]}, (test_value){.f = have[k]})) {
            fail_msg("%s: %a becomes %a, not %a", k ? "bf16" : "f16", (double)value, have[k],
                     want[k]);
        }
    }
}

void fuzz_core(fuzz *f) {
    static void (*const calls[])(fuzz *) = {copy, allocate, force, convert};
    fuzz_begin(f, NULL);
    calls[fuzz_below(f, 4)](f);
}
