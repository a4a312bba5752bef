/* SPDX-License-Identifier: Apache-2.0 */
/* What the blocks of threads of rung `rising` take, in their order. */
#include "sparse/schedule.h"

void wi_rise_count(wi_schedule *schedule, const int32_t small[WI_CLASSES]) {
    schedule->rising++;
    schedule->rises += wi_pieces(small[0], WI_RISE_WARPS) + small[1];
}

void wi_rise_list(wi_schedule *s) {
    wi_rise_item *next = s->rise;
    for (int32_t k = 0; k < s->rising; k++) {
        const wi_chol_level *const level = &s->level[k];
        const int32_t before = k > 0 ? wi_small_fronts(level - 1) : 0;
        for (int32_t f = 0; f < level->small[0]; f += WI_RISE_WARPS) {
            const int32_t left = level->small[0] - f;
            *next++ = (wi_rise_item){level->first + f, left < WI_RISE_WARPS ? left : WI_RISE_WARPS,
                                     k, before};
        }
        for (int32_t f = level->small[0]; f < wi_small_fronts(level); f++)
            *next++ = (wi_rise_item){level->first + f, 0, k, before};
    }
}
