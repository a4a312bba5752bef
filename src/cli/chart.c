/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of counts for terminals. */
#include "cli/chart.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/text.h"

enum {
    MOST_LINES = 32,
    MOST_BAR_COLUMNS = 50,
    LEAST_BAR_COLUMNS = 8,
    NUMBER_COLUMNS = 26, /* the edge and the count before a bar */
    EIGHTHS = 8
};

/* The longest bar that fits the terminal. */
static int bar_columns(void) {
    const size_t columns = wi_screen_columns(stdout);
    if (columns == 0 || columns >= NUMBER_COLUMNS + MOST_BAR_COLUMNS)
        return MOST_BAR_COLUMNS;
    return columns > NUMBER_COLUMNS + LEAST_BAR_COLUMNS ? (int)columns - NUMBER_COLUMNS
                                                        : LEAST_BAR_COLUMNS;
}

/* Is standard output a terminal with a UTF-8 locale? */
static bool shows_blocks(void) {
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    if (!isatty(STDOUT_FILENO))
        return false;
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++) {
        const char *const locale = getenv(variables[k]);
        if (locale && *locale)
            return strstr(locale, "UTF-8") || strstr(locale, "utf8") || strstr(locale, "UTF8") ||
                   strstr(locale, "utf-8");
    }
    return false;
}

/* Prints a bar whose length is to the longest bar's as `count` is to `largest`, in whole characters
 * or in eighths of them. A count above 0 always shows. */
static void print_bar(uint64_t count, uint64_t largest, int columns, bool blocks) {
    static const char *const parts[EIGHTHS] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int steps = blocks ? columns * EIGHTHS : columns;
    int length = largest ? (int)((double)count / (double)largest * steps + 0.5) : 0;
    if (count > 0 && length == 0)
        length = 1;
    fputs(wi_style_on(stdout, WI_GREEN), stdout);
    for (int k = 0; k < (blocks ? length / EIGHTHS : length); k++)
        fputs(blocks ? "█" : "#", stdout);
    fputs(blocks ? parts[length % EIGHTHS] : "", stdout);
    fputs(wi_style_on(stdout, WI_PLAIN), stdout);
}

static double edge_of(const wi_chart *chart, size_t bin) {
    const double edge = chart->lo + (double)bin * (chart->hi - chart->lo) / (double)chart->bins;
    return bin < chart->bins && edge < chart->hi ? edge : chart->hi;
}

/* Each line stands for a range of bins; the ranges' lengths differ by one at most. This is the
 * first bin of one. */
static size_t first_of_line(const wi_chart *chart, size_t lines, size_t line) {
    return (size_t)((unsigned __int128)chart->bins * line / lines);
}

static uint64_t count_of_line(const wi_chart *chart, size_t lines, size_t line) {
    uint64_t sum = 0;
    const size_t end = first_of_line(chart, lines, line + 1);
    for (size_t k = first_of_line(chart, lines, line); k < end; k++)
        sum += chart->counts[k];
    return sum;
}

void wi_print_chart(const wi_chart *chart) {
    const bool every = chart->every_bin || chart->bins <= MOST_LINES, blocks = shows_blocks();
    const size_t lines = every ? chart->bins : MOST_LINES;
    const int columns = bar_columns();
    uint64_t largest = 0;
    for (size_t line = 0; line < lines; line++) {
        const uint64_t count = count_of_line(chart, lines, line);
        largest = count > largest ? count : largest;
    }
    if (chart->title)
        printf("%s%s%s\n", wi_style_on(stdout, WI_BOLD), chart->title,
               wi_style_on(stdout, WI_PLAIN));
    for (size_t line = 0; line < lines; line++) {
        const uint64_t count = count_of_line(chart, lines, line);
        printf("%12.6g %12" PRIu64 " ", edge_of(chart, first_of_line(chart, lines, line)), count);
        print_bar(count, largest, columns, blocks);
        putchar('\n');
    }
    printf("%12.6g %send%s\n", chart->hi, wi_style_on(stdout, WI_DIM),
           wi_style_on(stdout, WI_PLAIN));
    if (chart->below || chart->above || chart->nan)
        wi_print_line(stdout, 0, "below %" PRIu64 ", above %" PRIu64 ", NaN %" PRIu64, chart->below,
                      chart->above, chart->nan);
    if (!every)
        wi_print_line(stdout, 0, "%zu bins, %s%zu a line; --bins %zu draws every one", chart->bins,
                      chart->bins % lines ? "about " : "", chart->bins / lines, chart->bins);
}
