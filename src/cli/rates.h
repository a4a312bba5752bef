/* SPDX-License-Identifier: Apache-2.0 */
/* Rungs and roofs as text and as JSON. */
#ifndef WI_RATES_H
#define WI_RATES_H

#include "cli/text.h"
#include "climb/rung.h"

enum {
    WI_SIZE_BYTES = 72
};

/* A size as "2^28" or, with several extents, "512x1024x64". */
const char *wi_format_size(const wi_size *size, char out[WI_SIZE_BYTES]);

/* A rate, or the roof it is compared with, as text: "4.41 TB/s", "101 GF/s", "1.2 TOP/s", "4.3 us".
 */
const char *wi_format_roof(wi_roof roof, double value, char out[WI_FIELD_BYTES]);

/* The ending of JSON keys for values of that unit, as "gbps"; and the value in that unit. */
const char *wi_unit_key(wi_unit unit);
double wi_unit_value(wi_unit unit, double value);

/* Adds the keys "size" (if there are several extents) and "seconds" to "roof_gbps" or
 * "roof_gflops", or those of the merits; null where nothing was timed. */
void wi_json_rung(wi_json *json, const wi_climb *climb, const wi_rung *rung);

#endif
