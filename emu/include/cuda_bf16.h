/* SPDX-License-Identifier: Apache-2.0 */
/* emu's bfloat16 stands beside its half precision. */
#include "cuda_fp16.h"
