/* SPDX-License-Identifier: Apache-2.0 */
/* Parses what users type: counts with powers and suffixes, seeds, elements, types. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

/* Reads decimal digits; *end is the first character after them. */
static bool read_digits(const char *text, const char **end, uint64_t *value) {
    *value = 0;
    *end = text;
    for (; isdigit((unsigned char)**end); ++*end) {
        if (__builtin_mul_overflow(*value, (uint64_t)10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(**end - '0'), value))
            return false;
    }
    return *end > text;
}

/* Reads the exponent in text; *value = base^exponent, as in 2^28. */
static bool read_power(uint64_t base, const char *text, uint64_t *value) {
    const char *end;
    uint64_t exponent;
    if (!read_digits(text, &end, &exponent) || *end)
        return false;
    *value = 1;
    for (uint64_t k = 0; k < exponent && (base > 1 || k < 1); k++) {
        if (__builtin_mul_overflow(*value, base, value))
            return false;
    }
    return true;
}

/* The factor that a suffix stands for, as 1000 for "k"; 0 if it is not a suffix. */
static double multiplier(const char *suffix) {
    static const char letters[] = "kmgt";
    if (!*suffix)
        return 1;
    const char *const found = strchr(letters, tolower((unsigned char)*suffix));
    if (!found)
        return 0;
    const int power = (int)(found - letters) + 1;
    if (strcmp(suffix + 1, "i") == 0)
        return pow(1024, power);
    return suffix[1] ? 0 : pow(1000, power);
}

bool wi_read_count(const char *text, size_t *count) {
    const char *end;
    uint64_t value;
    if (!isdigit((unsigned char)*text))
        return false;
    const bool whole = read_digits(text, &end, &value);
    if (whole && *end == '\0') {
        *count = value;
        return true;
    }
    if (whole && *end == '^') {
        if (!read_power(value, end + 1, &value))
            return false;
        *count = value;
        return true;
    }
    /* 1e6, 1.5M, 64Mi: decimal fractions are allowed if the product is whole */
    char *rest;
    if (text[1] == 'x' || text[1] == 'X') /* strtod would read hexadecimal */
        return false;
    const double product = strtod(text, &rest) * multiplier(rest);
    if (!(product >= 1) || product != floor(product) || !(product < 0x1p63))
        return false;
    *count = (size_t)product;
    return true;
}

bool wi_read_u64(const char *text, uint64_t *value) {
    const char *end;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        char *stop;
        errno = 0;
        *value = strtoull(text, &stop, 16);
        return isxdigit((unsigned char)text[2]) && *stop == '\0' && errno == 0;
    }
    return read_digits(text, &end, value) && *end == '\0';
}

static bool read_signed(size_t size, const char *text, int64_t *value) {
    uint64_t magnitude;
    const bool negative = *text == '-';
    const uint64_t limit = UINT64_MAX >> (65 - 8 * size); /* the largest of a signed type */
    if (!wi_read_u64(text + negative, &magnitude) || magnitude > limit + negative)
        return false;
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

/* Text may spell infinity, but a number that overflows to it is refused. */
static bool read_float(weft_type type, const char *text, void *p) {
    char *end;
    const double wide = strtod(text, &end);
    const float single = strtof(text, NULL);
    const weft_f16 half = weft_f16_from_float(single);
    const weft_bf16 brain = weft_bf16_from_float(single);
    const double value = type == WEFT_F64   ? wide
                         : type == WEFT_F32 ? (double)single
                         : type == WEFT_F16 ? (double)weft_f16_to_float(half)
                                            : (double)weft_bf16_to_float(brain);
    if (end == text || *end || (isinf(value) && !strpbrk(text, "iI")))
        return false;
    if (type == WEFT_F64)
        memcpy(p, &wide, sizeof wide);
    else if (type == WEFT_F32)
        memcpy(p, &single, sizeof single);
    else if (type == WEFT_F16)
        memcpy(p, &half, sizeof half);
    else
        memcpy(p, &brain, sizeof brain);
    return true;
}

bool wi_read_element(weft_type type, const char *text, void *p) {
    const size_t size = weft_type_size(type);
    uint64_t bits;
    if (wi_type_is_float(type))
        return read_float(type, text, p);
    if (wi_type_is_signed(type)) {
        int64_t value;
        if (!read_signed(size, text, &value))
            return false;
        bits = (uint64_t)value;
    } else if (!wi_read_u64(text, &bits) || bits > UINT64_MAX >> (64 - 8 * size)) {
        return false;
    }
    switch (size) {
    case 1:
        memcpy(p, &(uint8_t){(uint8_t)bits}, 1);
        break;
    case 2:
        memcpy(p, &(uint16_t){(uint16_t)bits}, 2);
        break;
    case 4:
        memcpy(p, &(uint32_t){(uint32_t)bits}, 4);
        break;
    default:
        memcpy(p, &bits, 8);
    }
    return true;
}

/* Is it an integer as users may write it: decimal digits, or hexadecimal ones after 0x? */
static bool is_integer(const char *text) {
    text += *text == '-';
    const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *const digits = hexadecimal ? "0123456789abcdefABCDEF" : "0123456789";
    text += hexadecimal ? 2 : 0;
    return *text && text[strspn(text, digits)] == '\0';
}

void wi_explain_element(weft_type type, const char *text, char why[WI_REASON_BYTES]) {
    const char *const name = weft_type_name(type);
    const uint64_t most = UINT64_MAX >> (64 - 8 * weft_type_size(type));
    char *end;
    strtod(text, &end);
    if (end == text || *end)
        snprintf(why, WI_REASON_BYTES, "\"%.64s\" is not a number", text);
    else if (wi_type_is_float(type))
        snprintf(why, WI_REASON_BYTES, "\"%.64s\" is too large for %s", text, name);
    else if (!is_integer(text))
        snprintf(why, WI_REASON_BYTES, "%s takes whole numbers, as 30 or 0x1e, not \"%.64s\"", name,
                 text);
    else if (wi_type_is_signed(type))
        snprintf(why, WI_REASON_BYTES, "\"%.64s\" is outside %s, from -%" PRIu64 " to %" PRIu64,
                 text, name, most / 2 + 1, most / 2);
    else
        snprintf(why, WI_REASON_BYTES, "\"%.64s\" is outside %s, from 0 to %" PRIu64, text, name,
                 most);
}

bool wi_find_type(const char *name, weft_type *type) {
    for (int k = 0; k < WEFT_TYPE_COUNT; k++) {
        if (strcmp(weft_type_name((weft_type)k), name) == 0) {
            *type = (weft_type)k;
            return true;
        }
    }
    return false;
}
