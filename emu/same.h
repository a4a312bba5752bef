/* SPDX-License-Identifier: Apache-2.0 */
/* Comes before files that are compiled once, for place emu and for all others
 * (cmake/WeftEmuSame.cmake). A file that has come to differ there since the build was configured
 * stops here: configure again. */
#ifndef WEFT_CUDA
#    pragma GCC poison WEFT_CUDA
#endif
#pragma GCC poison WEFT_EMU
