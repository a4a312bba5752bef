/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of `weft precision`: how many digits of a sum are right, as bars. */
#include <math.h>

#include "cli/precision.h"
#include "cli/text.h"

enum {
    LEFT = 230, /* pixels: where bars begin */
    SCALE = 25, /* of one digit */
    DIGITS = 16,
    LINE = 17,
    HEAD = 60,
    WIDTH = LEFT + SCALE * DIGITS + 150
};

/* Decimal digits that are right, 0 to 16. */
static double right_digits(const wi_precision_row *row) {
    if (!(row->error < 1))
        return 0;
    return row->error > 0 ? fmin(-log10(row->error), DIGITS) : DIGITS;
}

static void draw_bar(FILE *file, const wi_precision_row *row, int y) {
    char text[WI_FIELD_BYTES];
    const double digits = right_digits(row);
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s, %s, %s</text>\n", LEFT - 8,
            y + LINE - 5, row->method, weft_type_name(row->in), row->place);
    fprintf(file, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", LEFT,
            y + 2, digits * SCALE, LINE - 4, row->error == 0 ? "#1b4f8f" : "#e8a13c");
    fprintf(file, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", LEFT + digits * SCALE + 6, y + LINE - 5,
            wi_format_element(WEFT_F64, &row->sum, text));
}

/* The scale of one array, and its name. */
static void draw_head(FILE *file, const wi_precision *p, int y) {
    fprintf(file, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%zu %s, condition %.3g</text>\n",
            LEFT, y + LINE, p->n, weft_type_name(p->type), p->condition);
    for (int d = 0; d <= DIGITS; d += 4)
        fprintf(file, "<text x=\"%d\" y=\"%d\" fill=\"#666\">%d</text>\n", LEFT + d * SCALE,
                y + 2 * LINE, d);
    fprintf(file, "<text x=\"%d\" y=\"%d\" fill=\"#666\">decimal digits that are right</text>\n",
            LEFT + DIGITS * SCALE + 20, y + 2 * LINE);
}

bool wi_plot_precision(FILE *file, const wi_precision *p, size_t count) {
    int height = LINE;
    for (size_t k = 0; k < count; k++)
        height += HEAD + LINE * (int)p[k].count;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, height);
    for (size_t k = 0, y = 0; k < count; k++) {
        draw_head(file, &p[k], (int)y);
        y += HEAD - LINE;
        for (size_t r = 0; r < p[k].count; r++, y += LINE)
            draw_bar(file, &p[k].rows[r], (int)y);
        y += LINE;
    }
    fputs("</svg>\n", file);
    return fflush(file) == 0 && !ferror(file);
}
