/* SPDX-License-Identifier: Apache-2.0 */
/* clang makes calls of the copies of structs in a kernel and tells nobody of them: they get the
 * hook's names. Included before all else in files with kernels. */
__asm__(".set memcpy, emu_memcpy\n.set memmove, emu_memmove\n.set memset, emu_memset");
