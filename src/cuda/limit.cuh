/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that only large arrays come up against. On emu a test may change one, so that small
 * arrays do; tests/limits.h lists them. */
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
