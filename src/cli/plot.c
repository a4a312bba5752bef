/* SPDX-License-Identifier: Apache-2.0 */
/* SVG pictures of an analysis: patterns in cells, and the tree. */
#include "cli/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_CELLS = 200, /* along an edge of a panel */
    PANEL = 400,      /* pixels, and the gap around one */
    GAP = 30,
    TITLE = 18
};

/* What a cell shows; the more important is the larger. */
typedef enum ink {
    INK_NONE,
    INK_FILL, /* of L, not of A */
    INK_ENTRY
} ink;

static const char *const colours[] = {"none", "#e8a13c", "#1b4f8f"};

/* A square matrix seen through cells x cells panes. */
typedef struct grid {
    int64_t n, cells;
    unsigned char ink[MOST_CELLS][MOST_CELLS];
} grid;

static int64_t cell_of(const grid *g, int64_t k) {
    return (int64_t)((double)k * (double)g->cells / (double)g->n);
}

static void grid_clear(grid *g, int64_t n) {
    memset(g, 0, sizeof *g);
    g->n = n;
    g->cells = n < MOST_CELLS ? n : MOST_CELLS;
}

static void dot(grid *g, int64_t i, int64_t j, ink what) {
    unsigned char *const cell = &g->ink[cell_of(g, i)][cell_of(g, j)];
    if (*cell < what)
        *cell = (unsigned char)what;
}

/* A as given, both halves; or its lower half in the order of the plan. */
static void draw_matrix(grid *g, const weft_sparse *matrix, const int64_t *inverse) {
    for (int64_t j = 0; j < g->n; j++) {
        for (int64_t k = matrix->start[j]; k < matrix->start[j + 1]; k++) {
            const int64_t i = matrix->row[k];
            if (!inverse) {
                dot(g, i, j, INK_ENTRY);
                dot(g, j, i, INK_ENTRY);
            } else {
                const int64_t a = inverse[i], b = inverse[j];
                dot(g, a > b ? a : b, a > b ? b : a, INK_ENTRY);
            }
        }
    }
}

static void draw_factor(grid *g, const wi_symbolic *symbolic) {
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t first = cell_of(g, symbolic->first[s]);
        for (int64_t k = symbolic->rows_at[s]; k < symbolic->rows_at[s + 1]; k++) {
            const int64_t i = symbolic->rows[k], own = symbolic->first[s + 1] - 1;
            const int64_t row = cell_of(g, i), last = cell_of(g, i < own ? i : own);
            for (int64_t column = first; column <= last; column++) {
                if (g->ink[row][column] < INK_FILL)
                    g->ink[row][column] = INK_FILL;
            }
        }
    }
}

static void open_panel(FILE *file, int panel, const char *title) {
    fprintf(file, "<g transform=\"translate(%d %d)\">\n<text y=\"-8\">%s</text>\n",
            GAP + panel * (PANEL + GAP), GAP + TITLE, title);
    fprintf(file, "<rect fill=\"none\" stroke=\"#999\" width=\"%d\" height=\"%d\"/>\n", PANEL,
            PANEL);
}

/* One path for each colour; cells of a row that look the same become one rectangle. */
static void write_grid(FILE *file, const grid *g) {
    const double side = (double)PANEL / (double)(g->cells ? g->cells : 1);
    for (int shown = INK_FILL; shown <= INK_ENTRY; shown++) {
        fprintf(file, "<path fill=\"%s\" d=\"", colours[shown]);
        for (int64_t row = 0; row < g->cells; row++) {
            for (int64_t from = 0, to; from < g->cells; from = to) {
                for (to = from + 1; to < g->cells && g->ink[row][to] == g->ink[row][from]; to++) {
                }
                if (g->ink[row][from] == shown)
                    fprintf(file, "M%.2f %.2fh%.2fv%.2fh-%.2fz\n", (double)from * side,
                            (double)row * side, (double)(to - from) * side, side,
                            (double)(to - from) * side);
            }
        }
        fputs("\"/>\n", file);
    }
    fputs("</g>\n", file);
}

/* Supernodes stand above the middle of their subtrees' columns, as high as their depth says; the
 * least are left out, so that no more than a few hundred are drawn. */
static void write_tree(FILE *file, const wi_symbolic *symbolic, int64_t *depth, int64_t *lowest) {
    const int64_t n = symbolic->n, last = symbolic->supernodes - 1, least = n / MOST_CELLS;
    int64_t deepest = 1;
    for (int64_t s = 0; s <= last; s++)
        lowest[s] = symbolic->first[s];
    for (int64_t s = 0; s <= last; s++) {
        const int64_t up = symbolic->super_parent[s];
        if (up >= 0 && lowest[s] < lowest[up])
            lowest[up] = lowest[s];
    }
    for (int64_t s = last; s >= 0; s--) {
        const int64_t up = symbolic->super_parent[s];
        depth[s] = up < 0 ? 0 : depth[up] + 1;
        if (symbolic->first[s + 1] - lowest[s] > least && depth[s] > deepest)
            deepest = depth[s];
    }
    const double across = (double)PANEL / (double)(n ? n : 1);
    const double down = (double)(PANEL - 20) / (double)deepest;
    for (int64_t s = last; s >= 0; s--) {
        const int64_t up = symbolic->super_parent[s], end = symbolic->first[s + 1];
        if (end - lowest[s] <= least)
            continue;
        const double x = (double)(lowest[s] + end) / 2 * across;
        const double y = 10 + (double)depth[s] * down;
        const double share = (double)(end - symbolic->first[s]) / (double)n;
        if (up >= 0)
            fprintf(file, "<path stroke=\"#888\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x, y,
                    (double)(lowest[up] + symbolic->first[up + 1]) / 2 * across, y - down);
        fprintf(file, "<circle fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n",
                colours[INK_ENTRY], x, y, 1 + 30 * sqrt(share));
    }
    fputs("</g>\n", file);
}

static void write_plot(FILE *file, const weft_sparse *matrix, const weft_chol *plan, grid *g,
                       int64_t *scratch) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    char title[96];
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            3 * PANEL + 4 * GAP, PANEL + 2 * GAP + TITLE);
    snprintf(title, sizeof title, "A: %zu columns, %zu entries below or on the diagonal",
             plan->report.n, plan->report.nnz_a);
    open_panel(file, 0, title);
    grid_clear(g, symbolic->n);
    draw_matrix(g, matrix, NULL);
    write_grid(file, g);
    snprintf(title, sizeof title, "L ordered by %s: %zu entries, fill in the lighter colour",
             plan->report.ordering, plan->report.nnz_l);
    open_panel(file, 1, title);
    grid_clear(g, symbolic->n);
    draw_matrix(g, matrix, symbolic->inverse);
    draw_factor(g, symbolic);
    write_grid(file, g);
    snprintf(title, sizeof title, "tree: %zu supernodes, height %zu", plan->report.supernodes,
             plan->report.tree_height);
    open_panel(file, 2, title);
    write_tree(file, symbolic, scratch, scratch + symbolic->supernodes);
    fputs("</svg>\n", file);
}

bool wi_plot_analysis(const char *path, const weft_sparse *matrix, const weft_chol *plan) {
    FILE *const file = fopen(path, "w");
    if (!file)
        return false;
    grid *const g = wi_host_alloc(sizeof *g);
    int64_t *const scratch = wi_host_alloc(2 * (size_t)plan->symbolic.supernodes * sizeof *scratch);
    if (g && scratch)
        write_plot(file, matrix, plan, g, scratch);
    const bool written = g && scratch && !ferror(file);
    wi_host_free(g);
    wi_host_free(scratch);
    return fclose(file) == 0 && written;
}
