/* SPDX-License-Identifier: Apache-2.0 */
/* What a system needs of a matrix in host memory that does not fit a GPU: what is read once is done
 * on the host, and for products the rows come to the device in panels, with all their columns, so
 * that a residual is summed as ever. Vectors are on the device, and so may the factors be. */
#include "core/rowcopy.h"
#include "lu/host_panels.cuh"
#include "solve/solve_cuda.cuh"

constexpr size_t step = 16; /* rows of a panel are a multiple */
constexpr size_t aligned = 256;

static bool is_beyond(const weft_context *ctx, const wi_grid *g) {
    return !wi_is_device(ctx, g->p);
}

static weft_status no_memory(weft_context *ctx, size_t bytes) {
    return wi_fail(ctx, WEFT_ENOMEM,
                   "solving with a matrix that does not fit the GPU: no host memory for %zu bytes",
                   bytes);
}

/* ---- on the host ---- */

/* A grid whose powers are in host memory, too. */
typedef struct host_grid {
    wi_grid g;
    int32_t *powers;
} host_grid;

static weft_status open_host_grid(weft_context *ctx, const wi_grid *g, host_grid *h) {
    const size_t bytes = (g->rows + g->columns) * sizeof *h->powers;
    *h = {*g, NULL};
    if (!g->row_power && !g->column_power)
        return WEFT_OK;
    h->powers = (int32_t *)wi_host_alloc(bytes);
    if (!h->powers)
        return no_memory(ctx, bytes);
    weft_status status = WEFT_OK;
    if (g->row_power) {
        h->g.row_power = h->powers;
        status = wi_gpu_copy(ctx, h->powers, g->row_power, g->rows * sizeof *h->powers);
    }
    if (g->column_power) {
        h->g.column_power = h->powers + g->rows;
        if (status == WEFT_OK)
            status = wi_gpu_copy(ctx, h->powers + g->rows, g->column_power,
                                 g->columns * sizeof *h->powers);
    }
    return status;
}

static weft_status streamed_rows(weft_context *ctx, const wi_grid *g, double *most, double *least) {
    const size_t line = g->rows * sizeof *most;
    host_grid h;
    if (!is_beyond(ctx, g))
        return wi_system_on_cuda.rows_range(ctx, g, most, least);
    double *const both = (double *)wi_host_alloc(2 * line);
    weft_status status = open_host_grid(ctx, g, &h);
    if (!both)
        status = no_memory(ctx, 2 * line);
    if (status == WEFT_OK)
        status = wi_system_on_cpu.rows_range(ctx, &h.g, both, both + g->rows);
    if (status == WEFT_OK)
        status = wi_gpu_copy(ctx, most, both, line);
    if (status == WEFT_OK)
        status = wi_gpu_copy(ctx, least, both + g->rows, line);
    wi_host_free(h.powers);
    wi_host_free(both);
    return status;
}

/* Whether an entry is finite does not depend on powers. */
static weft_status first_bad_streamed(weft_context *ctx, const wi_grid *g, uint64_t *at) {
    uint64_t found;
    if (!is_beyond(ctx, g))
        return wi_system_on_cuda.first_bad(ctx, g, at);
    const weft_status status = wi_system_on_cpu.first_bad(ctx, g, &found);
    return status == WEFT_OK ? wi_gpu_copy(ctx, at, &found, sizeof found) : status;
}

/* To host memory or, of a single column, by way of it. */
static weft_status copy_on_host(weft_context *ctx, const wi_grid *g, weft_type type, void *to,
                                size_t ld) {
    const bool direct = !wi_is_device(ctx, to);
    const size_t bytes = g->rows * weft_type_size(type);
    void *const line = direct ? to : wi_host_alloc(bytes);
    host_grid h;
    weft_status status = open_host_grid(ctx, g, &h);
    if (!line)
        status = no_memory(ctx, bytes);
    if (status == WEFT_OK)
        status = wi_system_on_cpu.copy(ctx, &h.g, type, line, ld);
    if (status == WEFT_OK && !direct)
        status = wi_gpu_copy(ctx, to, line, bytes);
    wi_host_free(h.powers);
    if (!direct)
        wi_host_free(line);
    return status;
}

/* ---- parts of a grid ---- */

/* Rows row ... and columns column ... of a grid; which half of them is there is said by `half`. */
static wi_grid part_of(const wi_grid *g, size_t row, size_t rows, size_t column, size_t columns,
                       wi_half half) {
    wi_grid part = *g;
    part.half = half;
    part.rows = rows;
    part.columns = columns;
    part.p = (const char *)g->p + (row * g->down + column * g->across) * weft_type_size(g->type);
    part.row_power = g->row_power ? g->row_power + row : NULL;
    part.column_power = g->column_power ? g->column_power + column : NULL;
    return part;
}

/* The lower half in place of the upper one: of a symmetric matrix, or of what is turned by all who
 * use it. */
static wi_grid lower_of(const wi_grid *g) {
    return g->half == WI_HALF_UPPER ? wi_grid_turned(g) : *g;
}

/* Rows that a panel of so many columns has, at most. */
static size_t panel_rows(const wi_grid *g) {
    const size_t row = g->columns * weft_type_size(g->type);
    const size_t rows = wi_read_panel_bytes() / row / step * step;
    return rows < step ? step : rows < g->rows ? rows : g->rows;
}

static size_t panel_bytes(const wi_grid *g) {
    return wi_pieces(panel_rows(g) * g->columns * weft_type_size(g->type), aligned) * aligned;
}

/* Copies a part, all of which is there, to the device as it lies in memory; *part is it there. */
static weft_status bring(weft_context *ctx, wi_grid *part, void *there) {
    const bool by_columns = part->down == 1;
    const size_t lines = by_columns ? part->columns : part->rows;
    const size_t length = by_columns ? part->rows : part->columns;
    const size_t ld = by_columns ? part->across : part->down;
    void *const from = (void *)(uintptr_t)part->p;
    if (lines == 0 || length == 0)
        return WEFT_OK;
    part->p = there;
    (by_columns ? part->across : part->down) = length;
    return wi_host_copy_lines(ctx, "weft_solve", part->type, from, ld, there, length, lines,
                              length);
}

static weft_status copy_within(weft_context *ctx, const wi_grid *g, weft_type type, void *to,
                               size_t ld) {
    return g->rows == 0 || g->columns == 0 ? WEFT_OK : wi_system_on_cuda.copy(ctx, g, type, to, ld);
}

/* to(i, j) = element (first + i, j), as far as a panel's rows of the lower half go, of a grid whose
 * rows and columns before `columns` are in `there`. */
static weft_status copy_lower(weft_context *ctx, const wi_grid *there, size_t first, weft_type type,
                              char *to, size_t ld) {
    const size_t rows = there->rows, beyond = first * ld * weft_type_size(type);
    const wi_grid left = part_of(there, 0, rows, 0, first, WI_HALF_ALL);
    const wi_grid diagonal = part_of(there, 0, rows, first, rows, WI_HALF_LOWER);
    const weft_status status = copy_within(ctx, &left, type, to, ld);
    return status == WEFT_OK ? copy_within(ctx, &diagonal, type, to + beyond, ld) : status;
}

/* ---- copies to the device ---- */

static weft_status copy_panels(weft_context *ctx, const wi_grid *g, weft_type type, char *to,
                               size_t ld, void *raw) {
    const size_t most = panel_rows(g);
    weft_status status = WEFT_OK;
    for (size_t first = 0; first < g->rows && status == WEFT_OK; first += most) {
        const size_t rows = g->rows - first < most ? g->rows - first : most;
        const bool all = g->half == WI_HALF_ALL;
        char *const at = to + first * weft_type_size(type);
        wi_grid part = part_of(g, first, rows, 0, all ? g->columns : first + rows, WI_HALF_ALL);
        status = bring(ctx, &part, raw);
        if (status == WEFT_OK)
            status = all ? copy_within(ctx, &part, type, at, ld)
                         : copy_lower(ctx, &part, first, type, at, ld);
    }
    return status;
}

/* Of a half, the lower one. */
static weft_status copy_columns(weft_context *ctx, const wi_grid *g, weft_type type, void *to,
                                size_t ld) {
    void *raw = NULL;
    if (!is_beyond(ctx, g))
        return wi_system_on_cuda.copy(ctx, g, type, to, ld);
    if (g->columns == 1 || !wi_is_device(ctx, to))
        return copy_on_host(ctx, g, type, to, ld);
    weft_status status = wi_gpu_alloc(ctx, &raw, panel_bytes(g));
    if (status != WEFT_OK)
        return status;
    status = copy_panels(ctx, g, type, (char *)to, ld, raw);
    const weft_status freed = wi_gpu_free(ctx, raw);
    return status == WEFT_OK ? freed : status;
}

/* ---- products ---- */

/* The room of a product: what comes from the host, whole rows of a symmetric matrix, vectors of the
 * panel's rows, and the room of their product. */
typedef struct product_room {
    char *raw, *rows;
    double *c, *r, *size;
    void *within;
} product_room;

static wi_product product_of_panel(const wi_product *p) {
    wi_product panel = *p;
    panel.symmetric = false;
    panel.g.half = WI_HALF_ALL;
    panel.g.rows = panel_rows(&p->g);
    return panel;
}

static size_t vector_bytes(const wi_product *panel) {
    return wi_pieces(panel->g.rows * panel->count * sizeof(double), aligned) * aligned;
}

static product_room divide(const wi_product *p, const wi_product *panel) {
    char *const raw = (char *)p->room, *const rows = raw + panel_bytes(&p->g);
    char *const vectors = rows + (p->symmetric ? panel_bytes(&p->g) : 0);
    const size_t each = vector_bytes(panel);
    return {raw,
            rows,
            (double *)vectors,
            (double *)(vectors + each),
            (double *)(vectors + 2 * each),
            vectors + 3 * each};
}

static size_t room_bytes(const wi_product *p) {
    wi_product panel = product_of_panel(p), turned = panel;
    panel.g.down = 1; /* rows that are made whole are stored down */
    const size_t one = wi_system_room_bytes_cuda(&panel);
    const size_t other = wi_system_room_bytes_cuda(&turned);
    return (p->symmetric ? 2 : 1) * panel_bytes(&p->g) + 3 * vector_bytes(&panel) +
           (one > other ? one : other);
}

/* Whole rows of a symmetric matrix, of which g is the lower half: unscaled, to room.rows. */
static weft_status whole_rows(weft_context *ctx, const wi_grid *g, size_t first, size_t rows,
                              const product_room *room, wi_grid *whole) {
    const size_t width = weft_type_size(g->type), end = first + rows;
    wi_grid left = part_of(g, first, rows, 0, end, WI_HALF_ALL);
    wi_grid below = part_of(g, end, g->rows - end, first, rows, WI_HALF_ALL);
    left.row_power = left.column_power = below.row_power = below.column_power = NULL;
    weft_status status = bring(ctx, &left, room->raw);
    if (status == WEFT_OK)
        status = copy_lower(ctx, &left, first, g->type, room->rows, rows);
    const wi_grid diagonal = part_of(&left, 0, rows, first, rows, WI_HALF_LOWER);
    const wi_grid above = wi_grid_mirrored(&diagonal);
    if (status == WEFT_OK)
        status = copy_within(ctx, &above, g->type, room->rows + first * rows * width, rows);
    if (status == WEFT_OK)
        status = bring(ctx, &below, room->raw);
    const wi_grid right = wi_grid_turned(&below);
    if (status == WEFT_OK)
        status = copy_within(ctx, &right, g->type, room->rows + end * rows * width, rows);
    *whole = part_of(g, first, rows, 0, g->columns, WI_HALF_ALL);
    whole->p = room->rows;
    whole->down = 1;
    whole->across = rows;
    return status;
}

/* Lines of n doubles of which `rows`, from the first on, are those of a panel. */
static weft_status copy_vectors(weft_context *ctx, double *to, size_t to_line, const double *from,
                                size_t from_line, size_t rows, size_t count) {
    return wi_copy_rows(ctx, {(char *)to, to_line * sizeof *to},
                        {(char *)(uintptr_t)from, from_line * sizeof *from}, count,
                        rows * sizeof *to);
}

static weft_status multiply_panel(weft_context *ctx, const wi_product *p, const wi_grid *rows,
                                  size_t first, const product_room *room) {
    const size_t n = p->g.rows, m = rows->rows;
    wi_product panel = *p;
    panel.g = *rows;
    panel.symmetric = false;
    panel.c = p->c ? room->c : NULL;
    panel.r = room->r;
    panel.size = room->size;
    panel.room = room->within;
    weft_status status = WEFT_OK;
    if (p->c)
        status = copy_vectors(ctx, room->c, m, p->c + first, n, m, p->count);
    if (status == WEFT_OK)
        status = wi_system_multiply_cuda(ctx, &panel);
    if (status == WEFT_OK)
        status = copy_vectors(ctx, p->r + first, n, room->r, m, m, p->count);
    if (status == WEFT_OK)
        status = copy_vectors(ctx, p->size + first, n, room->size, m, m, p->count);
    return status;
}

static weft_status multiply(weft_context *ctx, const wi_product *p) {
    const wi_grid g = p->symmetric ? lower_of(&p->g) : p->g;
    const wi_product panel = product_of_panel(p);
    const product_room room = divide(p, &panel);
    const size_t most = panel.g.rows;
    weft_status status = WEFT_OK;
    for (size_t first = 0; first < g.rows && status == WEFT_OK; first += most) {
        const size_t rows = g.rows - first < most ? g.rows - first : most;
        wi_grid part = part_of(&g, first, rows, 0, g.columns, WI_HALF_ALL);
        status = p->symmetric ? whole_rows(ctx, &g, first, rows, &room, &part)
                              : bring(ctx, &part, room.raw);
        if (status == WEFT_OK)
            status = multiply_panel(ctx, p, &part, first, &room);
    }
    return status;
}

void wi_system_streamed(wi_system_place *place) {
    *place = wi_system_on_cuda;
    place->rows_range = streamed_rows;
    place->first_bad = first_bad_streamed;
    place->copy = copy_columns;
    place->multiply = multiply;
    place->room_bytes = room_bytes;
    place->survey = NULL;
}
