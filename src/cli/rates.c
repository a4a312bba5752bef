/* SPDX-License-Identifier: Apache-2.0 */
/* Rungs and roofs as text and as JSON. */
#include "cli/rates.h"

#include <stdio.h>

const char *wi_format_size(const wi_size *size, char out[WI_SIZE_BYTES]) {
    char text[WI_FIELD_BYTES];
    out[0] = '\0';
    for (int k = 0; k < WI_EXTENTS && (k == 0 || size->extent[k] > 0); k++)
        wi_append(out, WI_SIZE_BYTES, "x", wi_format_count(size->extent[k], text));
    return out;
}

const char *wi_format_roof(wi_roof roof, double value, char out[WI_FIELD_BYTES]) {
    switch (wi_roof_rows[roof].unit) {
    case WI_UNIT_BYTES:
        return wi_format_rate(value, out);
    case WI_UNIT_FLOPS:
        return wi_format_flops(value, out);
    case WI_UNIT_OPS:
        return wi_format_ops(value, out);
    case WI_UNIT_SECONDS:
        break;
    }
    return wi_format_seconds(value, out);
}

const char *wi_unit_key(wi_unit unit) {
    static const char *const keys[] = {[WI_UNIT_BYTES] = "gbps",
                                       [WI_UNIT_FLOPS] = "gflops",
                                       [WI_UNIT_OPS] = "gops",
                                       [WI_UNIT_SECONDS] = "seconds"};
    return keys[unit];
}

double wi_unit_value(wi_unit unit, double value) {
    return unit == WI_UNIT_SECONDS ? value : value / 1e9;
}

void wi_json_rung(wi_json *json, const wi_climb *climb, const wi_rung *rung) {
    const bool timed = rung->seconds > 0;
    const wi_facts *const facts = &rung->facts;
    const wi_roof_row *const roof = &wi_roof_rows[facts->roof];
    char key[WI_FIELD_BYTES], size[WI_SIZE_BYTES];
    if (facts->size.extent[1] > 0)
        wi_json_string(json, "size", wi_format_size(&facts->size, size));
    wi_json_known(json, "seconds", timed, rung->seconds);
    if (climb->merits) {
        for (size_t k = 0; k < WI_MERITS; k++)
            wi_json_known(json, climb->merits->of[k].key, timed, rung->merit[k]);
        return;
    }
    wi_json_count(json, "bytes", (uint64_t)facts->bytes);
    if (roof->unit != WI_UNIT_BYTES)
        wi_json_number(json, "flops", facts->flops);
    wi_json_known(json, wi_unit_key(roof->unit), timed, wi_rung_rate(rung) / 1e9);
    wi_json_string(json, "roof", roof->name);
    snprintf(key, sizeof key, "roof_%s", wi_unit_key(roof->unit));
    wi_json_number(json, key, timed ? rung->roof / 1e9 : 0);
}
