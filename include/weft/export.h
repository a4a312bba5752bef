/* SPDX-License-Identifier: Apache-2.0 */
/* WEFT_API marks what the shared library exports; everything else is hidden. */
#ifndef WEFT_EXPORT_H
#define WEFT_EXPORT_H

#if defined(__GNUC__)
#    define WEFT_API __attribute__((visibility("default")))
#else
#    define WEFT_API
#endif

#endif
