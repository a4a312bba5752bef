/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: the file is JSON, spans of a lane nest, and names and bytes are those of the calls. */
#include "core/trace.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/gpus.h"
#include "comma.h"
#include "core/gpu.h"
#include "full_disk.h"
#include "gpu_name.h"
#include "stage_copy.h"
#include "testing.h"
#include "weft/trace.h"

enum {
    N = 3000,
    LARGE = 40 << 20, /* bytes: several segments of staging */
    MOST_EVENTS = 4096,
    NAME = 80
};

static char folder[] = "/tmp/weft_trace_XXXXXX";

static const char *path_of(const char *name, char out[128]) {
    snprintf(out, 128, "%s/%s", folder, name);
    return out;
}

/* ---- JSON ---- */

static const char *skip_space(const char *at) {
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static const char *skip_text(const char *at) {
    for (at++; *at && *at != '"'; at++)
        at += *at == '\\';
    assert_int_equal(*at, '"');
    return at + 1;
}

/* Behind the value that begins here; fails the test if it is none. */
static const char *skip_value(const char *at) {
    at = skip_space(at);
    if (*at == '"')
        return skip_text(at);
    if (*at != '{' && *at != '[') {
        char *end;
        strtod(at, &end);
        assert_true(end > at);
        return end;
    }
    const char close = *at == '{' ? '}' : ']';
    const bool named = *at == '{';
    at = skip_space(at + 1);
    while (*at != close) {
        if (named) {
            assert_int_equal(*at, '"');
            at = skip_space(skip_text(at));
            assert_int_equal(*at++, ':');
        }
        at = skip_space(skip_value(at));
        if (*at == ',')
            assert_int_not_equal(*(at = skip_space(at + 1)), close);
        else
            assert_int_equal(*at, close);
    }
    return at + 1;
}

/* ---- the file ---- */

typedef struct event {
    char name[NAME];
    int lane; /* tid */
    double begin, end;
    unsigned long long in, out;
} event;

typedef struct timeline {
    size_t count;
    event at[MOST_EVENTS];
    char lane[MOST_EVENTS][NAME]; /* names of threads, by tid */
} timeline;

static char *read_file(const char *path) {
    struct stat facts;
    FILE *const f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &facts), 0);
    char *const text = calloc(1, (size_t)facts.st_size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)facts.st_size, f), (size_t)facts.st_size);
    fclose(f);
    return text;
}

static void read_line(timeline *t, const char *line) {
    int process, tid;
    double begin, length;
    event *const e = &t->at[t->count];
    if (sscanf(line, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,", &process,
               &tid) == 2) {
        const char *const name = strstr(line, "{\"name\":\"");
        assert_non_null(name);
        snprintf(t->lane[tid], NAME, "%.*s", (int)strcspn(name + 9, "\""), name + 9);
        return;
    }
    if (sscanf(line,
               "{\"ph\":\"X\",\"name\":\"%79[^\"]\",\"pid\":%d,\"tid\":%d,\"ts\":%lf,\"dur\":%lf",
               e->name, &process, &e->lane, &begin, &length) != 5)
        return;
    e->begin = begin;
    e->end = begin + length;
    const char *const bytes = strstr(line, "\"bytes_read\":");
    if (bytes)
        assert_int_equal(
            sscanf(bytes, "\"bytes_read\":%llu,\"bytes_written\":%llu", &e->in, &e->out), 2);
    t->count++;
    assert_true(t->count < MOST_EVENTS);
}

/* Spans of a lane nest: any two are apart, or one lies in the other. Times are rounded to 1 ns. */
static void check_nesting(const timeline *t) {
    const double slack = 2e-3;
    for (size_t i = 0; i < t->count; i++) {
        for (size_t k = 0; k < i; k++) {
            const event *const a = &t->at[i], *const b = &t->at[k];
            if (a->lane != b->lane)
                continue;
            const bool apart = a->end <= b->begin + slack || b->end <= a->begin + slack;
            const bool a_in_b = a->begin >= b->begin - slack && a->end <= b->end + slack;
            const bool b_in_a = b->begin >= a->begin - slack && b->end <= a->end + slack;
            if (!apart && !a_in_b && !b_in_a)
                fail_msg("%s and %s overlap in lane %s", a->name, b->name, t->lane[a->lane]);
        }
    }
}

static timeline *read_timeline(const char *path) {
    timeline *const t = calloc(1, sizeof *t);
    char *const text = read_file(path);
    assert_non_null(t);
    assert_string_equal(skip_space(skip_value(text)), "");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        read_line(t, line);
    free(text);
    check_nesting(t);
    return t;
}

static const event *find(const timeline *t, const char *name, const char *lane) {
    for (size_t k = 0; k < t->count; k++) {
        if (strcmp(t->at[k].name, name) == 0 && strstr(t->lane[t->at[k].lane], lane))
            return &t->at[k];
    }
    return NULL;
}

static size_t lanes(const timeline *t, const char *suffix) {
    size_t count = 0;
    for (size_t k = 0; k < MOST_EVENTS; k++) {
        const char *const at = strstr(t->lane[k], suffix);
        count += at && strcmp(at, suffix) == 0;
    }
    return count;
}

/* ---- calls ---- */

static weft_status scan_host(weft_context *ctx) {
    static __thread float x[N], y[N];
    return weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, N, x, y, NULL);
}

static void names_and_bytes(weft_context *ctx) {
    char path[128], rung[NAME];
    assert_null(ctx->tracer);
    assert_int_equal(weft_trace_begin(ctx, path_of("a.json", path)), WEFT_OK);
    assert_int_equal(scan_host(ctx), WEFT_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(weft_trace_end(ctx), WEFT_OK);
    assert_null(ctx->tracer);
    timeline *const t = read_timeline(path);
    const event *const call = find(t, "weft_scan", "calls");
    assert_non_null(call);
    assert_true(call->in == N * sizeof(float) && call->out == N * sizeof(float));
    snprintf(rung, sizeof rung, "scan %s", weft_used(ctx, "scan"));
    const event *const ran = find(t, rung, "calls");
    assert_non_null(ran);
    assert_true(ran->begin >= call->begin && ran->end <= call->end + 2e-3);
    assert_true(ran->in == N * sizeof(float));
    const bool gpu = ctx->kind == WI_CUDA;
    assert_int_equal(find(t, rung, "stream") != NULL, gpu);
    assert_int_equal(find(t, "copy in", " ") != NULL, gpu);
    assert_int_equal(find(t, "copy out", " ") != NULL, gpu);
    free(t);
    assert_int_equal(unlink(path), 0);
}

#ifdef WEFT_CUDA
/* On emu, schedules that draw what runs next let copies and kernels overlap. */
static bool draws_schedules(void) {
    const char *const seed = getenv("WEFT_EMU_SEED");
    return !seed || atoi(seed) % 4 == 2;
}

static bool overlap(const timeline *t, const char *lane_a, const char *lane_b) {
    for (size_t i = 0; i < t->count; i++) {
        for (size_t k = 0; k < t->count; k++) {
            const event *const a = &t->at[i], *const b = &t->at[k];
            if (strstr(t->lane[a->lane], lane_a) && strstr(t->lane[b->lane], lane_b) &&
                a->begin < b->end && b->begin < a->end)
                return true;
        }
    }
    return false;
}

/* weft_copy both ways, and a call on host arrays with work between its copies. */
static void segments(weft_context *ctx) {
    char path[128];
    void *device;
    if (ctx->kind == WI_CPU)
        return;
    char *const host = calloc(2, LARGE);
    assert_non_null(host);
    assert_int_equal(weft_alloc(ctx, &device, LARGE), WEFT_OK);
    assert_int_equal(weft_use(ctx, "stage", "segmented"), WEFT_OK);
    assert_int_equal(weft_trace_begin(ctx, path_of("b.json", path)), WEFT_OK);
    assert_int_equal(weft_copy(ctx, device, host, LARGE), WEFT_OK);
    assert_int_equal(weft_copy(ctx, host, device, LARGE), WEFT_OK);
    assert_int_equal(test_stage_copy(ctx, host, host + LARGE, LARGE), WEFT_OK);
    assert_int_equal(weft_trace_end(ctx), WEFT_OK);
    timeline *const t = read_timeline(path);
    unsigned long long in = 0, out = 0;
    for (size_t k = 0; k < t->count; k++) {
        in += strcmp(t->at[k].name, "copy in") == 0 ? t->at[k].in : 0;
        out += strcmp(t->at[k].name, "copy out") == 0 ? t->at[k].out : 0;
    }
    assert_true(in == 2 * LARGE && out == 2 * LARGE);
    assert_non_null(find(t, "copy in", "copies in"));
    assert_non_null(find(t, "copy out", "copies out"));
    assert_non_null(find(t, "weft_mock segment", "stream"));
    assert_non_null(find(t, "stage segmented", "calls"));
    if (draws_schedules())
        assert_true(overlap(t, "copies in", "stream") || overlap(t, "copies out", "stream"));
    free(t);
    free(host);
    assert_int_equal(weft_free(ctx, device), WEFT_OK);
    assert_int_equal(unlink(path), 0);
}
#endif

/* ---- what is refused ---- */

static void refusals(weft_context *ctx) {
    char path[128];
    test_refused(ctx, weft_trace_end(ctx), WEFT_EARG, "weft_trace_end", "weft_trace_begin");
    test_refused(ctx, weft_trace_begin(ctx, NULL), WEFT_EARG, "weft_trace_begin", "path");
    test_refused(ctx, weft_trace_begin(ctx, ""), WEFT_EARG, "weft_trace_begin", "path");
    test_refused(ctx, weft_trace_begin(ctx, "/no/such/folder/t.json"), WEFT_EIO, "weft_trace_begin",
                 NULL);
    assert_null(ctx->tracer);
    assert_int_equal(weft_trace_begin(ctx, path_of("c.json", path)), WEFT_OK);
    test_refused(ctx, weft_trace_begin(ctx, path), WEFT_EARG, "weft_trace_begin", "weft_trace_end");
    assert_int_equal(weft_trace_end(ctx), WEFT_OK);
    assert_int_equal(weft_trace_begin(NULL, path), WEFT_EARG);
    assert_int_equal(weft_trace_end(NULL), WEFT_EARG);
    assert_int_equal(unlink(path), 0);
}

/* The older file stays if there is no room for the new one. */
static void test_full_disk(void **state) {
    char path[128];
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    FILE *const f = fopen(path_of("d.json", path), "w");
    assert_non_null(f);
    fputs("older", f);
    fclose(f);
    assert_int_equal(weft_trace_begin(ctx, path), WEFT_OK);
    assert_int_equal(scan_host(ctx), WEFT_OK);
    test_limit_files(100);
    const weft_status status = weft_trace_end(ctx);
    test_limit_files(RLIM_INFINITY);
    test_refused(ctx, status, WEFT_EIO, "weft_trace_end", NULL);
    char *const text = read_file(path);
    assert_string_equal(text, "older");
    free(text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(weft_trace_begin(ctx, path), WEFT_OK); /* it can be tried again */
    assert_int_equal(weft_trace_end(ctx), WEFT_OK);
    free(read_timeline(path));
    assert_int_equal(unlink(path), 0);
    weft_close(ctx);
}

/* A program's locale is not the file's. */
static void test_locale(void **state) {
    char path[128];
    (void)state;
    if (!test_comma_locale())
        skip();
    weft_context *const ctx = test_open("cpu:1");
    assert_int_equal(weft_trace_begin(ctx, path_of("l.json", path)), WEFT_OK);
    assert_int_equal(scan_host(ctx), WEFT_OK);
    assert_int_equal(weft_trace_end(ctx), WEFT_OK);
    setlocale(LC_NUMERIC, "C");
    free(read_timeline(path));
    assert_int_equal(unlink(path), 0);
    weft_close(ctx);
}

/* ---- several contexts ---- */

typedef struct part {
    const char *place, *path;
    bool begins;
} part;

static void *run_part(void *user) {
    const part *const p = user;
    weft_context *const ctx = test_open(p->place);
    if (p->begins)
        assert_int_equal(weft_trace_begin(ctx, p->path), WEFT_OK);
    for (int k = 0; k < 5; k++)
        assert_int_equal(scan_host(ctx), WEFT_OK);
    if (p->begins)
        assert_int_equal(weft_trace_end(ctx), WEFT_OK);
    weft_close(ctx);
    return NULL;
}

static void run_both(const part *a, const part *b) {
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, run_part, (void *)(uintptr_t)a), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, run_part, (void *)(uintptr_t)b), 0);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

/* Fails unless the file shows 5 calls of each of so many contexts. */
static void check_calls(const char *path, size_t contexts) {
    timeline *const t = read_timeline(path);
    size_t calls = 0;
    for (size_t k = 0; k < t->count; k++)
        calls += strcmp(t->at[k].name, "weft_scan") == 0;
    assert_int_equal(lanes(t, " calls"), contexts);
    assert_int_equal(calls, 5 * contexts);
    free(t);
    assert_int_equal(unlink(path), 0);
}

static void test_two_files(void **state) {
    char a[128], b[128];
    (void)state;
    run_both(&(part){"cpu:1", path_of("e.json", a), true},
             &(part){"cpu:2", path_of("f.json", b), true});
    check_calls(a, 1);
    check_calls(b, 1);
}

/* Contexts of WEFT_TRACE share its file, at the same time or one after the other. */
static void test_variable(void **state) {
    char path[128];
    const char *places[TEST_MAX_PLACES];
    const size_t count = test_places(places);
    (void)state;
    setenv("WEFT_TRACE", path_of("g.json", path), 1);
    run_both(&(part){places[0], NULL, false}, &(part){places[count - 1], NULL, false});
    run_part(&(part){places[0], NULL, false});
    weft_context *ctx;
    setenv("WEFT_TRACE", "/no/such/folder/t.json", 1);
    assert_int_equal(weft_open(&ctx, "cpu:1"), WEFT_EIO);
    assert_non_null(strstr(weft_message(NULL), "WEFT_TRACE"));
    unsetenv("WEFT_TRACE");
    check_calls(path, 3);
}

/* Each GPU has its lanes, in which its part of the call is. */
static void test_gpus(void **state) {
    char path[128], lane[NAME];
    weft_context *ctx;
    (void)state;
    if (weft_open(&ctx, TEST_GPU "s") != WEFT_OK)
        skip();
    assert_int_equal(weft_trace_begin(ctx, path_of("h.json", path)), WEFT_OK);
    assert_int_equal(weft_use(ctx, "scan", "ranks"), WEFT_OK);
    assert_int_equal(scan_host(ctx), WEFT_OK);
    assert_int_equal(weft_trace_end(ctx), WEFT_OK);
    assert_null(ctx->tracer);
    assert_int_equal(scan_host(ctx), WEFT_OK); /* not recorded any more */
    timeline *const t = read_timeline(path);
    assert_int_equal(lanes(t, " calls"), wi_gpus_count(ctx));
    for (int k = 0; k < wi_gpus_count(ctx); k++) {
        snprintf(lane, sizeof lane, TEST_GPU ":%d calls", k);
        assert_non_null(find(t, "scan ranks", lane));
    }
    free(t);
    assert_int_equal(unlink(path), 0);
    weft_close(ctx);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#ifdef WEFT_CUDA
        TEST_ON_EACH_PLACE(segments),
#endif
        TEST_ON_EACH_PLACE(names_and_bytes), TEST_ON_EACH_PLACE(refusals),
        cmocka_unit_test(test_full_disk),    cmocka_unit_test(test_locale),
        cmocka_unit_test(test_two_files),    cmocka_unit_test(test_variable),
        cmocka_unit_test(test_gpus),
    };
    return cmocka_run_group_tests_name("trace", tests, make_folder, remove_folder);
}
