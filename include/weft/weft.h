/* SPDX-License-Identifier: Apache-2.0 */
/* weft: data-parallel algorithms on CPU cores and GPUs, from C. This header includes all the
 * others. */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include "weft/core.h"
#include "weft/histogram.h"
#include "weft/map.h"
#include "weft/op.h"
#include "weft/reduce.h"
#include "weft/scan.h"
#include "weft/select.h"
#include "weft/sort.h"
#include "weft/sparse.h"
#include "weft/types.h"

#endif
