/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces gpu_*.c in a build without CUDA. A context never has a GPU here, so most of these are
 * never called; each still gives a right answer. */
#include <stdio.h>

#include "core/gpu.h"
#include "core/gpu_calls.h"
#include "core/gpu_limits.h"
#include "core/rows.h"
#include "core/stage.h"
#include "core/trace.h"

const wi_ladder wi_stage_ladder = {"stage", NULL, 0};

static const char none[] = "this build of weft has no CUDA: configure with a CUDA toolkit 12 or "
                           "later, or open place \"cpu\"";

static weft_status refuse(weft_context *ctx) {
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s", none);
}

weft_status wi_gpu_open(weft_context *ctx, int ordinal) {
    (void)ordinal;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "weft_open: %s", none);
}

void wi_gpu_name(int device, char *name, size_t bytes) {
    (void)device;
    snprintf(name, bytes, "none");
}

void wi_gpu_close(weft_context *ctx) {
    (void)ctx;
}

bool wi_gpu_present(char *why, size_t bytes) {
    snprintf(why, bytes, "%s", none);
    return false;
}

int wi_gpu_visible(void) {
    return 0;
}

weft_status wi_gpu_enter(weft_context *ctx, int *before) {
    *before = 0;
    return ctx->kind == WI_CPU ? WEFT_OK : refuse(ctx);
}

void wi_gpu_leave(weft_context *ctx, int before) {
    (void)ctx;
    (void)before;
}

weft_status wi_gpu_alloc(weft_context *ctx, void **p, size_t bytes) {
    (void)bytes;
    *p = NULL;
    return refuse(ctx);
}

weft_status wi_gpu_free(weft_context *ctx, void *p) {
    (void)p;
    return refuse(ctx);
}

size_t wi_gpu_free_bytes(const weft_context *ctx) {
    (void)ctx;
    return 0;
}

unsigned wi_gpu_nest(weft_context *ctx, int change) {
    (void)ctx;
    (void)change;
    return 0;
}

weft_status wi_gpu_scratch(weft_context *ctx, const void *key, size_t bytes, void **p) {
    (void)key;
    (void)bytes;
    *p = NULL;
    return refuse(ctx);
}

weft_status wi_gpu_keep(weft_context *ctx, void **p, size_t bytes) {
    (void)bytes;
    *p = NULL;
    return refuse(ctx);
}

void wi_gpu_drop(void *p) {
    (void)p;
}

weft_status wi_gpu_copy(weft_context *ctx, void *to, const void *from, size_t bytes) {
    (void)to;
    (void)from;
    (void)bytes;
    return refuse(ctx);
}

weft_status wi_gpu_copy_within(weft_context *ctx, void *to, const void *from, size_t bytes) {
    (void)to;
    (void)from;
    (void)bytes;
    return refuse(ctx);
}

weft_status wi_gpu_take_words(weft_context *ctx) {
    return refuse(ctx);
}

weft_status wi_gpu_bring_words(weft_context *ctx, int64_t *to, const int64_t *from, int count) {
    (void)to;
    (void)from;
    (void)count;
    return refuse(ctx);
}

weft_status wi_gpu_sync(weft_context *ctx) {
    return refuse(ctx);
}

weft_status wi_gpu_set_stream(weft_context *ctx, void *stream) {
    (void)stream;
    return refuse(ctx);
}

bool wi_gpu_is_device(const weft_context *ctx, const void *p) {
    (void)ctx;
    (void)p;
    return false;
}

bool wi_gpu_is_host(const weft_context *ctx, const void *p) {
    (void)ctx;
    (void)p;
    return true;
}

bool wi_gpu_capturing(const weft_context *ctx) {
    (void)ctx;
    return false;
}

weft_status wi_gpu_wait_queued(weft_context *ctx) {
    return refuse(ctx);
}

weft_status wi_dealt_open(weft_context *ctx, weft_context *const each[], int count,
                          wi_dealt **dealt) {
    (void)each;
    (void)count;
    *dealt = NULL;
    return refuse(ctx);
}

void wi_dealt_close(wi_dealt *dealt) {
    (void)dealt;
}

bool wi_dealt_reaches(const wi_dealt *dealt, const char **why) {
    (void)dealt;
    *why = none;
    return false;
}

size_t wi_dealt_least(const wi_dealt *dealt) {
    (void)dealt;
    return SIZE_MAX;
}

weft_status wi_dealt_take(weft_context *ctx, wi_dealt *dealt, void **p, size_t bytes) {
    (void)dealt;
    (void)bytes;
    *p = NULL;
    return refuse(ctx);
}

weft_status wi_dealt_give(weft_context *ctx, wi_dealt *dealt, void *p, bool *found) {
    (void)ctx;
    (void)dealt;
    (void)p;
    *found = false;
    return WEFT_OK;
}

bool wi_dealt_find(wi_dealt *dealt, const void *p, const char **begin, size_t *block) {
    (void)dealt;
    (void)p;
    (void)begin;
    (void)block;
    return false;
}

weft_status wi_gpu_limits_of(weft_context *ctx, wi_gpu_limits *limits) {
    *limits = (wi_gpu_limits){.compute_mode = ""};
    return refuse(ctx);
}

const char *wi_bound_name(wi_bound bound) {
    (void)bound;
    return "";
}

bool wi_gpu_has_service(int device) {
    (void)device;
    return false;
}

void wi_gpu_watch(weft_context *ctx, wi_watch *watch) {
    (void)ctx;
    (void)watch;
}

weft_status wi_stage_run(weft_context *ctx, const wi_stage_args *args) {
    (void)args;
    return refuse(ctx);
}

void wi_stage_close(weft_context *ctx) {
    (void)ctx;
}

weft_status wi_gpu_keep_table(weft_context *ctx, void **p, const void *from, size_t bytes) {
    (void)from;
    (void)bytes;
    *p = NULL;
    return refuse(ctx);
}

void wi_gpu_drop_table(weft_context *ctx, void *p) {
    (void)ctx;
    (void)p;
}

long wi_gpu_mark(weft_context *ctx, void *stream, const char *op, const char *what,
                 wi_traffic bytes) {
    (void)ctx, (void)stream, (void)op, (void)what, (void)bytes;
    return WI_TRACE_NOTHING;
}

void wi_gpu_mark_end(weft_context *ctx, long mark, void *stream) {
    (void)ctx, (void)mark, (void)stream;
}

void *wi_gpu_stream(const weft_context *ctx) {
    (void)ctx;
    return NULL;
}

bool wi_gpu_marks_open(weft_context *ctx) {
    (void)ctx;
    return false;
}

void wi_gpu_marks_close(weft_context *ctx) {
    (void)ctx;
}

void wi_gpu_call_begins(weft_context *ctx) {
    (void)ctx;
}

void wi_gpu_call_ends(weft_context *ctx) {
    (void)ctx;
}
