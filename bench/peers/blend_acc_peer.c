/* SPDX-License-Identifier: Apache-2.0 */
/* Times blend's rungs under OpenACC on an image in host memory, beside the rungs of a cpu: what a
 * directive gives without a kernel, copies included, and what overlapping them in blocks adds.
 * `weft info` says where their loops run. A wrong output ends the program with status 1.
 *
 *     blend_acc_peer [WIDTH HEIGHT]    an RGB image of u8; 2048 x 1536 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "weft/weft.h"

enum {
    PASSES = 15,
    WARMUPS = 3,
    NO_RACE = 77
};

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct images {
    size_t width, height, bytes;
    uint8_t *a, *b, *out;
} images;

/* 0.25 a + 0.5 b of whole numbers is exact, so rounding to nearest even has one right answer. */
static bool is_right(const images *m) {
    for (size_t i = 0; i < m->bytes; i++) {
        const unsigned quarters = m->a[i] + 2u * m->b[i], whole = quarters / 4, rest = quarters % 4;
        const unsigned up = rest == 3 || (rest == 2 && whole % 2 == 1);
        if (m->out[i] != whole + up)
            return false;
    }
    return true;
}

/* Prints what a rung takes; false if it is wrong. */
static bool race(weft_context *ctx, const images *m, const char *rung) {
    const weft_blending how = {.type = WEFT_U8,
                               .width = m->width,
                               .height = m->height,
                               .channels = 3,
                               .weight_a = 0.25,
                               .weight_b = 0.5};
    double seconds[PASSES];
    if (weft_use(ctx, "blend", rung) != WEFT_OK)
        return true; /* a build without OpenACC */
    for (int pass = -WARMUPS; pass < PASSES; pass++) {
        const double begin = now();
        if (weft_blend(ctx, &how, m->a, m->b, NULL, m->out) != WEFT_OK) {
            fprintf(stderr, "%s: %s\n", rung, weft_message(ctx));
            return false;
        }
        if (pass >= 0)
            seconds[pass] = now() - begin;
    }
    const bool ok = is_right(m);
    qsort(seconds, PASSES, sizeof *seconds, compare);
    printf("{\"op\":\"blend, host\",\"type\":\"u8\",\"width\":%zu,\"height\":%zu,\"channels\":3,"
           "\"variant\":\"%s\",\"seconds\":%.4g,\"least_seconds\":%.4g,\"gbps\":%.2f,\"ok\":%s}\n",
           m->width, m->height, rung, seconds[PASSES / 2], seconds[0],
           3e-9 * (double)m->bytes / seconds[PASSES / 2], ok ? "true" : "false");
    fflush(stdout);
    return ok;
}

int main(int argc, char **argv) {
    static const char *const rungs[] = {"serial", "threads", "openacc", "openacc_blocks"};
    images m = {.width = 2048, .height = 1536};
    weft_context *ctx = NULL;
    bool ok = true;
    if (argc > 2) {
        m.width = strtoull(argv[1], NULL, 10);
        m.height = strtoull(argv[2], NULL, 10);
    }
    m.bytes = 3 * m.width * m.height;
    m.a = malloc(m.bytes);
    m.b = malloc(m.bytes);
    m.out = calloc(m.bytes, 1);
    if (!m.a || !m.b || !m.out || weft_open(&ctx, "cpu") != WEFT_OK) {
        fprintf(stderr, "blend_acc_peer: no race: %s\n", weft_message(NULL));
        return NO_RACE;
    }
    for (size_t i = 0; i < m.bytes; i++) {
        m.a[i] = (uint8_t)(i * 2654435761u >> 24);
        m.b[i] = (uint8_t)(i * 40503u >> 8);
    }
    for (size_t k = 0; k < sizeof rungs / sizeof *rungs; k++)
        ok = race(ctx, &m, rungs[k]) && ok;
    weft_close(ctx);
    free(m.a);
    free(m.b);
    free(m.out);
    return ok ? 0 : 1;
}
