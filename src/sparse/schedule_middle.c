/* SPDX-License-Identifier: Apache-2.0 */
/* The middle fronts of a level, which rung `clusters` takes from its large ones. */
#include "sparse/schedule.h"

/* The smallest cluster whose blocks have room for so many rows: of 2, 4 or 8. */
static int cluster_of(int32_t height) {
    int cluster = 0;
    while (height > WI_MIDDLE_ROWS << (cluster + 1))
        cluster++;
    return cluster;
}

/* Large fronts are launched together, those with the most panels first. So that the others can be
 * launched without them, middle fronts are the last ones of a level: from one on after which none
 * is too high. */
static int32_t count_middle(const wi_schedule *s, const wi_chol_level *level) {
    const wi_front_record *const end =
        s->front + level->first + wi_small_fronts(level) + level->large;
    int32_t count = 0;
    while (count < level->large && !level->together &&
           wi_fits_cluster(end[-count - 1].height, end[-count - 1].columns, s->flow_from))
        count++;
    return count;
}

void wi_middle_list(wi_schedule *s, wi_chol_level *level, int64_t *next) {
    const int32_t end = level->first + wi_small_fronts(level) + level->large;
    const int32_t first = end - count_middle(s, level);
    level->middle_at = *next;
    for (int cluster = WI_MIDDLE_CLASSES - 1; cluster >= 0; cluster--)
        for (int32_t k = first; k < end; k++)
            if (cluster_of(s->front[k].height) == cluster) {
                s->list[(*next)++] = k;
                level->middle[cluster]++;
            }
}
