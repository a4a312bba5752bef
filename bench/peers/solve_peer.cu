/* SPDX-License-Identifier: Apache-2.0 */
/* Races weft_solve, from A to a refined X with its report, against cuSOLVER's getrf and getrs of
 * the 64-bit interface, in turns, on the same random matrices of f64 in the same process. cuSOLVER
 * overwrites A; the copy that it needs is not counted. A backward error above 4 n^(1/2) 2^-53 ends
 * the program with status 1.
 *
 *   solve_peer [WAY [N [NRHS]]]    direct, mixed, butterfly or auto, or - for all; one order in
 * place of a list */
#include <math.h>
#include <string.h>

#include <vector>

#include "cusolver.cuh"

static bool all_ok = true;

static double median(std::vector<double> &x) {
    std::sort(x.begin(), x.end());
    return x[x.size() / 2];
}

/* How weft is asked to solve. */
struct way {
    const char *name;
    weft_precision precision;
    int no_estimates;
    const char *rung; /* NULL: as precision says */
};

static void tell(const way &w, const weft_report &report, double seconds, double other) {
    const bool ok = report.backward_error <= 4 * sqrt((double)report.n) * ldexp(1, -53);
    printf(
        "{\"op\":\"solve\",\"type\":\"f64\",\"way\":\"%s\",\"estimates\":%s,\"n\":%zu,\"nrhs\":%zu,"
        "\"method\":\"%s\",\"variant\":\"%s\",\"fell_back\":%d,\"seconds\":%.4g,"
        "\"factor_seconds\":%.4g,\"solve_seconds\":%.4g,\"peer\":\"cuSOLVER\","
        "\"peer_seconds\":%.4g,\"peer_ratio\":%.3f,\"backward_error\":%.3g,"
        "\"forward_bound\":%.3g,\"condition_estimate\":%.3g,\"refinements\":%zu,"
        "\"iterations\":%zu,\"ok\":%s}\n",
        w.name, w.no_estimates ? "false" : "true", report.n, report.right_hand_sides, report.method,
        report.variant, report.fell_back, seconds, report.factor_seconds, report.solve_seconds,
        other, other / seconds, report.backward_error, w.no_estimates ? -1 : report.forward_bound,
        w.no_estimates ? -1 : report.condition_estimate, report.refinements, report.iterations,
        ok ? "true" : "false");
    fflush(stdout);
    all_ok = all_ok && ok;
}

static void race_solve(const race &r, const way &w, size_t n, size_t rhs) {
    const int turns = n > 8192 ? 3 : 9;
    weft_solve_options options = {};
    options.size = sizeof options;
    options.precision = w.precision;
    options.no_estimates = w.no_estimates;
    check_weft(r.ctx, weft_use(r.ctx, "solve", w.rung));
    weft_report report = {};
    report.size = sizeof report;
    device_array<double> a(n * n), work(n * n), b(n * rhs), x(n * rhs);
    fill_reals(a.p, n * n, 1);
    fill_reals(b.p, n * rhs, 2);
    cusolver<double> peer(r, n, work.p);
    std::vector<double> ours, theirs;
    for (int turn = 0; turn <= turns; turn++) {
        CUDA(cudaMemcpyAsync(work.p, a.p, n * n * sizeof(double), cudaMemcpyDefault, r.stream));
        CUDA(cudaMemcpyAsync(x.p, b.p, n * rhs * sizeof(double), cudaMemcpyDefault, r.stream));
        CUDA(cudaStreamSynchronize(r.stream));
        const double start = now();
        peer.lu(work.p);
        peer.substitute(work.p, x.p, rhs);
        CUDA(cudaStreamSynchronize(r.stream));
        const double middle = now();
        check_weft(r.ctx, weft_solve(r.ctx, 0, WEFT_F64, n, rhs, a.p, n, b.p, n, x.p, n, &options,
                                     &report));
        CUDA(cudaStreamSynchronize(r.stream));
        if (turn > 0) {
            theirs.push_back(middle - start);
            ours.push_back(now() - middle);
        }
    }
    tell(w, report, median(ours), median(theirs));
}

int main(int argc, char **argv) {
    static const size_t orders[] = {1024, 2048, 4096, 8192, 16384};
    static const way ways[] = {{"direct", WEFT_PRECISION_FULL, 0, NULL},
                               {"direct", WEFT_PRECISION_FULL, 1, NULL},
                               {"mixed", WEFT_PRECISION_MIXED, 0, NULL},
                               {"mixed", WEFT_PRECISION_MIXED, 1, NULL},
                               {"butterfly", WEFT_PRECISION_AUTO, 0, "butterfly"},
                               {"butterfly", WEFT_PRECISION_AUTO, 1, "butterfly"},
                               {"auto", WEFT_PRECISION_AUTO, 0, NULL}};
    const race r;
    const size_t rhs = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    for (const way &w : ways) {
        if (argc > 1 && strcmp(argv[1], "-") != 0 && strcmp(argv[1], w.name) != 0)
            continue;
        if (argc > 2)
            race_solve(r, w, strtoull(argv[2], NULL, 10), rhs);
        else
            for (const size_t n : orders)
                race_solve(r, w, n, rhs);
    }
    return all_ok ? 0 : 1;
}
