/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all climbs. */
#include <string.h>

#include "climb/climb.h"

#define WI_LADDER(name)
#define WI_OP(name) extern const wi_climb wi_##name##_climb;
#include "core/ops.def"
#undef WI_OP

#define WI_OP(name) &wi_##name##_climb,
const wi_climb *const wi_climbs[] = {
#include "core/ops.def"
};
#undef WI_OP
#undef WI_LADDER

const size_t wi_climb_count = sizeof wi_climbs / sizeof *wi_climbs;

const wi_climb *wi_find_climb(const char *op) {
    for (size_t k = 0; k < wi_climb_count; k++) {
        if (wi_climbs[k]->ladder->count > 0 && strcmp(wi_climbs[k]->ladder->op, op) == 0)
            return wi_climbs[k];
    }
    return NULL;
}
