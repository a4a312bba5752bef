/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of factorizations through files, damaged ones too. */
#include "calls/chol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t read_file(const char *path, unsigned char **bytes) {
    FILE *const file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    const size_t length = (size_t)ftell(file);
    *bytes = malloc(length + 64);
    rewind(file);
    const size_t got = fread(*bytes, 1, length, file);
    fclose(file);
    return got;
}

static void write_file(const char *path, const unsigned char *bytes, size_t length) {
    FILE *const file = fopen(path, "wb");
    fwrite(bytes, 1, length, file);
    fclose(file);
}

/* The checksum of a plan, at byte 56 of the 104 of its header: of all words, its own as 0. */
static void mend(unsigned char *bytes, size_t length) {
    uint64_t sum = UINT64_C(0xCBF29CE484222325);
    enum {
        HEADER = 104,
        SUM_AT = 56
    };
    if (length < HEADER) {
        return;
    }
    for (size_t at = 0; at + 8 <= length; at += 8) {
        const uint64_t word = at == SUM_AT ? 0 : fuzz_bits(bytes + at, 8, 0);
        sum = (sum ^ word) * UINT64_C(0x100000001B3);
    }
    fuzz_store_bits(bytes + SUM_AT, 8, 0, sum);
}

/* Damaged in a few places, cut short or too long; the checksum right again, or not. */
static bool damage(fuzz *f, unsigned char *bytes, size_t *length) {
    const bool mended = fuzz_one_in(f, 2);
    for (size_t count = 1 + fuzz_below(f, 3); count > 0; count--) {
        const size_t at = fuzz_below(f, *length);
        switch (fuzz_below(f, 4)) {
        case 0:
            bytes[at] ^= (unsigned char)(1u << fuzz_below(f, 8));
            break;
        case 1:
            fuzz_store_bits(bytes + at / 8 * 8, 8, 0, fuzz_below(f, 70));
            break;
        case 2:
            if (at >= 88) { /* two numbers change places */
                const uint64_t word = fuzz_bits(bytes + at / 8 * 8, 8, 0);
                fuzz_store_bits(bytes + at / 8 * 8, 8, 0, fuzz_bits(bytes + at / 8 * 8 - 8, 8, 0));
                fuzz_store_bits(bytes + at / 8 * 8 - 8, 8, 0, word);
            }
            break;
        default:
            *length = fuzz_one_in(f, 4) ? at + 1 : *length;
        }
    }
    if (mended) {
        mend(bytes, *length);
    }
    return mended;
}

static void load_damaged(fuzz_chol_case *c, const char *path) {
    fuzz *const f = c->f;
    unsigned char *bytes;
    size_t length = read_file(path, &bytes);
    weft_chol *plan = c->plan;
    damage(f, bytes, &length);
    write_file(path, bytes, length);
    const bool memory = fuzz_one_in(f, 2);
    const weft_status status = memory ? weft_chol_load_memory(f->ctx, bytes, length, &plan)
                                      : weft_chol_load(f->ctx, path, &plan);
    free(bytes);
    if (status != WEFT_OK) {
        test_refused(f->ctx, status, WEFT_EFORMAT,
                     memory ? "weft_chol_load_memory" : "weft_chol_load", NULL);
        assert_null(plan);
        return;
    }
    /* What was not noticed must be harmless. */
    double *const x = fuzz_take(f, c->n * sizeof *x);
    if (weft_chol_factor(f->ctx, plan, c->matrix) == WEFT_OK) {
        weft_chol_solve(f->ctx, plan, c->matrix, NULL, 1, x, c->n, x, c->n);
    }
    weft_chol_destroy(plan);
}

void fuzz_plan_through_file(fuzz_chol_case *c) {
    fuzz *const f = c->f;
    char path[FUZZ_PATH_BYTES];
    weft_chol *again = NULL;
    fuzz_path(path);
    if (weft_chol_save(f->ctx, c->plan, path) != WEFT_OK ||
        weft_chol_load(f->ctx, path, &again) != WEFT_OK) {
        fail_msg("a plan through a file: %s", weft_message(f->ctx));
    }
    const int64_t *const perm = weft_chol_permutation(again);
    if (c->n > 0 && memcmp(perm, c->perm, c->n * sizeof *perm) != 0) {
        fail_msg("a plan through a file has another permutation");
    }
    weft_chol_destroy(c->plan);
    c->plan = again;
    c->perm = perm;
    if (fuzz_one_in(f, 2)) {
        load_damaged(c, path);
    }
    remove(path);
}
