/* SPDX-License-Identifier: Apache-2.0 */
/* SVG pictures of an analysis: patterns of matrices as cells, and the tree of supernodes. */
#include "cli/plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/text.h"

enum {
    MOST_CELLS = 200, /* along an edge of a panel */
    PANEL = 400,      /* pixels; GAP is the space around a panel */
    GAP = 30,
    HEAD = 30,  /* the line with the file's name */
    TITLE = 40, /* the two lines above a panel, and those below */
    LINE = 17,
    SQUARE = 11, /* of the legend */
    LEGEND = 4 * LINE,
    INSIDE = 16, /* from the edge of a panel to the tree */
    SHADES = 3,
    LONGEST_NAME = 140, /* bytes of it that fit above three panels */
    GROUPED_BYTES = 32
};

/* The look of a cell: its colour says whether most of its entries are of A or fill; its opacity how
 * many there are. A single entry of a large matrix must still be visible. */
static const char *const colours[] = {"#1b4f8f", "#e8a13c"};
static const struct {
    double share;
    const char *opacity;
} shades[SHADES] = {{0.3, "1"}, {0.03, "0.75"}, {0, "0.5"}};

/* A square matrix divided into cells x cells cells. */
typedef struct grid {
    int64_t n, cells;
    double all[MOST_CELLS][MOST_CELLS],
        of_a[MOST_CELLS][MOST_CELLS];          /* entries in each cell, and those that are of A */
    unsigned char ink[MOST_CELLS][MOST_CELLS]; /* 0, or 1 + SHADES * colour + shade */
} grid;

static int64_t cell_of(const grid *g, int64_t k) {
    return (int64_t)((double)k * (double)g->cells / (double)g->n);
}

/* The first index in a cell: the smallest k with cell_of(k) = cell. */
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

/* Counts A's entries: both halves as given, or the lower half in the order of the plan. Returns how
 * many. */
static uint64_t count_matrix(grid *g, const weft_sparse *matrix, const int64_t *inverse) {
    uint64_t entries = 0;
    for (int64_t j = 0; j < g->n; j++) {
        for (int64_t k = matrix->start[j]; k < matrix->start[j + 1]; k++) {
            const int64_t i = matrix->row[k];
            const int64_t a = inverse ? inverse[i] : i, b = inverse ? inverse[j] : j;
            const int64_t low = cell_of(g, a > b ? a : b), high = cell_of(g, a > b ? b : a);
            g->of_a[low][high]++;
            if (!inverse && i != j)
                g->of_a[high][low]++;
            entries += !inverse && i != j ? 2 : 1;
        }
    }
    return entries;
}

/* Counts L's entries, padding included. */
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

/* A number with a comma before every three digits. */
static const char *grouped(uint64_t number, char out[GROUPED_BYTES]) {
    char digits[GROUPED_BYTES];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    size_t used = 0;
    for (int k = 0; k < length; k++) {
        if (k > 0 && (length - k) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[k];
    }
    out[used] = '\0';
    return out;
}

/* Writes text as XML, on one line of UTF-8 whatever it contains; of a long text only the end. */
static void write_text(FILE *file, const char *text) {
    char shown[4 * 4096];
    wi_shown(text, shown, sizeof shown);
    const char *c = shown;
    while (strlen(c) > LONGEST_NAME)
        c += wi_utf8_bytes(c);
    fputs(c > shown ? "..." : "", file);
    for (; *c; c++) {
        if (*c == '&')
            fputs("&amp;", file);
        else if (*c == '<')
            fputs("&lt;", file);
        else if (*c == '>')
            fputs("&gt;", file);
        else
            fputc(*c, file);
    }
}

/* Draws the frame of a panel and two lines of text above it. */
static void open_panel(FILE *file, int panel, const char *title, const char *figures) {
    fprintf(file,
            "<g transform=\"translate(%d %d)\">\n<text y=\"-25\" font-weight=\"bold\">%s</text>\n"
            "<text y=\"-8\">%s</text>\n",
            GAP + panel * (PANEL + GAP), HEAD + TITLE + GAP / 2, title, figures);
    fprintf(file, "<rect fill=\"none\" stroke=\"#999\" width=\"%d\" height=\"%d\"/>\n", PANEL,
            PANEL);
}

/* A line of text below a panel. */
static void write_note(FILE *file, int line, int x, const char *text) {
    fprintf(file, "<text x=\"%d\" y=\"%d\" font-size=\"12\">%s</text>\n", x,
            PANEL + (line + 1) * LINE, text);
}

/* A square in a shade of a colour, below a panel. */
static void write_square(FILE *file, int line, int x, int colour, int shade) {
    fprintf(file,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" "
            "fill-opacity=\"%s\"/>\n",
            x, PANEL + (line + 1) * LINE - SQUARE + 1, SQUARE, SQUARE, colours[colour],
            shades[shade].opacity);
}

/* Writes a colour's meaning, with all its shades unless each cell is one entry. */
static void write_colour(FILE *file, int line, int colour, bool exact, const char *meaning) {
    const int count = exact ? 1 : SHADES, apart = SQUARE + 3;
    for (int k = 0; k < count; k++)
        write_square(file, line, k * apart, colour, k);
    write_note(file, line, count * apart + 3, meaning);
}

/* One path for each colour and shade; neighbouring cells of a row that look the same are one
 * rectangle. */
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
    fputs("</g>\n", file);
}

/* Where supernodes are drawn: in the middle of their subtrees' columns, at a height given by their
 * depth. The smallest are left out, so that at most a few hundred are drawn. */
typedef struct layout {
    const wi_symbolic *symbolic;
    int64_t *depth, *lowest; /* of each supernode: depth, and the first column of its subtree */
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

/* Draws edges first, so that supernodes cover them. */
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
    fputs("</g>\n", file);
}

static void write_matrix(FILE *file, const weft_sparse *matrix, const weft_chol *plan, grid *g) {
    static const char *const fullness[SHADES] = {"30 % of a cell or more", "3 % or more", "less"};
    static const int at[SHADES] = {0, 160, 262};
    char figures[128], note[128], a[GROUPED_BYTES], b[GROUPED_BYTES];
    grid_clear(g, plan->symbolic.n);
    const uint64_t entries = count_matrix(g, matrix, NULL);
    snprintf(figures, sizeof figures, "%s column%s, %s %s in both halves",
             grouped(plan->report.n, a), wi_plural(plan->report.n), grouped(entries, b),
             entries == 1 ? "entry" : "entries");
    open_panel(file, 0, "A, as given", figures);
    write_grid(file, g);
    if (g->cells < g->n) {
        for (int k = 0; k < SHADES; k++) {
            write_square(file, 0, at[k], 0, k);
            write_note(file, 0, at[k] + SQUARE + 6, fullness[k]);
        }
        snprintf(note, sizeof note, "A cell stands for about %s rows and as many columns.",
                 grouped((uint64_t)(g->n / g->cells), a));
        write_note(file, 1, 0, note);
    } else {
        write_colour(file, 0, 0, true, "an entry");
    }
    fputs("</g>\n", file);
}

static void write_factor(FILE *file, const weft_sparse *matrix, const weft_chol *plan, grid *g) {
    char title[64], figures[128], a[GROUPED_BYTES];
    const weft_chol_report *const report = &plan->report;
    snprintf(title, sizeof title, "L, ordered by %s", report->ordering);
    snprintf(figures, sizeof figures, "%s entries, %.1f times those of a half of A",
             grouped(report->nnz_l, a),
             report->nnz_a ? (double)report->nnz_l / (double)report->nnz_a : 0);
    open_panel(file, 1, title, figures);
    grid_clear(g, plan->symbolic.n);
    count_matrix(g, matrix, plan->symbolic.inverse);
    count_factor(g, &plan->symbolic);
    write_grid(file, g);
    const bool exact = g->cells == g->n;
    write_colour(file, 0, 0, exact, exact ? "an entry of A" : "mostly entries of A");
    write_colour(file, 1, 1, exact, exact ? "fill" : "mostly fill");
    write_note(file, 2, 0, "Fill is entries where A has none; zeros that are stored to make");
    write_note(file, 3, 0, "supernodes larger are drawn as fill, but not counted above.");
    fputs("</g>\n", file);
}

static void write_supernodes(FILE *file, const weft_chol *plan, int64_t *scratch) {
    char title[64], figures[128], note[128], a[GROUPED_BYTES], b[GROUPED_BYTES];
    const layout l = lay_out(&plan->symbolic, scratch);
    uint64_t hidden = 0;
    for (int64_t s = 0; s < plan->symbolic.supernodes; s++)
        hidden += !is_shown(&l, s);
    snprintf(title, sizeof title, "The tree of %s supernode%s", grouped(plan->report.supernodes, a),
             wi_plural(plan->report.supernodes));
    snprintf(figures, sizeof figures, "%s column%s on the longest path to the root",
             grouped(plan->report.tree_height, a), wi_plural(plan->report.tree_height));
    open_panel(file, 2, title, figures);
    write_tree(file, &l);
    write_note(file, 0, 0, "A circle is a supernode: the larger, the more columns it has.");
    write_note(file, 1, 0, "It stands as far down as it has supernodes above it, and across");
    write_note(file, 2, 0, "over the middle of the columns of its subtree.");
    if (hidden)
        snprintf(note, sizeof note, "Not drawn: %s with no more than %s columns in their subtrees.",
                 grouped(hidden, a), grouped((uint64_t)l.least, b));
    else
        snprintf(note, sizeof note, "All of them are drawn.");
    write_note(file, 3, 0, note);
    fputs("</g>\n", file);
}

static void write_plot(FILE *file, const char *name, const weft_sparse *matrix,
                       const weft_chol *plan, grid *g, int64_t *scratch) {
    const int width = 3 * PANEL + 4 * GAP, height = HEAD + TITLE + PANEL + LEGEND + 2 * GAP;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\" "
            "stroke=\"none\">\n<title>",
            width, height, width, height);
    write_text(file, name);
    fprintf(file,
            "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"%d\" font-size=\"16\" font-weight=\"bold\">",
            GAP, HEAD);
    write_text(file, name);
    fputs("</text>\n", file);
    write_matrix(file, matrix, plan, g);
    write_factor(file, matrix, plan, g);
    write_supernodes(file, plan, scratch);
    fputs("</svg>\n", file);
}

bool wi_plot_analysis(FILE *file, const char *name, const weft_sparse *matrix,
                      const weft_chol *plan) {
    grid *const g = wi_host_alloc(sizeof *g);
    int64_t *const scratch = wi_host_alloc(2 * (size_t)plan->symbolic.supernodes * sizeof *scratch);
    if (g && scratch)
        write_plot(file, name, matrix, plan, g, scratch);
    const bool written = g && scratch && fflush(file) == 0 && !ferror(file);
    wi_host_free(g);
    wi_host_free(scratch);
    return written;
}
