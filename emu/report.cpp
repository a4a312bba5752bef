/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says, the one generator that every choice is drawn from, and reports. */
#include "emu.h"

#include <dlfcn.h>
#include <map>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

using namespace emu;

constexpr int exit_status = 86;
constexpr size_t most_blocks_told = 3;
static const char *const policies[] = {"in_order", "reversed", "random", "starve"};

static uint64_t number(const char *variable, uint64_t otherwise) {
    const char *const text = getenv(variable);
    return text ? strtoull(text, nullptr, 0) : otherwise;
}

/* Unless WEFT_EMU_POLICY names one, the seed chooses: 0 in_order, 1 reversed, and so on. */
static Settings read_settings() {
    const uint64_t seed = number("WEFT_EMU_SEED", 2);
    const char *const name = getenv("WEFT_EMU_POLICY");
    int policy = (int)(seed % 4);
    for (int k = 0; name && k < 4; k++)
        if (strcmp(name, policies[k]) == 0)
            policy = k;
    return {seed, policy, number("WEFT_EMU_RACES", 1) != 0, (int)number("WEFT_EMU_DEVICES", 1)};
}
const Settings emu::settings = read_settings();

/* SplitMix64. */
uint64_t emu::random_below(uint64_t bound) {
    static uint64_t state = settings.seed * 0xd1342543de82ef95u;
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint64_t)(((unsigned __int128)(z ^ (z >> 31)) * bound) >> 64);
}

/* ---- places in the source ---- */

/* A site is told by where the program keeps the file's name, and the line. */
constexpr uint64_t is_site = (uint64_t)1 << 47, most_lines = 1 << 15;
extern "C" const char __executable_start;

Where::Where(const emu_site &at)
    : bits(is_site | (uint64_t)(at.file - &__executable_start) * most_lines | (unsigned)at.line) {}

std::string emu::source_of(Where where) {
    constexpr char inlined[] = "(inlined by) ";
    Dl_info info;
    char command[4096], line[1024];
    if (where.bits & is_site)
        return &__executable_start + (where.bits & ~is_site) / most_lines +
               (":" + std::to_string(where.bits % most_lines));
    const void *const pc = (const void *)where.bits;
    if (!pc || !dladdr(pc, &info) || !info.dli_fname)
        return "an unknown place";
    snprintf(command, sizeof command, "addr2line -e '%s' -fCip %#zx 2>/dev/null", info.dli_fname,
             (size_t)((const char *)pc - 1 - (const char *)info.dli_fbase));
    std::string text;
    FILE *const pipe = popen(command, "r");
    while (pipe && fgets(line, sizeof line, pipe)) {
        const char *const name = strstr(line, inlined);
        line[strcspn(line, "\n")] = 0;
        if (!strstr(line, "/emu/include/")) /* the stand-in's own headers */
            text += (text.empty() ? "" : "\n      in ") +
                    std::string(name ? name + strlen(inlined) : line);
    }
    if (pipe)
        pclose(pipe);
    return text.empty() ? "code without line numbers" : text;
}

/* ---- reports ---- */

[[noreturn]] static void give_up() {
    fprintf(stderr, "  replay with WEFT_EMU_SEED=%llu WEFT_EMU_POLICY=%s\n",
            (unsigned long long)settings.seed, policies[settings.policy]);
    fflush(nullptr);
    _exit(exit_status);
}

void emu::report(Where where, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "\nemu: ");
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    if (self) {
        const uint3 b = self->index.block, t = self->index.thread;
        fprintf(stderr, "  %s, block (%u, %u, %u), thread (%u, %u, %u)\n",
                self->block->grid->shape.what, b.x, b.y, b.z, t.x, t.y, t.z);
    }
    if (where.bits)
        fprintf(stderr, "  at  %s\n", source_of(where).c_str());
    give_up();
}

/* Says of a block which threads wait where, those who wait alike together. */
static void print_block(const Block *block) {
    const uint3 b = block->index;
    std::map<std::tuple<bool, uint64_t, unsigned>, std::vector<const Fibre *>> groups;
    for (const Fibre *f : block->fibres)
        groups[f->state == ENDED ? std::make_tuple(true, (uint64_t)0, 0u)
                                 : std::make_tuple(false, f->at.bits, f->mask)]
            .push_back(f);
    fprintf(stderr, "  %s, block (%u, %u, %u):\n", block->grid->shape.what, b.x, b.y, b.z);
    for (const auto &[place, group] : groups) {
        const char *separator = "    threads ";
        for (size_t k = 0, first = 0; k < group.size(); k++) {
            if (k + 1 < group.size() && group[k + 1]->thread == group[k]->thread + 1)
                continue;
            fprintf(stderr, k == first ? "%s%u" : "%s%u-%u", separator, group[first]->thread,
                    group[k]->thread);
            separator = ", ";
            first = k + 1;
        }
        const Fibre *const f = group[0];
        if (f->state == ENDED) {
            fprintf(stderr, " have ended\n");
            continue;
        }
        fprintf(stderr, " wait in %s", f->what);
        if (f->mask)
            fprintf(stderr, " with mask %#x", f->mask);
        fprintf(stderr, " at\n      %s\n", source_of(f->at).c_str());
    }
}

void emu::report_waits(const char *what) {
    size_t told = 0;
    fprintf(stderr, "\nemu: %s\n", what);
    for (const Grid *grid : running)
        for (const Cluster *cluster : grid->clusters)
            for (const Block *block : cluster->blocks)
                if (block->live > 0 && told++ < most_blocks_told)
                    print_block(block);
    give_up();
}
