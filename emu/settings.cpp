/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says, and the one generator that every choice is drawn from. */
#include <stdlib.h>
#include <string.h>

#include "emu.h"

namespace emu {

static const char *const policies[] = {"in_order", "reversed", "random", "starve"};

const char *policy_name(Policy policy) {
    return policies[(int)policy];
}

/* Unless WEFT_EMU_POLICY names one, the seed chooses: 0 in_order, 1 reversed, and so on. */
static Policy policy_of(uint64_t seed) {
    const char *const name = getenv("WEFT_EMU_POLICY");
    for (int k = 0; name && k < 4; k++)
        if (strcmp(name, policies[k]) == 0)
            return (Policy)k;
    return (Policy)(seed % 4);
}

static Settings read_settings() {
    const char *const seed = getenv("WEFT_EMU_SEED");
    const char *const races = getenv("WEFT_EMU_RACES");
    const char *const devices = getenv("WEFT_EMU_DEVICES");
    Settings s;
    s.seed = seed ? strtoull(seed, nullptr, 0) : 2; /* 2: random */
    s.policy = policy_of(s.seed);
    s.races = !races || strcmp(races, "0") != 0;
    s.devices = devices ? atoi(devices) : 1;
    return s;
}

const Settings &settings() {
    static const Settings known = read_settings();
    return known;
}

/* SplitMix64. */
uint64_t random_below(uint64_t bound) {
    static uint64_t state = settings().seed * 0xd1342543de82ef95u;
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint64_t)(((unsigned __int128)(z ^ (z >> 31)) * bound) >> 64);
}

} // namespace emu
