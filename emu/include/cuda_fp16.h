/* SPDX-License-Identifier: Apache-2.0 */
/* emu's stand-in for IEEE 754 half precision. */
#ifndef EMU_CUDA_FP16_H
#define EMU_CUDA_FP16_H

#include "emu_float16.h"

using __half = emu_float16<5, 10>;

#endif
