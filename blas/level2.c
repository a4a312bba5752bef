/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS level 2. */
#include "blas.h"
#include "columns.h"
#include "weft/gemm.h"

#include "as_f64.inc"

#include "loops.inc"

#include "level2_general.inc"

#include "level2_symmetric.inc"

#include "triangular.inc"

#include "level2_triangular.inc"

#include "as_f32.inc"

#include "loops.inc"

#include "level2_general.inc"

#include "level2_symmetric.inc"

#include "triangular.inc"

#include "level2_triangular.inc"
