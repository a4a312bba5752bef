/* SPDX-License-Identifier: Apache-2.0 */
/* Teaching rungs exist for a few element types only. */
#ifndef WI_TAUGHT_H
#define WI_TAUGHT_H

#include "core/core.h"

/* NULL if teaching rungs take elements of `type`, else the reason why not, which begins their
 * misfit. */
static inline const char *wi_misfit_taught(weft_type type) {
    bool taught = type == WEFT_I32 || type == WEFT_U32 || type == WEFT_F32 || type == WEFT_F64;
    return taught ? NULL : "offers i32, u32, f32 and f64 only";
}

#endif
