/* SPDX-License-Identifier: Apache-2.0 */
/* emu's bfloat16: cuda_fp16.h has it, beside half precision. */
#include "cuda_fp16.h"
