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
    TITLE = 18,
    INSIDE = 16, /* from the edge of a panel to the tree */
    SHADES = 3
};

/* What a cell looks like: mostly entries of A, or mostly fill; how much of it, and how opaque that
 * is drawn. A lone entry of a large matrix must still be seen. */
static const char *const colours[] = {"#1b4f8f", "#e8a13c"};
static const struct {
    double share;
    const char *opacity;
} shades[SHADES] = {{0.3, "1"}, {0.03, "0.75"}, {0, "0.5"}};

/* A square matrix seen through cells x cells panes. */
typedef struct grid {
    int64_t n, cells;
    double all[MOST_CELLS][MOST_CELLS], of_a[MOST_CELLS][MOST_CELLS]; /* entries, and those of A */
    unsigned char ink[MOST_CELLS][MOST_CELLS]; /* 0, or 1 + SHADES * colour + shade */
} grid;

static int64_t cell_of(const grid *g, int64_t k) {
    return (int64_t)((double)k * (double)g->cells / (double)g->n);
}

/* The first index in a cell: the least k with cell_of(k) = cell. */
static int64_t cell_start(const grid *g, int64_t cell) {
    int64_t k = (int64_t)((double)cell * (double)g->n / (double)g->cells);
    while (k > 0 && cell_of(g, k - 1) >= cell)
        k--;
    while (k < g->n && cell_of(g, k) < cell)
        k++;
    return k;
}

static void grid_clear(grid *g, int64_t n) {
    memset(g, 0, sizeof *g);
    g->n = n;
    g->cells = n < MOST_CELLS ? n : MOST_CELLS;
}

/* Counts A's entries: as given, both halves; or the lower half in the order of the plan. */
static void count_matrix(grid *g, const weft_sparse *matrix, const int64_t *inverse) {
    for (int64_t j = 0; j < g->n; j++) {
        for (int64_t k = matrix->start[j]; k < matrix->start[j + 1]; k++) {
            const int64_t i = matrix->row[k];
            const int64_t a = inverse ? inverse[i] : i, b = inverse ? inverse[j] : j;
            const int64_t low = cell_of(g, a > b ? a : b), high = cell_of(g, a > b ? b : a);
            g->of_a[low][high]++;
            if (!inverse && i != j)
                g->of_a[high][low]++;
        }
    }
}

/* Counts L's entries, those of padding too. */
static void count_factor(grid *g, const wi_symbolic *symbolic) {
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t begin = symbolic->first[s], end = symbolic->first[s + 1];
        for (int64_t cell = cell_of(g, begin); cell <= cell_of(g, end - 1); cell++) {
            const int64_t from = cell_start(g, cell), to = cell_start(g, cell + 1);
            const int64_t left = begin > from ? begin : from, right = end < to ? end : to;
            for (int64_t k = symbolic->rows_at[s]; k < symbolic->rows_at[s + 1]; k++) {
                const int64_t i = symbolic->rows[k], stop = i + 1 < right ? i + 1 : right;
                if (stop > left)
                    g->all[cell_of(g, i)][cell] += (double)(stop - left);
            }
        }
    }
}

/* Chooses the ink of every cell that has an entry. */
static void choose_inks(grid *g) {
    for (int64_t row = 0; row < g->cells; row++) {
        for (int64_t column = 0; column < g->cells; column++) {
            const double of_a = g->of_a[row][column], all = fmax(of_a, g->all[row][column]);
            const double height = (double)(cell_start(g, row + 1) - cell_start(g, row));
            const double width = (double)(cell_start(g, column + 1) - cell_start(g, column));
            int shade = 0;
            while (all < shades[shade].share * height * width)
                shade++;
            if (all > 0)
                g->ink[row][column] = (unsigned char)(1 + shade + (2 * of_a < all ? SHADES : 0));
        }
    }
}

static void open_panel(FILE *file, int panel, const char *title) {
    fprintf(file, "<g transform=\"translate(%d %d)\">\n<text y=\"-8\">%s</text>\n",
            GAP + panel * (PANEL + GAP), GAP + TITLE, title);
    fprintf(file, "<rect fill=\"none\" stroke=\"#999\" width=\"%d\" height=\"%d\"/>\n", PANEL,
            PANEL);
}

/* One path for each ink; cells of a row that look the same become one rectangle. */
static void write_grid(FILE *file, grid *g) {
    choose_inks(g);
    fprintf(file, "<g transform=\"scale(%.9g)\" shape-rendering=\"crispEdges\">\n",
            (double)PANEL / (double)(g->cells ? g->cells : 1));
    for (int ink = 1; ink <= 2 * SHADES; ink++) {
        fprintf(file, "<path fill=\"%s\" fill-opacity=\"%s\" d=\"", colours[(ink - 1) / SHADES],
                shades[(ink - 1) % SHADES].opacity);
        for (int row = 0; row < (int)g->cells; row++) {
            for (int from = 0, to; from < (int)g->cells; from = to) {
                for (to = from + 1; to < g->cells && g->ink[row][to] == g->ink[row][from]; to++) {
                }
                if (g->ink[row][from] == ink)
                    fprintf(file, "M%d %dh%dv1h-%dz\n", from, row, to - from, to - from);
            }
        }
        fputs("\"/>\n", file);
    }
    fputs("</g>\n</g>\n", file);
}

/* Where supernodes are drawn: above the middle of their subtrees' columns, as high as their depth
 * says. The least are left out, so that no more than a few hundred are drawn. */
typedef struct layout {
    const wi_symbolic *symbolic;
    int64_t *depth, *lowest; /* of each supernode; the first column of its subtree */
    int64_t deepest, least;
} layout;

static layout lay_out(const wi_symbolic *symbolic, int64_t *scratch) {
    const int64_t count = symbolic->supernodes;
    layout l = {symbolic, scratch, scratch + count, 1, symbolic->n / MOST_CELLS};
    for (int64_t s = 0; s < count; s++)
        l.lowest[s] = symbolic->first[s];
    for (int64_t s = 0; s < count; s++) {
        const int64_t up = symbolic->super_parent[s];
        if (up >= 0 && l.lowest[s] < l.lowest[up])
            l.lowest[up] = l.lowest[s];
    }
    for (int64_t s = count - 1; s >= 0; s--) {
        const int64_t up = symbolic->super_parent[s];
        l.depth[s] = up < 0 ? 0 : l.depth[up] + 1;
        if (symbolic->first[s + 1] - l.lowest[s] > l.least && l.depth[s] > l.deepest)
            l.deepest = l.depth[s];
    }
    return l;
}

static bool is_shown(const layout *l, int64_t s) {
    return l->symbolic->first[s + 1] - l->lowest[s] > l->least;
}

static double across(const layout *l, int64_t s) {
    const double middle = (double)(l->lowest[s] + l->symbolic->first[s + 1]) / 2;
    return INSIDE + middle * (PANEL - 2 * INSIDE) / (double)l->symbolic->n;
}

static double down(const layout *l, int64_t s) {
    return INSIDE + (double)l->depth[s] * (PANEL - 2 * INSIDE) / (double)l->deepest;
}

/* Edges first, so that supernodes lie upon them. */
static void write_tree(FILE *file, const layout *l) {
    const wi_symbolic *const symbolic = l->symbolic;
    fputs("<path fill=\"none\" stroke=\"#888\" d=\"", file);
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t up = symbolic->super_parent[s];
        if (up >= 0 && is_shown(l, s))
            fprintf(file, "M%.1f %.1fL%.1f %.1f\n", across(l, s), down(l, s), across(l, up),
                    down(l, up));
    }
    fprintf(file, "\"/>\n<g fill=\"%s\">\n", colours[0]);
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const double columns = (double)(symbolic->first[s + 1] - symbolic->first[s]);
        if (is_shown(l, s))
            fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", across(l, s),
                    down(l, s), 1 + (INSIDE - 2) * sqrt(columns / (double)symbolic->n));
    }
    fputs("</g>\n</g>\n", file);
}

static void write_plot(FILE *file, const weft_sparse *matrix, const weft_chol *plan, grid *g,
                       int64_t *scratch) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    char title[96];
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\" stroke=\"none\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            3 * PANEL + 4 * GAP, PANEL + 2 * GAP + TITLE);
    snprintf(title, sizeof title, "A: %zu columns, %zu entries below or on the diagonal",
             plan->report.n, plan->report.nnz_a);
    open_panel(file, 0, title);
    grid_clear(g, symbolic->n);
    count_matrix(g, matrix, NULL);
    write_grid(file, g);
    snprintf(title, sizeof title, "L ordered by %s: %zu entries, mostly fill where orange",
             plan->report.ordering, plan->report.nnz_l);
    open_panel(file, 1, title);
    grid_clear(g, symbolic->n);
    count_matrix(g, matrix, symbolic->inverse);
    count_factor(g, symbolic);
    write_grid(file, g);
    snprintf(title, sizeof title, "tree: %zu supernodes, height %zu", plan->report.supernodes,
             plan->report.tree_height);
    open_panel(file, 2, title);
    const layout l = lay_out(symbolic, scratch);
    write_tree(file, &l);
    fputs("</svg>\n", file);
}

bool wi_plot_analysis(FILE *file, const weft_sparse *matrix, const weft_chol *plan) {
    grid *const g = wi_host_alloc(sizeof *g);
    int64_t *const scratch = wi_host_alloc(2 * (size_t)plan->symbolic.supernodes * sizeof *scratch);
    if (g && scratch)
        write_plot(file, matrix, plan, g, scratch);
    const bool written = g && scratch && fflush(file) == 0 && !ferror(file);
    wi_host_free(g);
    wi_host_free(scratch);
    return written;
}
