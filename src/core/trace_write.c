/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a timeline as JSON in the "Trace Event Format", which Perfetto and Chrome read. In the
 * file, a rank is shown as a process, and each lane of a context as a thread. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/trace.h"

enum {
    LINE_BYTES =
        512 /* more than any line has: names are constants, a place has at most WI_PLACE_BYTES */
};

/* Where text goes: to `file`, or to memory at `text`; if both are NULL its bytes are only counted.
 */
typedef struct sink {
    FILE *file;
    char *text;
    size_t bytes; /* so far */
    bool any;     /* there is a line already: a comma goes before the next */
    bool failed;
} sink;

static void put(sink *s, const char *text, size_t length) {
    if (s->file)
        s->failed = s->failed || fwrite(text, 1, length, s->file) != length;
    else if (s->text)
        memcpy(s->text + s->bytes, text, length);
    s->bytes += length;
}

static void put_line(sink *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put_line(sink *s, const char *format, ...) {
    char line[LINE_BYTES];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (s->any)
        put(s, ",\n", 2);
    s->any = true;
    put(s, line, (size_t)length);
}

/* ---- lines ---- */

static const char *lane_name(int lane) {
    static const char *const names[WI_TRACE_LANES] = {"calls",     "stream",    "caller's stream",
                                                      "side lane", "copies in", "copies out"};
    return names[lane];
}

/* The number by which the file knows a lane; no two lanes of a rank have the same. */
static int thread_of(const wi_tracer *tracer, int lane) {
    return tracer->number * WI_TRACE_LANES + lane + 1;
}

/* The name of a lane, and its place in the order of display. */
static void put_lane(sink *s, int process, const wi_tracer *tracer, int lane) {
    char lost[64] = "";
    if (tracer->dropped > 0 && lane == WI_LANE_HOST)
        snprintf(lost, sizeof lost, " (%zu spans not recorded)", tracer->dropped);
    put_line(s,
             "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":"
             "\"%s %s%s\"}}",
             process, thread_of(tracer, lane), tracer->place, lane_name(lane), lost);
    put_line(s,
             "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%d,\"args\":{"
             "\"sort_index\":%d}}",
             process, thread_of(tracer, lane), thread_of(tracer, lane));
}

enum {
    MICROS_BYTES = 32
};

/* Nanoseconds as microseconds, with a point whatever the program's locale is. */
static const char *micros(int64_t nanoseconds, char out[MICROS_BYTES]) {
    const int64_t size = nanoseconds < 0 ? -nanoseconds : nanoseconds;
    snprintf(out, MICROS_BYTES, "%s%" PRId64 ".%03d", nanoseconds < 0 ? "-" : "", size / 1000,
             (int)(size % 1000));
    return out;
}

/* The file counts in microseconds from `zero`, which is in seconds, by wi_now. Times are rounded to
 * whole nanoseconds first, so that spans that follow each other do not overlap. */
static void put_span(sink *s, int process, const wi_tracer *tracer, const wi_span *span,
                     double zero) {
    char bytes[96] = "", at[MICROS_BYTES], duration[MICROS_BYTES];
    const int64_t begin = (int64_t)((span->begin - zero) * 1e9 + 0.5);
    const int64_t end = (int64_t)((span->end - zero) * 1e9 + 0.5);
    if (span->bytes.in > 0 || span->bytes.out > 0)
        snprintf(bytes, sizeof bytes, "\"bytes_read\":%" PRIu64 ",\"bytes_written\":%" PRIu64,
                 span->bytes.in, span->bytes.out);
    put_line(s,
             "{\"ph\":\"X\",\"name\":\"%s%s%s\",\"pid\":%d,\"tid\":%d,\"ts\":%s,"
             "\"dur\":%s,\"args\":{%s}}",
             span->op, span->what ? " " : "", span->what ? span->what : "", process,
             thread_of(tracer, span->lane), micros(begin, at),
             micros(end > begin ? end - begin : 0, duration), bytes);
}

static void put_tracer(sink *s, int process, const wi_tracer *tracer, double zero) {
    bool used[WI_TRACE_LANES] = {[WI_LANE_HOST] = true};
    for (size_t k = 0; k < tracer->count; k++)
        used[tracer->spans[k].lane] = true;
    for (int lane = 0; lane < WI_TRACE_LANES; lane++) {
        if (used[lane])
            put_lane(s, process, tracer, lane);
    }
    for (size_t k = 0; k < tracer->count; k++)
        put_span(s, process, tracer, &tracer->spans[k], zero);
}

/* The times in the file count from `origin`, which is in nanoseconds since 1970. */
static void put_trace(sink *s, const wi_trace *trace, uint64_t origin) {
    const double zero = trace->begun - (double)(int64_t)(trace->origin - origin) * 1e-9;
    char name[64] = "weft";
    if (trace->ranks > 1)
        snprintf(name, sizeof name, "weft, rank %d of %d", trace->rank, trace->ranks);
    put_line(s, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"%s\"}}",
             trace->rank, name);
    for (const wi_tracer *tracer = trace->ended; tracer; tracer = tracer->next)
        put_tracer(s, trace->rank, tracer, zero);
}

/* ---- files and texts ---- */

char *wi_trace_text(const wi_trace *trace, uint64_t origin, size_t *bytes) {
    sink s = {.text = NULL}; /* counts */
    put_trace(&s, trace, origin);
    *bytes = s.bytes;
    char *const text = wi_host_alloc(s.bytes);
    s = (sink){.text = text};
    if (text)
        put_trace(&s, trace, origin);
    return text;
}

bool wi_trace_write(const wi_trace *trace, FILE *file) {
    sink s = {.file = file};
    static const char end[] = "\n]}\n";
    char begin[LINE_BYTES];
    const int length = snprintf(begin, sizeof begin,
                                "{\"otherData\":{\"version\":\"weft %s\"},"
                                "\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n",
                                weft_version());
    put(&s, begin, (size_t)length);
    put_trace(&s, trace, trace->origin);
    if (trace->others) {
        put(&s, ",\n", 2);
        put(&s, trace->others, trace->others_bytes);
    }
    put(&s, end, sizeof end - 1);
    return !s.failed;
}
