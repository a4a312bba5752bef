/* SPDX-License-Identifier: Apache-2.0 */
/* emu's stand-in for the one driver call that weft asks for. */
#include "cuda_runtime_api.h"
