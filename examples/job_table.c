/* SPDX-License-Identifier: Apache-2.0 */
/* A table sorted by two keys: by city, and within a city the dearest first. Once with columns as
 * arrays, once with rows as records.
 *     job_table [PLACE] */
#include <stdio.h>
#include <stdlib.h>

#include "weft/weft.h"

enum {
    ROWS = 200000
};

typedef struct sale {
    uint16_t city;
    uint8_t grade;
    float price;
    uint64_t number;
} sale;

static weft_context *ctx;
static uint16_t city[ROWS], by_city[ROWS];
static float price[ROWS], by_price[ROWS];
static uint64_t number[ROWS], by_number[ROWS];
static uint32_t order[ROWS];
static sale table[ROWS];

static void check(weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "job_table: %s: %s\n", weft_status_name(status), weft_message(ctx));
    exit(2);
}

/* Sorts are stable, so the last key goes first; then every column moves once, by one order. */
static void sort_columns(void) {
    static uint16_t keys[ROWS];
    check(weft_sort_indices(ctx, WEFT_DESCENDING, WEFT_F32, ROWS, price, WEFT_U32, order));
    check(weft_gather(ctx, ROWS, sizeof *city, WEFT_U32, order, ROWS, city, keys, NULL));
    check(weft_sort_pairs(ctx, WEFT_ASCENDING, WEFT_U16, ROWS, keys, keys, sizeof *order, order,
                          order));
    const weft_gathered columns[] = {{sizeof *city, city, by_city},
                                     {sizeof *price, price, by_price},
                                     {sizeof *number, number, by_number}};
    check(weft_gather_arrays(ctx, ROWS, WEFT_U32, order, ROWS, 3, columns, NULL));
}

static void sort_rows(void) {
    static const weft_field keys[] = {{offsetof(sale, city), WEFT_U16, WEFT_ASCENDING},
                                      {offsetof(sale, price), WEFT_F32, WEFT_DESCENDING}};
    for (size_t i = 0; i < ROWS; i++)
        table[i] = (sale){city[i], 0, price[i], number[i]};
    check(weft_sort_records(ctx, ROWS, sizeof *table, table, table, keys, 2));
}

int main(int argc, char **argv) {
    size_t wrong = 0;
    check(weft_open(&ctx, argc > 1 ? argv[1] : NULL));
    check(weft_random_integers(ctx, WEFT_U16, ROWS, &(uint16_t){0}, &(uint16_t){99}, 1, 0, city));
    check(weft_random_uniform(ctx, WEFT_F32, ROWS, 2, 0, price));
    check(weft_iota(ctx, WEFT_U64, ROWS, &(uint64_t){0}, &(uint64_t){1}, number));
    sort_columns();
    sort_rows();
    for (size_t i = 0; i < ROWS; i++) {
        const sale *const s = &table[i];
        wrong += s->city != by_city[i] || s->price != by_price[i] || s->number != by_number[i] ||
                 city[s->number] != s->city || price[s->number] != s->price;
        if (i > 0)
            wrong += s[-1].city > s->city || (s[-1].city == s->city && s[-1].price < s->price);
    }
    for (size_t i = 0; i < 5; i++)
        printf("city %2u, price %.6f, row %llu\n", (unsigned)table[i].city, (double)table[i].price,
               (unsigned long long)table[i].number);
    printf("%d rows sorted on %s, %zu of them wrong\n", ROWS, weft_place(ctx), wrong);
    weft_close(ctx);
    return wrong > 0;
}
