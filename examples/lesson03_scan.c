/* SPDX-License-Identifier: Apache-2.0 */
/* Lesson 3: where does every piece begin? Words of different lengths go into one buffer.
 *     lesson03_scan [PLACE] */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum {
    WORDS = 6
};

int main(int argc, char **argv) {
    const char *const words[WORDS] = {"many", "threads", "write", "into", "one", "buffer"};
    uint32_t length[WORDS], begin[WORDS], end[WORDS];
    char buffer[64] = "";
    weft_context *ctx;
    if (weft_open(&ctx, argc > 1 ? argv[1] : NULL) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_message(NULL));
        return 1;
    }
    for (int i = 0; i < WORDS; i++)
        length[i] = (uint32_t)strlen(words[i]) + 1; /* and a blank behind it */

    /* Exclusive: the sum of all before. Inclusive: this one counts, too. */
    weft_status status = weft_exclusive(ctx, WEFT_SUM, WORDS, length, begin);
    if (status == WEFT_OK)
        status = weft_inclusive(ctx, WEFT_SUM, WORDS, length, end);
    if (status == WEFT_OK) {
        printf("on %s\n", weft_place(ctx));
        for (int i = 0; i < WORDS; i++) { /* in any order: each knows its place */
            memcpy(buffer + begin[i], words[i], length[i] - 1);
            buffer[end[i] - 1] = ' ';
            printf("%-8s%2" PRIu32 " ... %2" PRIu32 "\n", words[i], begin[i], end[i]);
        }
        printf("\"%s\"\n", buffer);
    } else {
        fprintf(stderr, "%s\n", weft_message(ctx));
    }
    weft_close(ctx);
    return status != WEFT_OK;
}
