/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS level 3. */
#include <stdlib.h>

#include "blas.h"
#include "columns.h"
#include "weft/gemm.h"

#define REAL double
#define TYPE WEFT_F64
#define LOCAL(name) name##_f64
#define FORTRAN(name) d##name##_
#define CBLAS(name) cblas_d##name
#define NAMED(text) "D" text
#define CNAMED(text) "cblas_d" text

#include "loops.inc"

#include "triangular.inc"

#include "level3_products.inc"

#include "level3_symmetric.inc"

#include "level3_triangular.inc"

#undef REAL
#undef TYPE
#undef LOCAL
#undef FORTRAN
#undef CBLAS
#undef NAMED
#undef CNAMED

#define REAL float
#define TYPE WEFT_F32
#define LOCAL(name) name##_f32
#define FORTRAN(name) s##name##_
#define CBLAS(name) cblas_s##name
#define NAMED(text) "S" text
#define CNAMED(text) "cblas_s" text

#include "loops.inc"

#include "triangular.inc"

#include "level3_products.inc"

#include "level3_symmetric.inc"

#include "level3_triangular.inc"

#undef REAL
#undef TYPE
#undef LOCAL
#undef FORTRAN
#undef CBLAS
#undef NAMED
#undef CNAMED
