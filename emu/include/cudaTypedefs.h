/* SPDX-License-Identifier: Apache-2.0 */
/* emu's stand-in for the only driver call that weft uses. */
#include "cuda_runtime_api.h"
