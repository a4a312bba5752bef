/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and heat maps of pairs. */
#include "cli/pairs.h"

#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS = 7, /* of a table, beside each other: 80 columns of text */
    LABEL = 14,
    CELL = 9,
    /* Of the picture, in pixels. */
    SIDE = 64,
    MARGIN = 96,
    TOP = 72,
    BOTTOM = 56,
    LEAST_WIDTH = 480
};

void wi_print_pairs(const wi_pairs *p) {
    char text[WI_FIELD_BYTES];
    putchar('\n');
    wi_print_line(stdout, 2, "%s%s%s", wi_style_on(stdout, WI_BOLD), p->title,
                  wi_style_on(stdout, WI_PLAIN));
    for (int first = 0; first < p->ends; first += COLUMNS) {
        const int last = first + COLUMNS < p->ends ? first + COLUMNS : p->ends;
        printf("%-*s", LABEL, "  from \\ to");
        for (int to = first; to < last; to++)
            printf(" %*s", CELL - 1, p->name(p->user, to, text));
        putchar('\n');
        for (int from = 0; from < p->ends; from++) {
            printf("  %-*s", LABEL - 2, p->name(p->user, from, text));
            for (int to = first; to < last; to++) {
                p->cell(p->user, from, to, text);
                printf(" %*s", CELL - 1, from == to ? "-" : text);
            }
            putchar('\n');
        }
    }
}

/* ---- the picture ---- */

static void write_text(FILE *file, int x, int y, const char *anchor, int size, const char *colour,
                       const char *text) {
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" font-size=\"%d\" fill=\"%s\">", x, y,
            anchor, size, colour);
    for (const char *c = text; *c; c++) {
        if (*c == '<' || *c == '>' || *c == '&')
            fprintf(file, "&#%d;", *c);
        else
            putc(*c, file);
    }
    fputs("</text>\n", file);
}

static double largest_of(const wi_pairs *p) {
    char text[WI_FIELD_BYTES];
    double most = 0;
    for (int from = 0; from < p->ends; from++) {
        for (int to = 0; to < p->ends; to++) {
            p->cell(p->user, from, to, text);
            const double value = strtod(text, NULL);
            most = from != to && value > most ? value : most;
        }
    }
    return most;
}

static void write_cell(FILE *file, const wi_pairs *p, int from, int to, double most) {
    char text[WI_FIELD_BYTES];
    const int x = MARGIN + to * SIDE, y = TOP + from * SIDE;
    p->cell(p->user, from, to, text);
    const bool any = from != to && *text;
    const double share = any && most > 0 ? strtod(text, NULL) / most : 0;
    const int red = (int)(240 - 210 * share), green = (int)(246 - 150 * share);
    fprintf(file,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"rgb(%d,%d,%d)\" "
            "stroke=\"#fff\"/>\n",
            x, y, SIDE, SIDE, any ? red : 235, any ? green : 235,
            any ? 250 - (int)(70 * share) : 235);
    if (any)
        write_text(file, x + SIDE / 2, y + SIDE / 2 + 5, "middle", 14,
                   share > 0.5 ? "#fff" : "#123", text);
}

bool wi_plot_pairs(FILE *file, const wi_pairs *p, const char *note) {
    char text[WI_FIELD_BYTES];
    const int needed = MARGIN + p->ends * SIDE + 16;
    const int width = needed > LEAST_WIDTH ? needed : LEAST_WIDTH;
    const int height = TOP + p->ends * SIDE + BOTTOM;
    const double most = largest_of(p);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    write_text(file, 16, 28, "start", 18, "#123", p->title);
    for (int k = 0; k < p->ends; k++) {
        p->name(p->user, k, text);
        write_text(file, MARGIN + k * SIDE + SIDE / 2, TOP - 10, "middle", 13, "#123", text);
        write_text(file, MARGIN - 10, TOP + k * SIDE + SIDE / 2 + 5, "end", 13, "#123", text);
    }
    for (int from = 0; from < p->ends; from++) {
        for (int to = 0; to < p->ends; to++)
            write_cell(file, p, from, to, most);
    }
    write_text(file, 16, height - 20, "start", 13, "#567", note);
    fputs("</svg>\n", file);
    return !ferror(file);
}
