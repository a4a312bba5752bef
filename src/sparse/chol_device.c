/* SPDX-License-Identifier: Apache-2.0 */
/* A factor in the memory of a GPU: how much it takes, and where everything is. */
#include "sparse/chol_device.h"

#include <string.h>

#include "core/gpu.h"

/* ---- sizes ---- */

static size_t whole(size_t bytes, size_t of) {
    return (bytes + of - 1) / of * of;
}
static size_t whole_words(size_t bytes) {
    return whole(bytes, sizeof(double));
}

/* The parts of `index`, in bytes from its beginning: after the schedule, for each entry of A its
 * place in L; the word for a failure; how far a substitution is; two numbers for each row of a
 * front; how far rung `rising` is; one for each front; and D. If pivots are interchanged, windows,
 * and three numbers for each column. */
typedef struct index_parts {
    size_t place, failed, progress, relative, rows, risen, arrived, pivots, window, column, boxes,
        end;
} index_parts;

static bool is_interchanged(const weft_chol *plan) {
    return plan->kind == WEFT_CHOL_INDEFINITE;
}

static index_parts parts_of(const weft_chol *plan, const wi_schedule *schedule) {
    const size_t rows = (size_t)plan->symbolic.rows_at[plan->symbolic.supernodes];
    index_parts at;
    at.place = whole_words(wi_schedule_device_bytes(schedule));
    at.failed = at.place + plan->report.nnz_a * sizeof(int64_t);
    at.progress = at.failed + sizeof(uint64_t);
    at.relative = at.progress + WI_PROGRESS_BYTES;
    at.rows = at.relative + rows * sizeof(int32_t);
    at.risen = at.rows + rows * sizeof(int32_t);
    at.arrived = at.risen + (1 + (size_t)schedule->rising) * sizeof(uint32_t);
    at.pivots = whole_words(at.arrived + (size_t)wi_schedule_records(schedule) * sizeof(uint32_t));
    /* aligned so that one access can read the state of a window */
    at.window = whole(at.pivots + wi_pivots_bytes(plan), sizeof(wi_window_state));
    at.column = at.window +
                (is_interchanged(plan) ? (size_t)schedule->fronts * sizeof(wi_window_state) : 0);
    at.boxes = whole(at.column + (is_interchanged(plan) ? 3 * plan->report.n * sizeof(int32_t) : 0),
                     WI_BOXES_BYTES);
    at.end = at.boxes + (size_t)schedule->maps * WI_BOXES_BYTES;
    return at;
}

/* The parts of `matrix`. Its rows have at most as many entries as its columns. */
typedef struct matrix_parts {
    size_t row_start, start, at, value, figures, col, row, perm, end;
} matrix_parts;

static matrix_parts matrix_parts_of(const weft_chol *plan) {
    const size_t n = plan->report.n, entries = plan->report.nnz_a;
    matrix_parts at;
    at.row_start = 0;
    at.start = at.row_start + (n + 1) * sizeof(int64_t);
    at.at = at.start + (n + 1) * sizeof(int64_t);
    at.value = at.at + entries * sizeof(int64_t);
    at.figures = at.value + entries * sizeof(double);
    at.col = whole_words(at.figures + sizeof(wi_device_figures));
    at.row = at.col + entries * sizeof(int32_t);
    at.perm = at.row + entries * sizeof(int32_t);
    at.end = at.perm + n * sizeof(int32_t);
    return at;
}

static size_t factor_bytes(const weft_chol *plan, const wi_schedule *schedule) {
    return (size_t)wi_schedule_resident(schedule) * wi_chol_number(plan);
}

/* `work` holds the updates, and after them the diagonal of L, of doubles. */
static size_t work_bytes(const weft_chol *plan, const wi_schedule *schedule) {
    const size_t updates = whole_words((size_t)schedule->updates * wi_chol_number(plan));
    const size_t diagonal = plan->report.n * sizeof(double);
    return updates > diagonal ? updates : diagonal;
}

size_t wi_chol_device_work_bytes(const weft_chol *plan, const wi_schedule *schedule) {
    return factor_bytes(plan, schedule) + work_bytes(plan, schedule);
}

static size_t side_entries(const weft_chol *plan, const wi_schedule *schedule, int64_t rhs) {
    return (4 * plan->report.n + (size_t)schedule->parts) * (size_t)rhs;
}

size_t wi_chol_device_bytes(const weft_chol *plan, const wi_schedule *schedule, int64_t rhs) {
    return parts_of(plan, schedule).end + matrix_parts_of(plan).end +
           wi_chol_device_work_bytes(plan, schedule) +
           side_entries(plan, schedule, rhs) * sizeof(double);
}

static size_t host_entries(const weft_chol *plan, int64_t rhs) {
    return plan->report.n * (4 * (size_t)rhs + 1) + wi_krylov_entries(plan);
}

size_t wi_chol_device_host_bytes(const weft_chol *plan, const wi_schedule *schedule, int64_t rhs) {
    return sizeof(wi_chol_device) + wi_schedule_host_bytes(schedule) +
           host_entries(plan, rhs) * sizeof(double) + wi_chol_home_bytes(plan, schedule);
}

size_t wi_chol_device_held(const weft_chol *plan) {
    size_t held = 0;
    for (int g = 0; g < wi_chol_gpus(plan) && plan->device; g++) {
        const wi_chol_device *const d = g > 0 ? plan->device->other[g] : plan->device;
        held += wi_chol_device_bytes(plan, &d->schedule, d->rhs) +
                wi_chol_device_host_bytes(plan, &d->schedule, d->rhs);
    }
    return held;
}

/* ---- memory ---- */

static void drop_work(wi_chol_device *d) {
    wi_gpu_drop(d->l);
    wi_gpu_drop(d->work);
    d->l = d->work = NULL;
    wi_chol_windows_drop(d);
}

static void drop(wi_chol_device *d) {
    for (int g = 1; g < d->spread.gpus; g++)
        if (d->other[g])
            drop(d->other[g]);
    wi_spread_free(&d->spread);
    wi_host_free(d->guest);
    wi_gpu_drop(d->index);
    wi_gpu_drop(d->matrix);
    drop_work(d);
    wi_gpu_drop(d->sides);
    wi_schedule_free(&d->schedule);
    wi_host_free(d->host);
    wi_host_free(d);
}

void wi_chol_device_free(weft_chol *plan) {
    if (plan->device)
        drop(plan->device);
    plan->device = NULL;
}

void wi_chol_device_widen(weft_context *ctx, weft_chol *plan) {
    wi_chol_device *const d = plan->device;
    if (!d)
        return;
    if (wi_chol_gpus(plan) == 1)
        drop_work(d);
    if (wi_chol_gpus(plan) > 1 || d->schedule.window > 0 ||
        !wi_chol_fits(ctx, wi_chol_device_work_bytes(plan, &d->schedule)))
        wi_chol_device_free(plan);
}

static weft_status take_sides(weft_context *ctx, const char *call, const weft_chol *plan,
                              wi_chol_device *d, int64_t rhs) {
    const size_t bytes = host_entries(plan, rhs) * sizeof(double);
    void *sides;
    double *const host = wi_host_alloc(bytes + 1);
    if (!host)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, right-hand sides; free some",
                       call, bytes);
    const weft_status status =
        wi_gpu_keep(ctx, &sides, side_entries(plan, &d->schedule, rhs) * sizeof(double));
    if (status != WEFT_OK) {
        wi_host_free(host);
        return status;
    }
    if (d->has_diagonal)
        memcpy(host + plan->report.n * 4 * (size_t)rhs,
               d->host + plan->report.n * 4 * (size_t)d->rhs, plan->report.n * sizeof *host);
    wi_gpu_drop(d->sides);
    wi_host_free(d->host);
    d->sides = sides;
    d->host = host;
    d->rhs = rhs;
    return WEFT_OK;
}

static weft_status take_work(weft_context *ctx, const weft_chol *plan, wi_chol_device *d) {
    void *l, *work;
    weft_status status = wi_gpu_keep(ctx, &l, factor_bytes(plan, &d->schedule));
    if (status != WEFT_OK)
        return status;
    d->l = l;
    status = wi_gpu_keep(ctx, &work, work_bytes(plan, &d->schedule));
    if (status == WEFT_OK)
        d->work = work;
    if (status == WEFT_OK && d->schedule.window > 0)
        status = wi_chol_windows_take(ctx, plan, d);
    if (status == WEFT_OK && d->schedule.maps > 0)
        status = wi_chol_describe_fronts(ctx, d, d->index + parts_of(plan, &d->schedule).boxes);
    if (status != WEFT_OK)
        drop_work(d);
    return status;
}

static weft_status take(weft_context *ctx, const weft_chol *plan, wi_chol_device *d) {
    const wi_schedule *const schedule = &d->schedule;
    void *index, *matrix;
    weft_status status = wi_gpu_keep(ctx, &index, parts_of(plan, schedule).end);
    if (status != WEFT_OK)
        return status;
    d->index = index;
    status = wi_gpu_keep(ctx, &matrix, matrix_parts_of(plan).end);
    if (status != WEFT_OK)
        return status;
    d->matrix = matrix;
    status = take_work(ctx, plan, d);
    if (status != WEFT_OK)
        return status;
    const size_t bytes = wi_schedule_device_bytes(schedule);
    return bytes > 0 ? wi_gpu_copy(ctx, d->index, schedule->item, bytes) : WEFT_OK;
}

/* Takes the memory of one GPU. On failure `d` holds what was taken until then, to be dropped. */
static weft_status make_one(weft_context *ctx, const char *call, const weft_chol *plan, int64_t rhs,
                            wi_chol_device *first, int gpu, wi_chol_device *d) {
    const wi_spread *const spread = first->spread.gpus > 1 ? &first->spread : NULL;
    size_t needed = 0;
    weft_status status = wi_chol_fit(ctx, call, plan, rhs, spread, gpu, &d->schedule, &needed);
    if (status == WEFT_OK && needed > 0)
        status = wi_chol_tell_too_large(ctx, call, needed);
    if (status == WEFT_OK)
        status = take(ctx, plan, d);
    if (status == WEFT_OK)
        status = take_sides(ctx, call, plan, d, rhs);
    if (status == WEFT_OK)
        status = wi_chol_flow_reserve(ctx, &d->schedule);
    if (status == WEFT_OK && gpu > 0)
        status = wi_chol_find_guests(ctx, call, first, d);
    return status;
}

static weft_status new_device(weft_context *ctx, const char *call, wi_chol_device *first,
                              wi_chol_device **made) {
    wi_chol_device *const d = wi_host_alloc(sizeof *d);
    if (!d)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes; free some", call, sizeof *d);
    *d = (wi_chol_device){.device = ctx->device, .first = first};
    *made = d;
    return WEFT_OK;
}

static weft_status make_others(weft_context *ctx, const char *call, const weft_chol *plan,
                               int64_t rhs, wi_chol_device *d) {
    weft_status status = WEFT_OK;
    for (int g = 1; g < d->spread.gpus && status == WEFT_OK; g++) {
        weft_context *const gpu = wi_chol_gpu(ctx, g);
        status = new_device(gpu, call, d, &d->other[g]);
        if (status == WEFT_OK)
            d->other[g]->number = g;
        if (status == WEFT_OK)
            status = make_one(gpu, call, plan, rhs, d, g, d->other[g]);
        if (status != WEFT_OK)
            wi_fail_as(ctx, status, gpu);
    }
    return status;
}

static weft_status make(weft_context *ctx, const char *call, weft_chol *plan, int64_t rhs) {
    wi_chol_device *d = NULL;
    weft_status status = new_device(ctx, call, NULL, &d);
    if (status != WEFT_OK)
        return status;
    status = wi_chol_spread(ctx, call, plan, &d->spread);
    if (status == WEFT_OK)
        status = make_one(ctx, call, plan, rhs, d, 0, d);
    if (status == WEFT_OK)
        status = make_others(ctx, call, plan, rhs, d);
    if (status == WEFT_OK)
        plan->device = d;
    else
        drop(d);
    return status;
}

/* What take_more_sides is told. */
typedef struct more_sides {
    const char *call;
    int64_t rhs;
} more_sides;

static weft_status take_more_sides(weft_context *ctx, weft_chol *plan, void *user) {
    const more_sides *const m = user;
    return plan->device->rhs < m->rhs ? take_sides(ctx, m->call, plan, plan->device, m->rhs)
                                      : WEFT_OK;
}

weft_status wi_chol_device_reserve(weft_context *ctx, const char *call, weft_chol *plan,
                                   int64_t rhs) {
    weft_status status = WEFT_OK;
    if (wi_chol_has_d(plan))
        status = wi_pivots_reserve(ctx, call, plan);
    if (status == WEFT_OK && wi_chol_has_d(plan))
        status = wi_balance_reserve(ctx, call, plan);
    if (status != WEFT_OK)
        return status;
    if (!plan->device)
        status = make(ctx, call, plan, rhs);
    else
        status = wi_chol_each_gpu(ctx, plan, take_more_sides, &(more_sides){call, rhs});
    if (status == WEFT_OK && !plan->device->work)
        status = take_work(ctx, plan, plan->device);
    if (status == WEFT_OK)
        wi_numbers_note_peak(plan);
    return status;
}

static wi_device_pivots device_pivots(const weft_chol *plan) {
    const index_parts at = parts_of(plan, &plan->device->schedule);
    char *const index = plan->device->index;
    wi_pivots own;
    if (!wi_chol_has_d(plan))
        return (wi_device_pivots){.d = NULL};
    wi_pivots_place(plan, index + at.pivots, &own);
    wi_device_pivots pivots = {.d = own.d,
                               .e = own.e,
                               .mark = own.mark,
                               .signs = own.signs,
                               .tiny = &wi_chol_device_matrix(plan).all->tiny,
                               .perturb = plan->numbers.pivots.perturb};
    if (is_interchanged(plan)) {
        pivots.order = own.swap;
        pivots.place = (int32_t *)(index + at.column);
        pivots.moved = pivots.place + plan->report.n;
        pivots.perm = pivots.moved + plan->report.n;
        pivots.window = (wi_window_state *)(index + at.window);
    }
    return pivots;
}

wi_device_chol wi_chol_device_view(const weft_chol *plan) {
    const wi_chol_device *const d = plan->device;
    const index_parts at = parts_of(plan, &d->schedule);
    const wi_sweep_item *const item = (const wi_sweep_item *)d->index;
    const wi_front_record *const front =
        (const wi_front_record *)(item + d->schedule.ups + d->schedule.downs);
    const int64_t records = wi_schedule_records(&d->schedule);
    const int32_t *const child = (const int32_t *)(front + records);
    return (wi_device_chol){.front = front,
                            .item = item,
                            .child = child,
                            .list = child + records,
                            .rise = (const wi_rise_item *)(child + records + d->schedule.lists),
                            .relative = (const int32_t *)(d->index + at.relative),
                            .rows = (const int32_t *)(d->index + at.rows),
                            .l = d->l,
                            .updates = d->work,
                            .risen = (uint32_t *)(d->index + at.risen),
                            .arrived = (uint32_t *)(d->index + at.arrived),
                            .failed = (unsigned long long *)(d->index + at.failed),
                            .progress = (uint32_t *)(d->index + at.progress),
                            .flow_from = d->schedule.flow_from,
                            .boxes = d->index + at.boxes,
                            .pivots = device_pivots(plan)};
}

const int64_t *wi_chol_device_places(const weft_chol *plan) {
    return (const int64_t *)(plan->device->index + parts_of(plan, &plan->device->schedule).place);
}

/* ---- the matrix ---- */

wi_device_matrix wi_chol_device_matrix(const weft_chol *plan) {
    const matrix_parts at = matrix_parts_of(plan);
    char *const m = plan->device->matrix;
    return (wi_device_matrix){.row_start = (int64_t *)(m + at.row_start),
                              .start = (int64_t *)(m + at.start),
                              .at = (int64_t *)(m + at.at),
                              .value = (double *)(m + at.value),
                              .col = (int32_t *)(m + at.col),
                              .row = (int32_t *)(m + at.row),
                              .perm = (int32_t *)(m + at.perm),
                              .figures = (unsigned long long *)(m + at.figures),
                              .all = (wi_device_figures *)(m + at.figures)};
}

weft_status wi_chol_device_values(weft_context *ctx, const weft_chol *plan,
                                  const weft_sparse *matrix) {
    const size_t bytes = plan->report.nnz_a * sizeof(double);
    const double *there = matrix->there;
    weft_chol first = *plan;
    plan->device->version = 0;
    if (plan->device->first) { /* the first GPU has the values already */
        first.device = plan->device->first;
        there = wi_chol_device_matrix(&first).value;
    }
    if (there)
        return wi_gpu_copy_within(ctx, wi_chol_device_matrix(plan).value, there, bytes);
    return bytes > 0 ? wi_gpu_copy(ctx, wi_chol_device_matrix(plan).value, matrix->value, bytes)
                     : WEFT_OK;
}

weft_status wi_chol_device_send(weft_context *ctx, const weft_chol *plan, const weft_sparse *matrix,
                                double facts[WI_VALUE_FIGURES]) {
    weft_status status = wi_chol_device_values(ctx, plan, matrix);
    if (status == WEFT_OK)
        status = wi_chol_device_size_up(ctx, plan, wi_chol_device_matrix(plan).value, facts);
    plan->device->sent = status == WEFT_OK;
    return status;
}
