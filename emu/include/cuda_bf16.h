/* SPDX-License-Identifier: Apache-2.0 */
/* emu's stand-in for bfloat16. */
#ifndef EMU_CUDA_BF16_H
#define EMU_CUDA_BF16_H

#include "emu_float16.h"

using __nv_bfloat16 = emu_float16<8, 7>;

#endif
