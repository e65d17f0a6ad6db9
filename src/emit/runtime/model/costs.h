/* What kernels cost on a GPU that is not there, as far as their machine code tells (driver/model), and
 * the numbers of that GPU: a table behind the kernels, which have a mark in each loop and branch. */
#ifndef SPARSEC_MODEL_COSTS_H
#define SPARSEC_MODEL_COSTS_H

#include <stdint.h>

/* What a warp spends on coming to a region once. */
struct emu_cost {
    unsigned region;
    double slots; /* of its scheduler */
};
struct emu_known {
    const char *name;
    unsigned registers, shared, spilled; /* of a thread; bytes of a block; bytes of a thread */
    const emu_cost *costs;
    unsigned count;
};
struct emu_device {
    /* How many there are, and what each takes at once. */
    double multiprocessors, warps, blocks, registers, shared;
    /* Slots of a multiprocessor in a cycle; cycles from one instruction of a warp to the next that needs it, and
     * from a load to its value, of which so many are under way at once. */
    double slots, step, latency, overlap;
    /* Bytes in a cycle: of each nearest cache, of the shared one, of memory. */
    double near_bytes, shared_bytes, memory_bytes;
    /* Cycles before a launch does anything. */
    double launch;
};

extern const emu_known emu_kernels[];
extern const unsigned emu_kernel_count, emu_region_count;
extern const emu_device emu_modelled;

/* How often the thread at hand came to each region. */
extern uint32_t *emu_counters;
static inline void emu_region(unsigned region) { emu_counters[region]++; }

#endif
