/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS level 3. */
#include <stdlib.h>

#include "blas.h"
#include "columns.h"
#include "weft/gemm.h"

#include "as_f64.inc"

#include "loops.inc"

#include "triangular.inc"

#include "level3_products.inc"

#include "level3_symmetric.inc"

#include "level3_triangular.inc"

#include "as_f32.inc"

#include "loops.inc"

#include "triangular.inc"

#include "level3_products.inc"

#include "level3_symmetric.inc"

#include "level3_triangular.inc"
