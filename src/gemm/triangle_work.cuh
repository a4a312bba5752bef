/* SPDX-License-Identifier: Apache-2.0 */
/* A call of trsm or trmm on a GPU: which shape of panel, the memory, and the kernels and products
 * that do some of its rows. */
#ifndef WI_TRIANGLE_WORK_CUH
#define WI_TRIANGLE_WORK_CUH

#include "gemm/triangle_cuda.cuh"

/* How panels of a call are gone through. */
struct wi_triangle_way {
    bool is_narrow, by_tensor_cores;
};

template <class Shape>
bool wi_triangle_has_room(const weft_context *ctx) {
    return wi_triangle_panel<Shape>::shared_bytes <= ctx->gpu->shared_optin;
}

template <class T>
wi_triangle_way wi_triangle_choose(const weft_context *ctx, const wi_triangle *t) {
    const size_t units = (size_t)ctx->gpu->multiprocessors;
    if (std::is_same_v<T, double> && wi_triangle_has_room<wi_triangle_tensor_wide>(ctx))
        return {wi_gemm_pieces(t->count, wi_triangle_tensor_narrow::columns) <= units, true};
    return {wi_gemm_pieces(t->count, wi_triangle_wide<T>::columns) < units &&
                wi_triangle_has_room<wi_triangle_narrow<T>>(ctx),
            false};
}

/* A call under way. */
template <class T>
struct wi_triangle_work {
    weft_context *ctx;
    const wi_triangle *t;
    T *diagonal; /* its blocks, one after another; to solve, wi_triangle_inverses */
    wi_triangle_way way;

    size_t blocks() const {
        return wi_gemm_pieces(t->order, wi_triangle_side);
    }
    /* f(a value of the shape) */
    template <class F>
    auto with_shape(const F &f) const {
        if constexpr (std::is_same_v<T, double>)
            if (way.by_tensor_cores)
                return way.is_narrow ? f(wi_triangle_tensor_narrow{})
                                     : f(wi_triangle_tensor_wide{});
        return way.is_narrow ? f(wi_triangle_narrow<T>{}) : f(wi_triangle_wide<T>{});
    }
    /* Rows of which kernels here do all; beyond that, gemm does the rest. */
    size_t rows() const {
        return with_shape([](auto shape) { return decltype(shape)::rows; });
    }
    /* X(rows) = alpha T(rows, others) X(others) + beta X(rows) */
    weft_status multiply(wi_rows_part part, wi_rows_part others, double alpha, double beta) const {
        const wi_gemm_args g = wi_triangle_part(t, part, others, alpha, beta);
        return wi_pick(ctx, &wi_gemm_ladder, g.type, &g)->run(ctx, &g);
    }
    /* At most rows() of them, from a multiple of that on. */
    template <bool solves>
    weft_status run_rows(wi_rows_part part, T alpha) const {
        wi_triangle_params<T> p = wi_triangle_typed(t, part, alpha);
        const size_t before = part.first / wi_triangle_side;
        p.diagonal = diagonal + before * wi_triangle_block;
        if (solves) {
            const wi_triangle_inverses<T> known(diagonal, blocks());
            p.blocks = known.block + before * wi_triangle_block;
            p.conditions = known.condition + before;
        }
        return with_shape([&](auto shape) {
            using Shape = decltype(shape);
            return WEFT_LAUNCH((wi_triangle_panels<Shape, solves>), ctx,
                               (unsigned)wi_gemm_pieces(p.count, Shape::columns), Shape::threads,
                               wi_triangle_panel<Shape>::shared_bytes, p);
        });
    }
};

/* Bytes of temporary memory: what the products take at once, and the blocks on the diagonal. */
template <class T>
size_t wi_triangle_product_bytes(const weft_context *ctx, const wi_triangle *t) {
    const wi_triangle_work<T> work = {(weft_context *)ctx, t, NULL, wi_triangle_choose<T>(ctx, t)};
    return wi_triangle_bytes(ctx, t, {0, t->order}, work.rows(), wi_gemm_most_bytes);
}
template <class T>
size_t wi_triangle_diagonal_bytes(const wi_triangle *t, bool solves) {
    const size_t blocks = wi_gemm_pieces(t->order, wi_triangle_side);
    return solves ? wi_triangle_inverses<T>::bytes(blocks) : blocks * wi_triangle_block * sizeof(T);
}

/* Takes all memory that the call needs, and runs `body`: it prepares the blocks on the diagonal,
 * and does the rest. */
template <class T, bool solves, class F>
weft_status wi_triangle_queue(weft_context *ctx, const wi_triangle *t, const F &body) {
    wi_triangle_work<T> work = {ctx, t, NULL, wi_triangle_choose<T>(ctx, t)};
    const size_t bytes = wi_triangle_product_bytes<T>(ctx, t);
    weft_status status =
        wi_gpu_alloc(ctx, (void **)&work.diagonal, wi_triangle_diagonal_bytes<T>(t, solves));
    if (status != WEFT_OK)
        return status;
    if (bytes > 0)
        status = wi_gpu_reserve(ctx, bytes);
    if (status == WEFT_OK) {
        status = body(work);
        const weft_status released = bytes > 0 ? wi_gpu_release(ctx) : WEFT_OK;
        status = status == WEFT_OK ? released : status;
    }
    const weft_status freed = wi_gpu_free(ctx, work.diagonal);
    return status == WEFT_OK ? freed : status;
}

#endif
