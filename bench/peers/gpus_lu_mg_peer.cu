/* SPDX-License-Identifier: Apache-2.0 */
/* Races lu over all GPUs of a machine against cuSOLVERMg, NVIDIA's library for the GPUs of one
 * process, in turns, on the same random matrices of f64: one JSON object for each rung. The peer's
 * columns are dealt out in blocks of several widths, of which the fastest counts. All factors of
 * the last turn are checked by the residual of a system that is solved with them, each library's by
 * its own solver; a wrong answer ends the program with status 1. With one GPU, both use that.
 *
 *   gpus_lu_mg_peer [N ...]               of order N (32768 49152)
 *
 * The first GPU holds the matrix, of 8 n^2 bytes; p GPUs take about 32 n^2 / p bytes each for what
 * is factored and for weft's temporary memory, and what cuSOLVERMg asks for. */
#define DISABLE_CUSOLVERMG_DEPRECATED /* the header of CUDA 13 marks every function so */
#include <cusolverMg.h>

#include <memory>
#include <vector>

#include "cusolver.cuh"
#include "gpus_lu.h"

constexpr int samples = 3, widths[] = {256, 512, 1024}, widest = 1024;

/* ---- the devices ---- */

static void wait_for_all(int devices) {
    for (int d = devices; d-- > 0;) { /* the first one stays current */
        CUDA(cudaSetDevice(d));
        CUDA(cudaDeviceSynchronize());
    }
}

/* Lets each device access the memory of all others, where it can. */
static void open_to_each_other(int devices) {
    for (int d = 0; d < devices; d++)
        for (int other = 0; other < devices; other++) {
            int can = 0;
            if (d != other)
                CUDA(cudaDeviceCanAccessPeer(&can, d, other));
            if (!can)
                continue;
            CUDA(cudaSetDevice(d));
            const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
            if (error == cudaErrorPeerAccessAlreadyEnabled)
                cudaGetLastError(); /* weft has done it */
            else
                CUDA(error);
        }
    CUDA(cudaSetDevice(0));
}

/* n elements on each device. */
template <class T>
struct on_each {
    std::vector<T *> p;
    on_each(int devices, size_t n) : p((size_t)devices) {
        for (int d = devices; d-- > 0;) {
            CUDA(cudaSetDevice(d));
            CUDA(cudaMalloc((void **)&p[(size_t)d], n * sizeof(T)));
        }
    }
    ~on_each() {
        for (T *memory : p)
            cudaFree(memory);
    }
    on_each(const on_each &) = delete;
    on_each &operator=(const on_each &) = delete;

    void **all() {
        return (void **)p.data();
    }
};

/* ---- the peer ---- */

/* One way to deal out columns: block k of `width` columns is on device k modulo their number. */
struct dealing {
    int width;
    cudaLibMgMatrixDesc_t a = nullptr, b = nullptr;
    int64_t work = 0; /* numbers on each device */
    bool refused = false;
    std::vector<double> seconds = {};
    double ratio = 0;
};

/* Factors matrices of one order, with memory that it took before. */
struct mg_solver {
    static constexpr cudaDataType type = CUDA_R_64F;
    int n, devices;
    std::vector<int> ids;
    cusolverMgHandle_t handle = nullptr;
    cudaLibMgGrid_t grid = nullptr;
    std::vector<dealing> dealings;
    on_each<double> a, b; /* both by whole blocks of columns */
    on_each<int> pivots;  /* dealt out as the columns are */
    std::unique_ptr<on_each<double>> work;

    /* How many columns a device holds at most, whatever the width. */
    static size_t columns(int n, int devices) {
        size_t most = 0;
        for (int width : widths) {
            const int blocks = (n + width - 1) / width;
            most = std::max(most, (size_t)((blocks + devices - 1) / devices) * (size_t)width);
        }
        return most;
    }

    mg_solver(int n_, int devices_)
        : n(n_), devices(devices_), a(devices, columns(n, devices) * (size_t)n),
          b(devices, (size_t)n * widest), pivots(devices, columns(n, devices)) {
        int64_t most = 1;
        for (int d = 0; d < devices; d++)
            ids.push_back(d);
        SOLVER(cusolverMgCreate(&handle));
        SOLVER(cusolverMgDeviceSelect(handle, devices, ids.data()));
        SOLVER(cusolverMgCreateDeviceGrid(&grid, 1, devices, ids.data(),
                                          CUDALIBMG_GRID_MAPPING_COL_MAJOR));
        for (int width : widths) {
            dealings.push_back({width});
            describe(dealings.back());
            most = std::max(most, dealings.back().work);
        }
        work.reset(new on_each<double>(devices, (size_t)most));
        wait_for_all(devices);
    }
    ~mg_solver() {
        for (dealing &d : dealings) {
            cusolverMgDestroyMatrixDesc(d.a);
            cusolverMgDestroyMatrixDesc(d.b);
        }
        cusolverMgDestroyGrid(grid);
        cusolverMgDestroy(handle);
        cudaSetDevice(0);
    }
    mg_solver(const mg_solver &) = delete;
    mg_solver &operator=(const mg_solver &) = delete;

    void refuse(dealing &d, cusolverStatus_t status, int info) {
        fprintf(stderr, "peer: cuSOLVERMg refuses blocks of %d columns: status %d, info %d\n",
                d.width, (int)status, info);
        d.refused = true;
    }

    void describe(dealing &d) {
        int64_t to_factor = 0, to_solve = 0;
        SOLVER(cusolverMgCreateMatrixDesc(&d.a, n, n, n, d.width, type, grid));
        SOLVER(cusolverMgCreateMatrixDesc(&d.b, n, 1, n, d.width, type, grid));
        cusolverStatus_t status = cusolverMgGetrf_bufferSize(handle, n, n, a.all(), 1, 1, d.a,
                                                             pivots.p.data(), type, &to_factor);
        if (status == CUSOLVER_STATUS_SUCCESS)
            status =
                cusolverMgGetrs_bufferSize(handle, CUBLAS_OP_N, n, 1, a.all(), 1, 1, d.a,
                                           pivots.p.data(), b.all(), 1, 1, d.b, type, &to_solve);
        d.work = std::max(to_factor, to_solve);
        if (status != CUSOLVER_STATUS_SUCCESS)
            refuse(d, status, 0);
    }

    /* Deals out a matrix that lies on one device. */
    void deal(const dealing &d, const double *matrix) {
        const size_t rows = (size_t)n, width = (size_t)d.width;
        for (size_t k = 0; k * width < rows; k++) {
            const size_t device = k % (size_t)devices, column = k / (size_t)devices * width;
            const size_t count = std::min(width, rows - k * width);
            CUDA(cudaSetDevice((int)device));
            CUDA(cudaMemcpyAsync(a.p[device] + column * rows, matrix + k * width * rows,
                                 count * rows * sizeof *matrix, cudaMemcpyDefault));
        }
        wait_for_all(devices);
    }

    /* Factors what was dealt out, and keeps the time, but not of the turn that warms up. */
    void factor(dealing &d, bool keep) {
        int info = 0;
        const double begin = now();
        const cusolverStatus_t status = cusolverMgGetrf(
            handle, n, n, a.all(), 1, 1, d.a, pivots.p.data(), type, work->all(), d.work, &info);
        wait_for_all(devices);
        if (keep)
            d.seconds.push_back(now() - begin);
        if (status != CUSOLVER_STATUS_SUCCESS || info < 0)
            refuse(d, status, info);
        else if (info > 0) {
            fprintf(stderr, "peer: cuSOLVERMg finds pivot %d to be 0\n", info);
            exit(1);
        }
    }

    /* What A \ rhs is by the factors of the last run. */
    std::vector<double> solve(const dealing &d, const std::vector<double> &rhs) {
        std::vector<double> x(rhs.size());
        int info = 0;
        CUDA(cudaMemcpy(b.p[0], rhs.data(), x.size() * sizeof(double), cudaMemcpyDefault));
        wait_for_all(devices);
        SOLVER(cusolverMgGetrs(handle, CUBLAS_OP_N, n, 1, a.all(), 1, 1, d.a, pivots.p.data(),
                               b.all(), 1, 1, d.b, type, work->all(), d.work, &info));
        wait_for_all(devices);
        CUDA(cudaMemcpy(x.data(), b.p[0], x.size() * sizeof(double), cudaMemcpyDefault));
        return x;
    }
};

/* ---- the race ---- */

/* A rung of weft's. */
struct entrant {
    const char *rung;
    std::vector<double> seconds = {};
    double ratio = 0;
};

static void run_ours(const side &all, const side &one, size_t n, bool keep, bool check_it,
                     const std::vector<double> &b, entrant &e) {
    check(&all, weft_use(all.ctx, "lu", e.rung));
    check(&all, weft_copy(all.ctx, all.a, one.b, n * n * sizeof *one.b));
    check(&all, weft_sync(all.ctx));
    const double begin = now();
    check(&all, weft_lu_factor(all.ctx, 0, WEFT_F64, n, n, all.a, n, all.pivot));
    if (keep)
        e.seconds.push_back(now() - begin);
    if (check_it)
        e.ratio = residual_of_factors(&all, &one, n, b.data());
}

static void run_theirs(mg_solver &peer, const side &one, size_t n, bool keep, bool check_it,
                       const std::vector<double> &b, dealing &d) {
    peer.deal(d, one.b);
    peer.factor(d, keep);
    if (check_it && !d.refused)
        d.ratio = residual(&one, n, peer.solve(d, b).data(), b.data());
}

static bool print(const side &all, size_t n, entrant &e, const dealing &peer, double peer_seconds) {
    const double seconds = median(e.seconds.data(), e.seconds.size());
    const bool right = e.ratio <= RATIO;
    printf("{\"op\": \"lu\", \"variant\": \"%s\", \"n\": %zu, \"type\": \"f64\", \"place\": "
           "\"%s\", \"comm\": \"%s\", \"seconds\": %.6e, \"TF_per_s\": %.2f, \"residual\": %.3g, "
           "\"peer\": \"cuSOLVERMg\", \"peer_block\": %d, \"peer_seconds\": %.6e, "
           "\"peer_TF_per_s\": %.2f, \"peer_residual\": %.3g, \"times\": %.3f%s}\n",
           e.rung, n, weft_place(all.ctx), weft_comm(all.ctx), seconds, lu_rate(n, seconds),
           e.ratio, peer.width, peer_seconds, lu_rate(n, peer_seconds), peer.ratio,
           peer_seconds / seconds, right ? "" : ", \"wrong\": 1");
    fflush(stdout);
    return right;
}

/* The fastest dealing and its time; NULL if cuSOLVERMg refused all. Whether all that ran were right
 * goes to *right. */
static const dealing *fastest(mg_solver &peer, double *seconds, bool *right) {
    const dealing *best = nullptr;
    for (dealing &d : peer.dealings) {
        if (d.refused)
            continue;
        const double own = median(d.seconds.data(), d.seconds.size());
        if (!(d.ratio <= RATIO)) {
            fprintf(stderr, "peer: cuSOLVERMg by blocks of %d columns is wrong: residual %g\n",
                    d.width, d.ratio);
            *right = false;
        }
        if (!best || own < *seconds) {
            best = &d;
            *seconds = own;
        }
    }
    return best;
}

static bool race_order(side *all, side *one, size_t n, int devices) {
    std::vector<entrant> ours = {{"ranks"}, {"ranks_blocks"}};
    std::vector<double> b(n);
    device_array<double> matrix(n * n);
    double peer_seconds = 0;
    bool right = true;
    fill_reals(matrix.p, n * n, n);
    for (size_t i = 0; i < n; i++)
        b[i] = draw_real(n, n * n + i);
    one->b = matrix.p;
    take(all, n);
    mg_solver peer((int)n, devices);
    for (int turn = 0; turn <= samples; turn++) {
        const bool keep = turn > 0, last = turn == samples;
        for (entrant &e : ours)
            run_ours(*all, *one, n, keep, last, b, e);
        for (dealing &d : peer.dealings)
            if (!d.refused)
                run_theirs(peer, *one, n, keep, last, b, d);
    }
    const dealing *const best = fastest(peer, &peer_seconds, &right);
    if (best)
        for (entrant &e : ours)
            right = print(*all, n, e, *best, peer_seconds) && right;
    give(all);
    return best && right;
}

int main(int argc, char **argv) {
    std::vector<size_t> orders = {32768, 49152};
    side one = {}, all = {};
    int devices = 0;
    bool right = true;
    if (argc > 1)
        orders.clear();
    for (int k = 1; k < argc; k++)
        orders.push_back(strtoull(argv[k], NULL, 10));
    open_side(&one, "gpu:0");
    open_side(&all, "gpus");
    CUDA(cudaGetDeviceCount(&devices));
    open_to_each_other(devices);
    for (size_t n : orders)
        right = race_order(&all, &one, n, devices) && right;
    weft_close(one.ctx);
    weft_close(all.ctx);
    return right ? 0 : 1;
}
