/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, messages, and the argument checks that every public call uses. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/core.h"

/* The message of this thread's latest failed call without a context: weft_open, or a call given
 * NULL. */
static _Thread_local char orphan_message[WI_MESSAGE_BYTES];

static weft_status told(const weft_context *ctx, weft_status status) {
    if (ctx && ctx->on_error)
        ctx->on_error(ctx->on_error_user, status, ctx->message);
    return status;
}

weft_status wi_fail(weft_context *ctx, weft_status status, const char *format, ...) {
    char message[WI_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    wi_shown(message, ctx ? ctx->message : orphan_message, WI_MESSAGE_BYTES);
    return told(ctx, status);
}

void wi_take_message(weft_context *ctx, const weft_context *other) {
    memmove(ctx->message, other->message, sizeof ctx->message);
}

weft_status wi_fail_as(weft_context *ctx, weft_status status, const weft_context *other) {
    wi_take_message(ctx, other);
    return told(ctx, status);
}

weft_status weft_on_error(weft_context *ctx, weft_error_handler handler, void *user) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    ctx->on_error = handler;
    ctx->on_error_user = user;
    return WEFT_OK;
}

void wi_append(char *line, size_t room, const char *separator, const char *text) {
    const size_t used = strlen(line);
    snprintf(line + used, room - used, "%s%s", used ? separator : "", text);
}

const char *weft_message(const weft_context *ctx) {
    return ctx ? ctx->message : orphan_message;
}

const char *weft_status_name(weft_status status) {
    static const char *const names[] = {
        [WEFT_OK] = "WEFT_OK",
        [WEFT_EARG] = "WEFT_EARG",
        [WEFT_ENOMEM] = "WEFT_ENOMEM",
        [WEFT_EDEVICE] = "WEFT_EDEVICE",
        [WEFT_EUNSUPPORTED] = "WEFT_EUNSUPPORTED",
        [WEFT_ESINGULAR] = "WEFT_ESINGULAR",
        [WEFT_ENOTSPD] = "WEFT_ENOTSPD",
        [WEFT_ENONFINITE] = "WEFT_ENONFINITE",
        [WEFT_EIO] = "WEFT_EIO",
        [WEFT_EFORMAT] = "WEFT_EFORMAT",
        [WEFT_ECOMM] = "WEFT_ECOMM",
        [WEFT_ECANCELLED] = "WEFT_ECANCELLED",
    };
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "?";
}

weft_status wi_check_context(const weft_context *ctx) {
    return ctx ? WEFT_OK : wi_fail(NULL, WEFT_EARG, "the context is NULL; open one with weft_open");
}

weft_status wi_check_type(weft_context *ctx, const char *call, weft_type type) {
    if (weft_type_size(type) > 0)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: type %d is not a weft_type; they run from %d (%s) to %d (%s)", call,
                   (int)type, WEFT_I8, weft_type_name(WEFT_I8), WEFT_F64, weft_type_name(WEFT_F64));
}

weft_status wi_check_wide_float(weft_context *ctx, const char *call, weft_type type) {
    const weft_status status = wi_check_type(ctx, call, type);
    if (status != WEFT_OK || type == WEFT_F64 || type == WEFT_F32)
        return status;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: type is %s; there are f64 and f32", call,
                   weft_type_name(type));
}

weft_status wi_check_array(weft_context *ctx, const char *call, const char *name, const void *p,
                           size_t n, weft_type type) {
    if (wi_is_strided(ctx, p))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s is what weft_strided returned, which this call does not take there; "
                       "take the column out with weft_take_columns",
                       call, name);
    /* No C object is larger than PTRDIFF_MAX bytes. */
    if (n > PTRDIFF_MAX / weft_type_size(type))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %zu elements of %s do not fit the address space; check the count of %s",
                       call, n, weft_type_name(type), name);
    if (!p && n > 0)
        return wi_fail(ctx, WEFT_EARG, "%s: %s is NULL; pass memory of %zu element%s of %s", call,
                       name, n, n == 1 ? "" : "s", weft_type_name(type));
    if ((uintptr_t)p % weft_type_size(type) != 0)
        return wi_fail(
            ctx, WEFT_EARG,
            "%s: %s is not at a multiple of %zu bytes, as an array of %s is in C; copy it "
            "to memory that is",
            call, name, weft_type_size(type), weft_type_name(type));
    return WEFT_OK;
}

weft_status wi_check_room(weft_context *ctx, const char *call, const void *memory, size_t room,
                          size_t needed, const size_t *bytes) {
    if (!bytes)
        return wi_fail(ctx, WEFT_EARG, "%s: bytes is NULL; pass where their number goes", call);
    if (memory && room < needed)
        return wi_fail(ctx, WEFT_EARG, "%s: room is %zu; memory must have %zu bytes", call, room,
                       needed);
    return WEFT_OK;
}

weft_status wi_check_index_type(weft_context *ctx, const char *call, const char *name,
                                weft_type type, uint64_t most) {
    const bool is_index =
        type == WEFT_I32 || type == WEFT_U32 || type == WEFT_I64 || type == WEFT_U64;
    if (!is_index)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s is %s; pass WEFT_I32, WEFT_U32, WEFT_I64 or WEFT_U64", call, name,
                       weft_type_name(type));
    const uint64_t holds = type == WEFT_I32   ? INT32_MAX
                           : type == WEFT_U32 ? UINT32_MAX
                           : type == WEFT_I64 ? INT64_MAX
                                              : UINT64_MAX;
    if (most <= holds)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: %s %s holds numbers up to %llu, and with this n they may reach %llu; pass "
                   "WEFT_I64 or WEFT_U64",
                   call, name, weft_type_name(type), (unsigned long long)holds,
                   (unsigned long long)most);
}

bool wi_overlap(const void *a, size_t bytes_a, const void *b, size_t bytes_b) {
    const uintptr_t begin_a = (uintptr_t)a, begin_b = (uintptr_t)b;
    if (bytes_a == 0 || bytes_b == 0)
        return false;
    return begin_a < begin_b ? begin_b - begin_a < bytes_a : begin_a - begin_b < bytes_b;
}

weft_status wi_check_overlap(weft_context *ctx, const char *call, const char *name_a, const void *a,
                             size_t bytes_a, const char *name_b, const void *b, size_t bytes_b) {
    const bool in_place = a == b && bytes_a == bytes_b;
    if (in_place || !wi_overlap(a, bytes_a, b, bytes_b))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: %s and %s overlap in part; pass the very same array or separate ones", call,
                   name_a, name_b);
}
