/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of f16 and bf16 as f32, and back. */
#include "nn/widen.h"

#include "cpu/half.h"
#include "cpu/team.h"

typedef struct conversion {
    weft_type type;
    size_t n;
    uint16_t *narrow;
    float *wide;
    bool back;
} conversion;

static void convert_share(void *user, int rank, int team) {
    const conversion *const c = user;
    const size_t first = wi_team_share(c->n, rank, team);
    const size_t end = wi_team_share(c->n, rank + 1, team);
    uint16_t *const narrow = c->narrow;
    float *const wide = c->wide;
    if (c->back && c->type == WEFT_F16)
        for (size_t i = first; i < end; i++)
            narrow[i] = wi_f16_narrow(wide[i]);
    else if (c->back)
        for (size_t i = first; i < end; i++)
            narrow[i] = wi_bf16_narrow(wide[i]);
    else if (c->type == WEFT_F16)
        for (size_t i = first; i < end; i++)
            wide[i] = wi_f16_widen(narrow[i]);
    else
        for (size_t i = first; i < end; i++)
            wide[i] = wi_bf16_widen(narrow[i]);
}

static void convert(const weft_context *ctx, conversion c) {
    const int team = wi_team_size(ctx, c.n, 6 * c.n);
    if (team == 1)
        convert_share(&c, 0, 1);
    else
        wi_team_run(ctx, team, convert_share, &c);
}

void wi_widening_add(wi_widening *w, void **p, size_t n, unsigned use) {
    if (*p)
        w->array[w->count++] = (wi_widened){p, n, use};
}

weft_status wi_widening_begin(weft_context *ctx, wi_widening *w) {
    size_t all = 0, at = 0;
    for (int k = 0; k < w->count; k++)
        all += w->array[k].n;
    w->memory = wi_host_alloc((all + 1) * sizeof *w->memory);
    if (!w->memory)
        return wi_fail(ctx, WEFT_ENOMEM, "weft: no memory for %zu elements of %s as f32", all,
                       weft_type_name(w->type));
    for (int k = 0; k < w->count; at += w->array[k++].n) {
        const wi_widened *const a = &w->array[k];
        w->narrow[k] = *a->p;
        *a->p = w->memory + at;
        if (a->use & WI_IN)
            convert(ctx, (conversion){w->type, a->n, w->narrow[k], *a->p, false});
    }
    return WEFT_OK;
}

weft_status wi_widening_end(weft_context *ctx, wi_widening *w, weft_status status) {
    for (int k = 0; k < w->count; k++) {
        const wi_widened *const a = &w->array[k];
        if (status == WEFT_OK && a->use & WI_OUT)
            convert(ctx, (conversion){w->type, a->n, w->narrow[k], *a->p, true});
        *a->p = w->narrow[k];
    }
    wi_host_free(w->memory);
    return status;
}
