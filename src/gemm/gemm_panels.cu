/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices that lie elsewhere, on the host or on other GPUs, piece by piece. While one
 * piece of C is computed, what the next needs of A and B travels to the device and the ones before
 * travel back. A block of columns of B serves all blocks of rows of A, as many of which as fit stay
 * on the device; the next block of columns goes to a second place meanwhile. If even one block of
 * rows does not fit, k is cut too, and C takes in one part of k after another.
 *
 * How pieces are cut depends on the product and on how much memory the device has in all, not on
 * how much is free: so they have the same bits each time. */
#include "core/gpu_limits.h"
#include "core/smaller.h"
#include "core/stage.h"
#include "cuda/limit.cuh"
#include "gemm/gemm_cuda.cuh"

WI_LIMIT(size_t, wi_gemm_panels_from, (size_t)1 << 26) /* bytes of host matrices */
WI_LIMIT(size_t, wi_gemm_panels_least, 1024)           /* rows and columns of a piece */

enum {
    A,
    B,
    C,
    OPERANDS,
    WANTED = 8,       /* pieces along rows, and along columns */
    LEAST_FACTOR = 4, /* a piece has at most so many times the least rows and columns: arithmetic
                         then takes as long as the link needs to bring a block of rows */
    APART_PIECES = 4, /* along rows, where A lies on other GPUs and B and C are here; */
    APART_FACTOR = 2, /* such a piece may be so many times larger */
    B_SLOTS = 2,
    C_SLOTS = 3,
    MOST_SLOTS = 256,
    DEPTH_STEP = 16, /* of parts of k */
    LINE_BYTES = 16
};

/* A place on the device for one block of an operand. */
struct slot {
    char *p;
    size_t holds; /* the block's number; SIZE_MAX: none */
    cudaEvent_t used;
    bool is_used; /* by products up to the event */
};

struct operand {
    const wi_array *array;
    bool on_device;   /* it lies on this GPU, and is read and written there. Else it is copied: */
    bool apart;       /* from other GPUs, whose memory this one reaches; if not, from the host */
    size_t width, ld; /* bytes of an element; elements between lines of a slot */
    slot slots[MOST_SLOTS];
    size_t count;
};

/* A call under way. */
struct panels {
    weft_context *ctx;
    const wi_gemm_args *g;
    cudaStream_t work, side;     /* of products; of copies */
    size_t rows, columns, depth; /* of a piece: of C, and of k */
    operand of[OPERANDS];
};

/* Lines of a matrix as it is stored, the first of them and where in it the block begins. */
struct block {
    size_t first, lines, begin, length;
};

/* ---- copies ---- */

static weft_status copy_rows(weft_context *ctx, const void *user, size_t first, size_t rows,
                             size_t cols, void *const p[], const size_t ld[]) {
    const size_t width = *(const size_t *)user;
    (void)first;
    return wi_stage_queue_rows(ctx, {(char *)p[1], ld[1] * width}, {(char *)p[0], ld[0] * width},
                               rows, cols * width, ctx->gpu->stream);
}

/* Copies a block to a slot, or back; waits for it, but not for products. */
static weft_status cross(const panels *x, const operand *o, const block &b, char *p, bool back) {
    const wi_array *const a = o->array;
    char *const host = (char *)(uintptr_t)a->p + (b.first * a->ld + b.begin) * o->width;
    const wi_operand there = {p, o->width, o->ld * o->width, back, !back};
    const wi_operand here = {host, o->width, a->ld * o->width, !back, back};
    wi_stage_args args = {};
    args.call = "weft_gemm";
    args.rows = b.lines;
    args.cols = b.length;
    args.operand[0] = back ? there : here;
    args.operand[1] = back ? here : there;
    args.operands = 2;
    args.run = copy_rows;
    args.user = &o->width;
    x->ctx->gpu->stream = x->side;
    const weft_status status = wi_stage_run(x->ctx, &args);
    x->ctx->gpu->stream = x->work;
    return status;
}

/* The same from memory of other GPUs, without waiting: products queued from now on start after the
 * copy. */
static weft_status cross_apart(const panels *x, const operand *o, const block &b, char *p) {
    const wi_array *const a = o->array;
    char *const there = (char *)(uintptr_t)a->p + (b.first * a->ld + b.begin) * o->width;
    weft_status status =
        wi_stage_queue_rows(x->ctx, {p, o->ld * o->width}, {there, a->ld * o->width}, b.lines,
                            b.length * o->width, x->side);
    if (status == WEFT_OK)
        status = wi_cuda(x->ctx, cudaEventRecord(x->ctx->gpu->order, x->side),
                         "marking the copy of a piece");
    return status == WEFT_OK ? wi_cuda(x->ctx, cudaStreamWaitEvent(x->work, x->ctx->gpu->order, 0),
                                       "making products wait for a piece")
                             : status;
}

static weft_status make_side_wait(const panels *x, cudaEvent_t event) {
    return wi_cuda(x->ctx, cudaStreamWaitEvent(x->side, event, 0),
                   "making a copy wait for products");
}

/* What is queued now uses the slot. */
static weft_status mark_used(const panels *x, operand *o, size_t at) {
    if (o->on_device)
        return WEFT_OK;
    slot *const s = &o->slots[at];
    s->is_used = true;
    return wi_cuda(x->ctx, cudaEventRecord(s->used, x->work), "marking a piece computed");
}

/* Brings block number `number` of an operand to a slot, unless it is there. */
static weft_status bring(const panels *x, operand *o, size_t at, size_t number, const block &b) {
    slot *const s = &o->slots[at];
    if (o->on_device || s->holds == number)
        return WEFT_OK;
    weft_status status = s->is_used ? make_side_wait(x, s->used) : WEFT_OK;
    if (status == WEFT_OK)
        status = o->apart ? cross_apart(x, o, b, s->p) : cross(x, o, b, s->p, false);
    s->holds = status == WEFT_OK ? number : SIZE_MAX;
    return status;
}

/* ---- one piece ---- */

struct piece {
    size_t i, j, p;      /* where it begins in rows, columns and k */
    size_t m, n, k;      /* its extents */
    size_t at[OPERANDS]; /* its slots */
};

/* The block of an operand that starts at (row, column) of the matrix as it is multiplied. */
static block block_of(size_t row, size_t rows, size_t column, size_t columns, bool transposed) {
    if (transposed)
        return {row, rows, column, columns};
    return {column, columns, row, rows};
}

static block block_of_a(const panels *x, const piece &t) {
    return block_of(t.i, t.m, t.p, t.k, x->g->transposed_a);
}
static block block_of_b(const panels *x, const piece &t) {
    return block_of(t.p, t.k, t.j, t.n, x->g->transposed_b);
}
static block block_of_c(const piece &t) {
    return block_of(t.i, t.m, t.j, t.n, false);
}

/* Where a block is for kernels, and its leading dimension. */
static void *find(const operand *o, size_t at, const block &b, size_t *ld) {
    *ld = o->on_device ? o->array->ld : o->ld;
    char *const whole = (char *)(uintptr_t)o->array->p;
    return o->on_device ? whole + (b.first * *ld + b.begin) * o->width : o->slots[at].p;
}

static weft_status multiply(panels *x, const piece &t) {
    wi_gemm_args g = *x->g;
    g.m = t.m;
    g.n = t.n;
    g.k = t.k;
    g.beta = t.p == 0 ? x->g->beta : 1;
    g.a = find(&x->of[A], t.at[A], block_of_a(x, t), &g.lda);
    g.b = find(&x->of[B], t.at[B], block_of_b(x, t), &g.ldb);
    g.c = find(&x->of[C], t.at[C], block_of_c(t), &g.ldc);
    weft_status status = wi_run(x->ctx, &wi_gemm_ladder, "weft_gemm", g.type, &g);
    for (int k = A; k < OPERANDS && status == WEFT_OK; k++)
        status = mark_used(x, &x->of[k], t.at[k]);
    return status;
}

static weft_status begin_piece(panels *x, const piece &t) {
    const size_t down = wi_gemm_pieces(x->g->m, x->rows),
                 over = wi_gemm_pieces(x->g->n, x->columns);
    const size_t part = t.p / x->depth, i = t.i / x->rows, j = t.j / x->columns;
    weft_status status = bring(x, &x->of[B], t.at[B], part * over + j, block_of_b(x, t));
    if (status == WEFT_OK)
        status = bring(x, &x->of[A], t.at[A], part * down + i, block_of_a(x, t));
    slot *const c = &x->of[C].slots[t.at[C]];
    c->holds = SIZE_MAX;
    if (status == WEFT_OK && (t.p > 0 || x->g->beta != 0))
        status = bring(x, &x->of[C], t.at[C], 0, block_of_c(t));
    return status == WEFT_OK ? multiply(x, t) : status;
}

/* Copies a piece of C back once it is computed. */
static weft_status end_piece(panels *x, const piece &t) {
    const operand *const c = &x->of[C];
    if (c->on_device)
        return WEFT_OK;
    const weft_status status = make_side_wait(x, c->slots[t.at[C]].used);
    return status == WEFT_OK ? cross(x, c, block_of_c(t), c->slots[t.at[C]].p, true) : status;
}

/* ---- all pieces ---- */

/* Pieces that are queued and not yet copied back, oldest first. */
struct queue {
    piece of[C_SLOTS];
    size_t begun, ended;
};

static weft_status end_until(panels *x, queue *q, size_t left) {
    weft_status status = WEFT_OK;
    while (status == WEFT_OK && q->begun - q->ended > left)
        status = end_piece(x, q->of[q->ended++ % C_SLOTS]);
    return status;
}

/* Rows [first, end) of C, whose blocks of A all have a slot, at one part of k. */
static weft_status run_rows(panels *x, queue *q, size_t p, size_t first, size_t end) {
    const wi_gemm_args *const g = x->g;
    const size_t over = wi_gemm_pieces(g->n, x->columns);
    weft_status status = WEFT_OK;
    for (size_t j = 0; j < over && status == WEFT_OK; j++)
        for (size_t i = first; i < end && status == WEFT_OK; i++) {
            const size_t row = i * x->rows, column = j * x->columns;
            const piece t = {row,
                             column,
                             p,
                             wi_smaller(x->rows, g->m - row),
                             wi_smaller(x->columns, g->n - column),
                             wi_smaller(x->depth, g->k - p),
                             {i - first, j % B_SLOTS, q->begun % C_SLOTS}};
            status = begin_piece(x, t);
            q->of[q->begun++ % C_SLOTS] = t;
            if (status == WEFT_OK)
                status = end_until(x, q, C_SLOTS - 1);
        }
    return status;
}

static weft_status run_all(panels *x) {
    const size_t down = wi_gemm_pieces(x->g->m, x->rows);
    const size_t kept = x->of[A].on_device ? down : x->of[A].count;
    queue q = {};
    weft_status status = WEFT_OK;
    for (size_t p = 0; p < x->g->k && status == WEFT_OK; p += x->depth) {
        for (size_t i = 0; i < down && status == WEFT_OK; i += kept)
            status = run_rows(x, &q, p, i, wi_smaller(i + kept, down));
        if (status == WEFT_OK)
            status = end_until(x, &q, 0); /* the next part of k reads C again */
    }
    return status;
}

/* ---- memory ---- */

/* Elements between lines of a slot, so that each begins at a multiple of 16 bytes. */
static size_t padded(size_t length, size_t width) {
    return wi_gemm_pieces(length * width, LINE_BYTES) * LINE_BYTES / width;
}

static size_t slot_bytes(const panels *x, int k) {
    const bool by_row = (k == A && x->g->transposed_a) || (k == B && x->g->transposed_b);
    const size_t rows = k == B ? x->depth : x->rows, columns = k == A ? x->depth : x->columns;
    const size_t width = x->of[k].width;
    return by_row ? rows * padded(columns, width) * width : columns * padded(rows, width) * width;
}

/* How many rows and columns a piece has. If only A is copied, C is not cut by columns, and is cut
 * into a few large pieces by rows. */
static void choose_sides(panels *x) {
    const size_t smallest = wi_gemm_panels_least, largest = smallest * LEAST_FACTOR;
    const size_t longest = x->g->m > x->g->n ? x->g->m : x->g->n;
    size_t side = wi_gemm_pieces(longest, WANTED * smallest / 4) * (smallest / 4);
    side = side < smallest ? smallest : wi_smaller(side, largest);
    x->rows = wi_smaller(side, x->g->m);
    x->columns = wi_smaller(side, x->g->n);
    if (!x->of[A].apart || !x->of[B].on_device || !x->of[C].on_device)
        return;
    x->columns = x->g->n;
    x->rows = wi_smaller(largest * APART_FACTOR,
                         wi_gemm_pieces(x->g->m, APART_PIECES * smallest / 4) * (smallest / 4));
    x->rows = wi_smaller(x->rows < smallest ? smallest : x->rows, x->g->m);
}

static size_t slots_bytes(const panels *x) {
    const size_t each[OPERANDS] = {1, B_SLOTS, C_SLOTS};
    size_t bytes = 0;
    for (int k = A; k < OPERANDS; k++)
        bytes += x->of[k].on_device ? 0 : each[k] * slot_bytes(x, k);
    return bytes;
}

/* Pieces such that there are several in each direction; k is cut only if the least number of slots
 * would take more than half of the device's memory. */
static void cut(panels *x, size_t memory) {
    choose_sides(x);
    x->depth = x->g->k;
    while (slots_bytes(x) > memory / 2 && x->depth > DEPTH_STEP)
        x->depth = wi_gemm_pieces(x->depth / 2, DEPTH_STEP) * DEPTH_STEP;
    for (int k = A; k < OPERANDS; k++) {
        const bool by_row = (k == A && x->g->transposed_a) || (k == B && x->g->transposed_b);
        x->of[k].ld =
            padded(by_row ? (k == A ? x->depth : x->columns) : (k == B ? x->depth : x->rows),
                   x->of[k].width);
    }
}

static weft_status add_slot(panels *x, int k) {
    operand *const o = &x->of[k];
    slot *const s = &o->slots[o->count];
    *s = {NULL, SIZE_MAX, NULL, false};
    weft_status status = wi_gpu_alloc(x->ctx, (void **)&s->p, slot_bytes(x, k));
    if (status != WEFT_OK)
        return status;
    o->count++;
    return wi_cuda(x->ctx, cudaEventCreateWithFlags(&s->used, cudaEventDisableTiming),
                   "making an event for a piece");
}

/* Takes memory for slots: for C and B as many as they need, and for A as many as leave an eighth of
 * the device's memory free, but at least one. */
static weft_status take_slots(panels *x, size_t memory) {
    const size_t down = wi_gemm_pieces(x->g->m, x->rows);
    const size_t most[OPERANDS] = {wi_smaller(down, MOST_SLOTS), B_SLOTS, C_SLOTS};
    weft_status status = WEFT_OK;
    for (int k = C; k >= A; k--)
        for (size_t q = 0; q < most[k] && !x->of[k].on_device && status == WEFT_OK; q++) {
            if (k == A && q > 0 && wi_gpu_free_bytes(x->ctx) < slot_bytes(x, A) + memory / WANTED)
                return WEFT_OK;
            status = add_slot(x, k);
        }
    return status;
}

/* The last step of a copy to the device is a kernel. So the stream of copies has the highest
 * priority: else that kernel would wait until a whole product has ended. */
static weft_status open_side(panels *x) {
    int lowest = 0, highest = 0;
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&lowest, &highest);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithPriority(&x->side, cudaStreamNonBlocking, highest);
    return wi_cuda(x->ctx, error, "making a stream for copies");
}

static weft_status open_panels(panels *x) {
    size_t free_bytes = 0, memory = 0;
    weft_status status =
        wi_cuda(x->ctx, cudaMemGetInfo(&free_bytes, &memory), "asking for the device's memory");
    if (status != WEFT_OK)
        return status;
    cut(x, memory);
    status = open_side(x);
    if (status == WEFT_OK)
        status = take_slots(x, memory);
    if (status == WEFT_OK)
        status = wi_cuda(x->ctx, cudaEventRecord(x->ctx->gpu->order, x->work),
                         "marking the work queued so far");
    return status == WEFT_OK ? make_side_wait(x, x->ctx->gpu->order) : status;
}

/* Waits after a failure, so that the caller may free or reuse its arrays. */
static weft_status close_panels(panels *x, weft_status status) {
    if (status != WEFT_OK) {
        cudaStreamSynchronize(x->work);
        if (x->side)
            cudaStreamSynchronize(x->side);
    }
    for (int k = A; k < OPERANDS; k++)
        for (size_t q = 0; q < x->of[k].count; q++) {
            const weft_status freed = wi_gpu_free(x->ctx, x->of[k].slots[q].p);
            status = status == WEFT_OK ? freed : status;
            if (x->of[k].slots[q].used)
                cudaEventDestroy(x->of[k].slots[q].used);
        }
    if (x->side)
        cudaStreamDestroy(x->side);
    return status;
}

/* Is most of a matrix that is only read on other GPUs? Kernels could read it there, but would do so
 * once for every tile of C. */
static bool is_apart(const weft_context *ctx, const wi_array *a) {
    return !(a->use & WI_OUT) && wi_dealt_apart(ctx, a->p, a->bytes) > a->bytes / WANTED;
}

bool wi_gemm_wants_panels(const weft_context *ctx, const wi_call *call, const wi_gemm_args *g) {
    size_t bytes = 0;
    for (int k = A; k < OPERANDS && ctx->kind == WI_CUDA && g->k > 0; k++) {
        const wi_array *const a = &call->array[k];
        if (a->bytes >= wi_gemm_panels_from / OPERANDS &&
            (!wi_is_device(ctx, a->p) || is_apart(ctx, a)))
            bytes += a->rows * a->cols * a->width;
    }
    return bytes >= wi_gemm_panels_from && !wi_gpu_capturing(ctx);
}

weft_status wi_gemm_in_panels(weft_context *ctx, const wi_call *call, const wi_gemm_args *g) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    panels *const x = (panels *)wi_host_alloc(sizeof *x);
    if (x) {
        *x = {};
        x->ctx = ctx;
        x->g = g;
        x->work = ctx->gpu->stream;
        for (int k = A; k < OPERANDS; k++) {
            x->of[k].array = &call->array[k];
            x->of[k].width = call->array[k].width;
            x->of[k].apart = is_apart(ctx, &call->array[k]);
            x->of[k].on_device = !x->of[k].apart && wi_is_device(ctx, call->array[k].p);
        }
        status = open_panels(x);
        if (status == WEFT_OK)
            status = run_all(x);
        status = close_panels(x, status);
        wi_host_free(x);
    } else {
        status = wi_fail(ctx, WEFT_ENOMEM, "weft_gemm: no host memory for %zu bytes", sizeof *x);
    }
    wi_gpu_leave(ctx, before);
    return status;
}
