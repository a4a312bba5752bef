/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of random: each element by itself, with the whole block that it is part of. */
#include <string.h>

#include "random/random.h"

/* The low bytes of an integer come first. */
static void put(const wi_random_args *args, size_t i, uint64_t bits) {
    const size_t size = weft_type_size(args->type);
    memcpy((char *)args->x + i * size, &bits, size);
}

/* Each number's place is how many keys are less than its own. */
void wi_random_small_permutation(const wi_random_args *args) {
    uint64_t key[WI_RANDOM_SMALL];
    for (uint64_t i = 0; i < args->total; i++)
        key[i] = wi_random_order_key(args->seed, i);
    for (uint64_t i = 0; i < args->total; i++) {
        uint64_t place = 0;
        for (uint64_t k = 0; k < args->total; k++)
            place += key[k] < key[i] || (key[k] == key[i] && k < i);
        if (place >= args->first && place - args->first < args->n)
            put(args, place - args->first, i);
    }
}

weft_status wi_random_serial(weft_context *ctx, const void *args) {
    const wi_random_args *const call = args;
    const unsigned size = (unsigned)weft_type_size(call->type);
    (void)ctx;
    if (call->op == WI_RANDOM_SMALL_PERMUTATION) {
        wi_random_small_permutation(call);
        return WEFT_OK;
    }
    for (size_t i = 0; i < call->n; i++)
        put(call, i, wi_random_element(call, size, i));
    return WEFT_OK;
}
