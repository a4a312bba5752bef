/* SPDX-License-Identifier: Apache-2.0 */
/* emu's stand-in for what nvcc includes by itself: the device language, for a C++17 compiler. */
#ifndef EMU_CUDA_RUNTIME_H
#define EMU_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"

#include "emu_device.h"

#endif
