/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all climbs. */
#include "cli/climb.h"

#define WI_OP(name) extern const wi_climb wi_##name##_climb;
#include "core/ops.def"
#undef WI_OP

#define WI_OP(name) &wi_##name##_climb,
const wi_climb *const wi_climbs[] = {
#include "core/ops.def"
};
#undef WI_OP

const size_t wi_climb_count = sizeof wi_climbs / sizeof *wi_climbs;
