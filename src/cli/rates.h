/* SPDX-License-Identifier: Apache-2.0 */
/* Rungs and roofs in words and in JSON. */
#ifndef WI_RATES_H
#define WI_RATES_H

#include "cli/text.h"
#include "climb/rung.h"

enum {
    WI_SIZE_BYTES = 72
};

/* A size: "2^28", or of several extents "512x1024x64". */
const char *wi_format_size(const wi_size *size, char out[WI_SIZE_BYTES]);

/* What a rate that is compared with the roof, or the roof itself, is in words: "4.41 TB/s",
 * "101 GF/s", "1.2 TOP/s", "4.3 us". */
const char *wi_format_roof(wi_roof roof, double value, char out[WI_FIELD_BYTES]);

/* How a key for a value of that unit ends, as "gbps"; and what such a value is in it. */
const char *wi_unit_key(wi_unit unit);
double wi_unit_value(wi_unit unit, double value);

/* The keys "size", if there are several extents, and "seconds" to "roof_gbps", or "roof_gflops", or
 * those of merits; null where nothing was timed. */
void wi_json_rung(wi_json *json, const wi_climb *climb, const wi_rung *rung);

#endif
