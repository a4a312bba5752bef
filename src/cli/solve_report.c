/* SPDX-License-Identifier: Apache-2.0 */
/* What `weft solve` says of a sparse matrix when its system is solved. */
#include "cli/solve_report.h"

#include <math.h>

#include "cli/matrix.h"
#include "cli/memory.h"
#include "cli/ranks.h"
#include "cli/text.h"

/* The largest error of x relative to the largest |x|, if no right-hand side was given: then b is A
 * 1 but for rounding, so the exact solution is 1 plus the effect of that rounding. */
static double forward_error(const wi_solving *s) {
    double most = 0, size = 0;
    for (size_t i = 0; i < s->x.n; i++) {
        most = fmax(most, fabs(s->x.value[i] - 1 - s->rounding.value[i]));
        size = fmax(size, fabs(s->x.value[i]));
    }
    return most > 0 ? most / size : 0;
}

static double gflops(const weft_chol_report *report) {
    return report->factor_seconds > 0 ? report->flops / report->factor_seconds * 1e-9 : 0;
}

void wi_solve_print_json(const wi_solving *s, const weft_chol_report *report) {
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "matrix", s->args->operand[0]);
    wi_json_string(&json, "place", weft_place(s->ctx));
    wi_json_string(&json, "variant", weft_used(s->ctx, "sparse"));
    wi_json_ranks(&json, s->ctx);
    wi_json_count(&json, "n", report->n);
    wi_json_count(&json, "nnz_a", report->nnz_a);
    wi_json_number(&json, "asymmetry", weft_sparse_asymmetry(s->matrix));
    wi_json_count(&json, "nnz_l", report->nnz_l);
    wi_json_element(&json, "flops", WEFT_F64, &report->flops);
    wi_json_string(&json, "ordering", report->ordering);
    wi_json_string(&json, "kind", wi_kind_name(s->kind));
    wi_json_count(&json, "supernodes", report->supernodes);
    wi_json_count(&json, "tree_height", report->tree_height);
    wi_json_count(&json, "largest_front", report->largest_front);
    wi_json_count(&json, "bytes_predicted", s->bytes_predicted);
    wi_json_count(&json, "bytes_peak", wi_most_resident_bytes());
    wi_json_count(&json, "plan_bytes", report->bytes_needed);
    wi_json_count(&json, "host_factor_bytes", report->host_factor_bytes);
    wi_json_number(&json, "analyze_seconds", report->analyze_seconds);
    wi_json_number(&json, "factor_seconds", report->factor_seconds);
    wi_json_number(&json, "solve_seconds", report->solve_seconds);
    wi_json_number(&json, "gflops", gflops(report));
    wi_json_count(&json, "right_hand_sides", s->b.count);
    wi_json_count(&json, "refinements", report->refinements);
    wi_json_count(&json, "stalled", report->stalled);
    wi_json_count(&json, "krylov_steps", report->krylov_steps);
    wi_json_string(&json, "factor_type", weft_type_name(report->factor_type));
    wi_json_count(&json, "fell_back", (size_t)report->fell_back);
    wi_json_count(&json, "positive", report->positive);
    wi_json_count(&json, "negative", report->negative);
    wi_json_count(&json, "perturbed", report->perturbed);
    wi_json_count(&json, "pairs", report->pairs);
    wi_json_number(&json, "backward_error", report->backward_error);
    wi_json_number(&json, "normwise_error", report->normwise_error);
    if (!wi_given(s->args, &wi_rhs_option))
        wi_json_number(&json, "forward_error", forward_error(s));
    if (wi_given(s->args, &wi_refine_option))
        wi_json_number(&json, "forward_estimate", report->forward_estimate);
    wi_json_number(&json, "condition_estimate", report->condition_estimate);
    wi_json_element(&json, "logdet", WEFT_F64, &report->logdet);
    wi_json_close(&json);
}

/* How many pivots there were of each kind, and how the solution was improved. */
static void print_pivots(const wi_solving *s, FILE *to, const weft_chol_report *report) {
    if (s->kind == WEFT_CHOL_DEFINITE)
        return;
    wi_print_line(to, WI_BEHIND_LABEL,
                  "pivots    %zu above 0, %zu below, %zu replaced; %zu pair%s of columns",
                  report->positive, report->negative, report->perturbed, report->pairs,
                  wi_plural(report->pairs));
}

void wi_solve_print_report(const wi_solving *s, const weft_chol_report *report) {
    FILE *const to = wi_value(s->args, &wi_output_option) ? stderr : stdout;
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES];
    char krylov[48] = "", forward[96] = "", condition[96] = "more than a double can hold";
    wi_print_line(to, WI_BEHIND_LABEL, "%s%s%s: n = %zu, %zu %s on and below the diagonal",
                  wi_style_on(to, WI_BOLD), wi_matrix_name(s->args), wi_style_on(to, WI_PLAIN),
                  report->n, report->nnz_a, report->nnz_a == 1 ? "entry" : "entries");
    wi_print_asymmetry(to, s->matrix);
    wi_print_line(to, WI_BEHIND_LABEL, "ordering  %s, in %s", report->ordering,
                  wi_format_seconds(report->order_seconds, a));
    wi_print_line(to, WI_BEHIND_LABEL,
                  "fill      %zu entries of L, %.1f x A; %zu supernode%s, largest front %zu row%s",
                  report->nnz_l, report->nnz_a ? (double)report->nnz_l / (double)report->nnz_a : 0,
                  report->supernodes, wi_plural(report->supernodes), report->largest_front,
                  wi_plural(report->largest_front));
    wi_print_line(to, WI_BEHIND_LABEL, "memory    %s predicted, %s at most",
                  wi_format_bytes((double)s->bytes_predicted, a),
                  wi_format_bytes((double)wi_most_resident_bytes(), b));
    if (report->host_factor_bytes > 0)
        wi_print_line(to, WI_BEHIND_LABEL, "          %s of L in host memory: the GPU has no room",
                      wi_format_bytes((double)report->host_factor_bytes, a));
    wi_print_line(to, WI_BEHIND_LABEL, "analyze   %s",
                  wi_format_seconds(report->analyze_seconds, a));
    wi_print_line(to, WI_BEHIND_LABEL, "factor    %s, %.3g flops, %.3g GF/s, by %s on %s, in %s%s",
                  wi_format_seconds(report->factor_seconds, a), report->flops, gflops(report),
                  weft_used(s->ctx, "sparse"), weft_place(s->ctx),
                  weft_type_name(report->factor_type),
                  report->fell_back ? " because f32 was not enough" : "");
    print_pivots(s, to, report);
    if (report->krylov_steps > 0)
        snprintf(krylov, sizeof krylov, ", %zu of GMRES", report->krylov_steps);
    wi_print_line(to, WI_BEHIND_LABEL,
                  "solve     %s, %zu right-hand side%s, %zu step%s of refinement%s%s",
                  wi_format_seconds(report->solve_seconds, a), s->b.count, wi_plural(s->b.count),
                  report->refinements, wi_plural(report->refinements), krylov,
                  report->stalled > 0 ? ", which stalled" : "");
    if (!wi_given(s->args, &wi_rhs_option))
        snprintf(forward, sizeof forward, "; forward %.2g (b = A 1, so x is known)",
                 forward_error(s));
    else if (wi_given(s->args, &wi_refine_option))
        snprintf(forward, sizeof forward, "; forward about %.2g", report->forward_estimate);
    wi_print_line(to, WI_BEHIND_LABEL, "error     backward %.2g by components, %.2g normwise%s",
                  report->backward_error, report->normwise_error, forward);
    if (isfinite(report->condition_estimate))
        snprintf(condition, sizeof condition, "about %.2g%s", report->condition_estimate,
                 report->condition_estimate >= 0x1p53 ? ", singular as far as doubles can tell"
                                                      : "");
    wi_print_line(to, WI_BEHIND_LABEL, "condition %s; log %sdet A%s = %.9g", condition,
                  s->kind == WEFT_CHOL_DEFINITE ? "" : "|",
                  s->kind == WEFT_CHOL_DEFINITE ? "" : "|", report->logdet);
}
