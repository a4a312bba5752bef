/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of doubles. The code is in front.inc and front_ldlt.inc; front_narrow.c includes it for
 * floats. */
#include "sparse/front.h"

#include <string.h>

#include "sparse/ldlt_simd.h"

typedef double real;
#define FRONT wi_front
#define GROUP WI_DENSE_GROUP
#define NAME(f) wi_front_##f
#define DENSE(f) wi_dense_##f
#include "sparse/front.inc"
#include "sparse/front_ldlt.inc"

void wi_chol_load_panel(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int64_t begin,
                        int64_t end) {
    load_panel(plan, matrix, s, begin, end);
}

int64_t wi_front_do(wi_thread_group *group, const weft_chol *plan, const weft_sparse *matrix,
                    int64_t s, void *room, int64_t *failed) {
    if (wi_chol_has_d(plan)) {
        assemble(group, plan, matrix, s);
        return factor_ldlt(group, plan, s, room, failed);
    }
    if (group->size == 1 && wi_front_is_small(plan, s))
        return wi_front_small(plan, matrix, s, group->rank);
    const wi_front front = wi_front_of(plan, s, group->rank);
    assemble(group, plan, matrix, s);
    return NAME(factor)(group, &front, room, failed);
}
