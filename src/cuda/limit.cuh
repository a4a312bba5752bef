/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that only large arrays reach. On emu a test may lower one, so that small arrays reach it;
 * tests/limits.h lists them. */
#ifndef WI_LIMIT_CUH
#define WI_LIMIT_CUH

#ifdef WEFT_EMU
#    define WI_LIMIT(type, name, value)                                                            \
        extern "C" {                                                                               \
        inline type name = value;                                                                  \
        }
#else
#    define WI_LIMIT(type, name, value) constexpr type name = value;
#endif

#endif
