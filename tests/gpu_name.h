/* SPDX-License-Identifier: Apache-2.0 */
/* The name of this build's GPU places. Apart from testing.h, so that tests which do not need it are
 * compiled once for all places. */
#ifndef TEST_GPU_NAME_H
#define TEST_GPU_NAME_H

#ifdef WEFT_EMU
#    define TEST_GPU "emu"
#else
#    define TEST_GPU "gpu"
#endif

#endif
