/* SPDX-License-Identifier: Apache-2.0 */
/* Races the sparse Cholesky solver on a GPU against cuDSS 1.x, in its usual and its deterministic
 * mode: analysis, first factor, factor again, and solves with 1 and 64 right-hand sides, on
 * problems that the program generates, or on positive definite matrices from files (Matrix Market).
 * One JSON object a line.
 *   sparse_gpu_peer [OPTION]... [quick]           quick: without laplace3d 110 and laplace2d 2000
 *   sparse_gpu_peer [OPTION]... FILE.mtx laplace2d=1000 ...
 * Options: ordering=NAME: weft orders by NAME (dissect, ...), and not as it chooses.
 * factorizations=COUNT: it chooses for a plan that is factored so often. trace=PATH:
 * weft writes timelines of more factorizations to PATH and the rung's name.
 * cuDSS is loaded when the program runs, from libcudss.so.1 or the path in WEFT_CUDSS; without it
 * only weft is measured. WEFT_CUDSS_THREADS may name its threading layer,
 * libcudss_mtlayer_gomp.so.1. */
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include <chrono>
#include <string>

#include "core/gpu.h"
#include "peer.cuh"
#include "sparse/chol.h"
#include "sparse/generate.h"

constexpr int repeats = 7, sides = 64;

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/* Seconds of one run, all of whose work is done at its end. */
template <class Run>
static double seconds_of(Run run) {
    CUDA(cudaDeviceSynchronize());
    const double begin = now();
    run();
    CUDA(cudaDeviceSynchronize());
    return now() - begin;
}

template <class Run>
static double median_of(Run run) {
    double seconds[repeats];
    for (double &s : seconds)
        s = seconds_of(run);
    std::sort(seconds, seconds + repeats);
    return seconds[repeats / 2];
}

struct problem {
    std::string name;
    weft_context *ctx;
    weft_sparse *matrix;
    size_t rows;
    std::vector<double> b, x;
};

/* max |b - A x| / max |b|, of the first column. */
static double residual(problem &p) {
    std::vector<double> y(p.rows);
    double most = 0;
    check_weft(p.ctx,
               weft_sparse_multiply(p.ctx, p.matrix, 1, p.x.data(), p.rows, y.data(), p.rows));
    for (size_t i = 0; i < p.rows; i++)
        most = fmax(most, fabs(p.b[i] - y[i]));
    return most;
}

static size_t device_bytes_used() {
    size_t left, all;
    CUDA(cudaMemGetInfo(&left, &all));
    return all - left;
}

/* ---- weft ---- */

static const char *trace_path; /* or NULL */
static double factorizations;  /* that weft is told to expect */

static void race_rung(problem &p, weft_chol *plan, const char *rung) {
    check_weft(p.ctx, weft_use(p.ctx, "sparse", rung));
    const double first =
        seconds_of([&] { check_weft(p.ctx, weft_chol_factor(p.ctx, plan, p.matrix)); });
    const double again =
        median_of([&] { check_weft(p.ctx, weft_chol_factor(p.ctx, plan, p.matrix)); });
    /* values in device memory, where cuDSS has them */
    const size_t entries = weft_sparse_entries(p.matrix);
    const device_array<double> value(entries);
    CUDA(cudaMemcpy(value.p, weft_sparse_values(p.matrix), entries * sizeof(double),
                    cudaMemcpyDefault));
    const auto factor_there = [&] {
        check_weft(p.ctx, weft_chol_factor_values(p.ctx, plan, p.matrix, value.p));
    };
    const double there = median_of(factor_there);
    if (trace_path) {
        check_weft(p.ctx,
                   weft_trace_begin(p.ctx, (trace_path + ("." + p.name + "." + rung)).c_str()));
        factor_there();
        check_weft(p.ctx, weft_chol_factor(p.ctx, plan, p.matrix));
        check_weft(p.ctx, weft_trace_end(p.ctx));
    }
    weft_chol_report report = {};
    report.size = sizeof report;
    check_weft(p.ctx, weft_chol_get_report(p.ctx, plan, &report));
    printf("{\"problem\":\"%s\",\"library\":\"weft\",\"variant\":\"%s\",\"first_factor_s\":%.6f,"
           "\"refactor_s\":%.6f,\"refactor_there_s\":%.6f,\"refactor_gflops\":%.1f}\n",
           p.name.c_str(), rung, first, again, there, 1e-9 * report.flops / there);
    fflush(stdout);
}

static void race_solves(problem &p, weft_chol *plan) {
    weft_chol_report report = {};
    report.size = sizeof report;
    const auto solve = [&](size_t count, const double *b, double *x) {
        check_weft(p.ctx,
                   weft_chol_solve(p.ctx, plan, p.matrix, nullptr, count, b, p.rows, x, p.rows));
    };
    solve(sides, p.b.data(), p.x.data());
    const double many = median_of([&] { solve(sides, p.b.data(), p.x.data()); });
    const double one = median_of([&] { solve(1, p.b.data(), p.x.data()); });
    /* right-hand sides and solutions in device memory, where cuDSS has them */
    const device_array<double> b(p.b.size()), x(p.x.size());
    CUDA(cudaMemcpy(b.p, p.b.data(), p.b.size() * sizeof(double), cudaMemcpyDefault));
    const double many_there = median_of([&] { solve(sides, b.p, x.p); });
    const double one_there = median_of([&] { solve(1, b.p, x.p); });
    /* the substitutions alone, with y already on the host */
    const double plain =
        median_of([&] { check_weft(p.ctx, wi_chol_substitute(p.ctx, plan, 1, true, true)); });
    check_weft(p.ctx, weft_chol_get_report(p.ctx, plan, &report));
    solve(1, p.b.data(), p.x.data());
    printf("{\"problem\":\"%s\",\"library\":\"weft\",\"solve_s\":%.6f,\"solve_64_s\":%.6f,"
           "\"solve_there_s\":%.6f,\"solve_64_there_s\":%.6f,\"substitution_s\":%.6f,"
           "\"backward_error\":%.2g,\"residual\":%.2g}\n",
           p.name.c_str(), one, many, one_there, many_there, plain, report.backward_error,
           residual(p));
    fflush(stdout);
}

static void race_weft(problem &p) {
    weft_chol *plan = nullptr;
    weft_chol_report report = {};
    report.size = sizeof report;
    weft_chol_options options = {};
    options.size = sizeof options;
    options.factorizations = factorizations;
    const size_t before = device_bytes_used();
    const double analysis =
        seconds_of([&] { check_weft(p.ctx, weft_chol_analyze(p.ctx, p.matrix, &options, &plan)); });
    check_weft(p.ctx, weft_chol_get_report(p.ctx, plan, &report));
    const size_t foretold = report.device_bytes_needed;
    const double reserve =
        seconds_of([&] { check_weft(p.ctx, weft_chol_reserve(p.ctx, plan, 1)); });
    const size_t held = device_bytes_used() - before;
    printf("{\"problem\":\"%s\",\"library\":\"weft\",\"rows\":%zu,\"nnz_l\":%zu,"
           "\"nnz_l_stored\":%zu,\"supernodes\":%zu,\"flops\":%.4g,\"order_s\":%.4f,"
           "\"analysis_s\":%.4f,\"reserve_s\":%.4f,\"device_bytes_foretold\":%zu,"
           "\"device_bytes_held\":%zu}\n",
           p.name.c_str(), p.rows, report.nnz_l, report.nnz_l_stored, report.supernodes,
           report.flops, report.order_seconds, analysis, reserve, foretold, held);
    fflush(stdout);
    race_rung(p, plan, "batched");
    race_rung(p, plan, "overlapped");
    if (p.ctx->gpu->capability >= 90)
        race_rung(p, plan, "clusters");
    race_rung(p, plan, "rising");
    if (report.flops < 1e9)
        race_rung(p, plan, "levels");
    race_rung(p, plan, "batched");
    race_solves(p, plan);
    weft_chol_destroy(plan);
}

/* ---- cuDSS, as its header declares it ---- */

namespace cudss {

constexpr int reordering = 1, symbolic = 2, factorization = 4, refactorization = 8, solve = 0x3f0;
constexpr int positive_definite = 3, upper = 2, base_zero = 0, by_columns = 0;
constexpr int lu_nnz = 1, deterministic_mode = 24; /* of data, and of a configuration */

static void *library() {
    const char *const path = getenv("WEFT_CUDSS");
    static void *const opened = dlopen(path ? path : "libcudss.so.1", RTLD_NOW | RTLD_GLOBAL);
    return opened;
}

template <class... Arguments>
static void call(const char *name, Arguments... arguments) {
    typedef int function(Arguments...);
    function *const f = (function *)dlsym(library(), name);
    const int status = f ? f(arguments...) : -1;
    if (status == 0)
        return;
    fprintf(stderr, "peer: %s: cuDSS status %d\n", name, status);
    exit(1);
}

/* The matrix by rows of its upper half, which is what weft holds by columns of the lower one. */
struct arrays {
    device_array<int> start, column;
    device_array<double> value, b, x;

    explicit arrays(const problem &p)
        : start(p.rows + 1), column(weft_sparse_entries(p.matrix)),
          value(weft_sparse_entries(p.matrix)), b(p.rows * sides), x(p.rows * sides) {
        const size_t entries = weft_sparse_entries(p.matrix);
        std::vector<int> starts(p.rows + 1), columns(entries);
        for (size_t k = 0; k <= p.rows; k++)
            starts[k] = (int)weft_sparse_starts(p.matrix)[k];
        for (size_t k = 0; k < entries; k++)
            columns[k] = (int)weft_sparse_row_indices(p.matrix)[k];
        CUDA(cudaMemcpy(start.p, starts.data(), starts.size() * sizeof(int), cudaMemcpyDefault));
        CUDA(cudaMemcpy(column.p, columns.data(), entries * sizeof(int), cudaMemcpyDefault));
        CUDA(cudaMemcpy(value.p, weft_sparse_values(p.matrix), entries * sizeof(double),
                        cudaMemcpyDefault));
        CUDA(cudaMemcpy(b.p, p.b.data(), p.b.size() * sizeof(double), cudaMemcpyDefault));
    }
};

struct solver {
    void *handle = nullptr, *config = nullptr, *data = nullptr, *a = nullptr;
    void *x[2] = {}, *b[2] = {}; /* of one right-hand side, and of many */

    solver(const problem &p, const arrays &in, bool deterministic) {
        const char *const threads = getenv("WEFT_CUDSS_THREADS");
        const int on = deterministic;
        const int64_t n = (int64_t)p.rows, entries = (int64_t)weft_sparse_entries(p.matrix);
        call("cudssCreate", &handle);
        if (threads)
            call("cudssSetThreadingLayer", handle, threads);
        call("cudssConfigCreate", &config);
        call("cudssConfigSet", config, deterministic_mode, (const void *)&on, sizeof on);
        call("cudssDataCreate", handle, &data);
        call("cudssMatrixCreateCsr", &a, n, n, entries, (const void *)in.start.p,
             (const void *)nullptr, (const void *)in.column.p, (const void *)in.value.p, CUDA_R_32I,
             CUDA_R_32I, CUDA_R_64F, positive_definite, upper, base_zero);
        for (int k = 0; k < 2; k++) {
            const int64_t count = k ? sides : 1;
            call("cudssMatrixCreateDn", &x[k], n, count, n, (const void *)in.x.p, CUDA_R_64F,
                 by_columns);
            call("cudssMatrixCreateDn", &b[k], n, count, n, (const void *)in.b.p, CUDA_R_64F,
                 by_columns);
        }
    }
    ~solver() {
        for (int k = 0; k < 2; k++) {
            call("cudssMatrixDestroy", x[k]);
            call("cudssMatrixDestroy", b[k]);
        }
        call("cudssMatrixDestroy", a);
        call("cudssDataDestroy", handle, data);
        call("cudssConfigDestroy", config);
        call("cudssDestroy", handle);
    }
    solver(const solver &) = delete;
    solver &operator=(const solver &) = delete;

    void run(int phase, bool many = false) const {
        call("cudssExecute", handle, phase, config, data, a, x[many], b[many]);
    }
};

static void race(problem &p, bool deterministic) {
    const size_t before = device_bytes_used();
    const arrays in(p);
    const solver s(p, in, deterministic);
    const double order = seconds_of([&] { s.run(reordering); });
    const double structure = seconds_of([&] { s.run(symbolic); });
    const double first = seconds_of([&] { s.run(factorization); });
    const double again = median_of([&] { s.run(refactorization); });
    if (!deterministic) { /* that mode refuses many right-hand sides */
        s.run(solve, true);
        const double many = median_of([&] { s.run(solve, true); });
        printf("{\"problem\":\"%s\",\"library\":\"cuDSS\",\"solve_64_s\":%.6f}\n", p.name.c_str(),
               many);
    }
    s.run(solve);
    const double one = median_of([&] { s.run(solve); });
    int64_t entries = 0;
    size_t written = 0;
    call("cudssDataGet", s.handle, s.data, lu_nnz, (void *)&entries, sizeof entries, &written);
    CUDA(cudaMemcpy(p.x.data(), in.x.p, p.rows * sizeof(double), cudaMemcpyDefault));
    printf("{\"problem\":\"%s\",\"library\":\"cuDSS\",\"deterministic\":%s,\"nnz_l\":%lld,"
           "\"order_s\":%.4f,\"symbolic_s\":%.4f,\"first_factor_s\":%.6f,\"refactor_s\":%.6f,"
           "\"solve_s\":%.6f,\"residual\":%.2g,\"device_bytes_held\":%zu}\n",
           p.name.c_str(), deterministic ? "true" : "false", (long long)entries, order, structure,
           first, again, one, residual(p), device_bytes_used() - before);
    fflush(stdout);
}

} // namespace cudss

static weft_sparse *generate(weft_context *ctx, const char *kind, size_t n) {
    wi_recipe recipe = {};
    recipe.n = n;
    weft_sparse *matrix = nullptr;
    check_weft(ctx, wi_find_generator(kind)->make(ctx, "peer", &recipe, &matrix));
    return matrix;
}

static weft_sparse *read(weft_context *ctx, const char *path) {
    weft_sparse *matrix = nullptr;
    check_weft(ctx, weft_sparse_read(ctx, &matrix, path));
    return matrix;
}

/* bcsstk38, of a path to bcsstk38.mtx */
static std::string name_of(const std::string &path) {
    const size_t slash = path.rfind('/'), begin = slash == std::string::npos ? 0 : slash + 1;
    return path.substr(begin, path.rfind(".mtx") - begin);
}

/* All of a problem, whose matrix goes away. */
static void race_both(weft_context *ctx, const std::string &name, weft_sparse *matrix) {
    problem p = {name, ctx, matrix, weft_sparse_rows(matrix), {}, {}};
    p.b.assign(p.rows * sides, 1);
    p.x.assign(p.rows * sides, 0);
    race_weft(p);
    for (int deterministic = 0; cudss::library() && deterministic < 2; deterministic++)
        cudss::race(p, deterministic);
    weft_sparse_destroy(matrix);
}

static void race_generated(weft_context *ctx, bool quick) {
    static const struct {
        const char *kind;
        size_t n;
    } all[] = {{"laplace3d", 20}, {"laplace3d", 50},   {"laplace2d", 1000}, {"elasticity3d", 30},
               {"laplace3d", 80}, {"laplace2d", 2000}, {"laplace3d", 110}};
    for (const auto &at : all)
        if (!quick || (at.n != 110 && at.n != 2000))
            race_both(ctx, at.kind + (" " + std::to_string(at.n)), generate(ctx, at.kind, at.n));
}

/* A file, or a kind and n of a problem to generate. */
static void race_named(weft_context *ctx, const std::string &name) {
    const size_t sign = name.find('=');
    if (sign == std::string::npos) {
        race_both(ctx, name_of(name), read(ctx, name.c_str()));
        return;
    }
    const std::string kind = name.substr(0, sign), n = name.substr(sign + 1);
    race_both(ctx, kind + " " + n, generate(ctx, kind.c_str(), std::stoul(n)));
}

/* The rest of an argument that begins so, or NULL. */
static const char *option(const char *argument, const char *begin) {
    const size_t length = strlen(begin);
    return strncmp(argument, begin, length) == 0 ? argument + length : nullptr;
}

int main(int argc, char **argv) {
    weft_context *ctx = nullptr;
    if (weft_open(&ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "peer: place gpu does not open\n");
        return 77;
    }
    for (; argc > 1; argc--, argv++) {
        const char *const ordering = option(argv[1], "ordering=");
        const char *const trace = option(argv[1], "trace=");
        const char *const times = option(argv[1], "factorizations=");
        if (!ordering && !trace && !times)
            break;
        if (times)
            factorizations = std::stod(times);
        if (ordering)
            check_weft(ctx, weft_use(ctx, "sparse_order", ordering));
        trace_path = trace ? trace : trace_path;
    }
    if (!cudss::library())
        fprintf(stderr, "peer: no cuDSS (%s); set WEFT_CUDSS to its path\n", dlerror());
    const bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    if (argc == 1 || quick)
        race_generated(ctx, quick);
    for (int k = quick ? 2 : 1; k < argc; k++)
        race_named(ctx, argv[k]);
    weft_close(ctx);
    return 0;
}
