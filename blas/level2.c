/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS level 2. */
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

#include "level2_general.inc"

#include "level2_symmetric.inc"

#include "triangular.inc"

#include "level2_triangular.inc"

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

#include "level2_general.inc"

#include "level2_symmetric.inc"

#include "triangular.inc"

#include "level2_triangular.inc"

#undef REAL
#undef TYPE
#undef LOCAL
#undef FORTRAN
#undef CBLAS
#undef NAMED
#undef CNAMED
