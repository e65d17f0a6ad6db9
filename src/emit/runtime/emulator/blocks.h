/* Blocks whose threads take turns.
 *
 * Up to ALIVE blocks are alive. A turn of one of them ends when none of its threads can go
 * on, at barriers, and when its threads only look whether something has changed.
 */
#ifndef SPARSEC_EMULATOR_BLOCKS_H
#define SPARSEC_EMULATOR_BLOCKS_H

#include "cuda_runtime.h"
#include "fibres.h"
#include "findings.h"
#include "order.h"

/* With -DEMU_MODEL it counts, in place of checks: see model.h. */
#ifdef EMU_MODEL
#include "costs.h"
#include "counted.h"
#define EMU_COUNT(...) __VA_ARGS__
#else
#define EMU_COUNT(...)
#endif

/* The arrays of shared memory, if kernels declare some. */
extern emu_part emu_arrays_begin[] __asm__("__start_emu_arrays") __attribute__((weak, visibility("hidden")));
extern emu_part emu_arrays_end[] __asm__("__stop_emu_arrays") __attribute__((weak, visibility("hidden")));

namespace {

/* After so many looks of every thread alive, in which nothing changed, nothing will. A thread
 * gives way at every LOOKS_APART'th. */
const unsigned ALIVE = 8, LOOKS_APART = 16, VAIN_LOOKS = 1000;

/* ---- random order --------------------------------------------------------------- */

uint64_t state = 1;
bool shuffled, preempts;

unsigned draw(unsigned n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state % n);
}

void configure() {
    static bool done;
    if (done) return;
    done = true;
    if (const char *seed = getenv("EMU_SEED")) {
        state = strtoull(seed, NULL, 10) * 2654435761u + 88172645463325252u;
        shuffled = true;
    }
    preempts = getenv("EMU_PREEMPT") != NULL;
}

/* ---- blocks and their threads ------------------------------------------------------ */

struct Thread {
    uint3 place;
    void *stack_pointer; /* while it waits */
    int stack;           /* which one it has, or -1 */
    bool finished;
    unsigned looks;      /* that found nothing changed */
    unsigned depth;      /* of its calls, and where the kernel made the outermost */
    uint32_t outer;
    size_t meeting;      /* where it last met other lanes */
    const void *narrow;  /* the element that an update of its word is after, and its size */
    size_t narrow_bytes;
    uint32_t clock[32];  /* what it knows of the lanes of its warp */
    std::unique_ptr<Fences> fences;
};

/* Lanes that meet. */
struct Meeting {
    unsigned mask, here;
    int operation, line;
    uint64_t words[32], results[32];
};

struct Warp {
    std::vector<Meeting> meetings;
};

/* What was done to a word since the launch began. */
struct Cell {
    uint32_t launch, more; /* which list holds what does not fit here, from 1 on */
    Access own[2];
};

/* An array of shared memory, and where its words begin in a block's copy and shadow. */
struct Shared {
    char *begin, *end;
    size_t word;
};

struct Block {
    uint32_t number;
    uint3 place;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::vector<unsigned> ready, not_started;
    size_t ready_at, not_started_at;
    unsigned live, waiting, barriers;
    unsigned vain; /* turns of its threads in which they only looked */
    int barrier_line;
    std::vector<uint32_t> shared; /* while it has not its turn */
    std::vector<Cell> cells;      /* shadow of shared memory */
    std::vector<uint8_t> written;
    EMU_COUNT(Counted counted;)
};

bool checked; /* set by the first call of a sanitized file */
/* A launch. */
struct Launch {
    emu_kernel kernel;
    const char *call; /* its text */
    std::vector<emu_array> arrays;
    std::vector<size_t> sizes; /* in bytes, of those taken from workspaces */
    dim3 blocks, threads;
};
Launch *launch;
std::vector<Shared> shared_arrays; /* of the kernel */
uint32_t launch_number;
Block *block;
Block *loaded; /* whose shared memory lies in its place */
unsigned running;
int current_stack = -1;
void *main_pointer;
bool turn_over, looking; /* whether who leaves only waits for what others do: those not begun, too */
uint64_t changes, looked_at; /* of memory and of what threads wait for; when one last looked */
uint64_t vain_looks;
uint32_t looked_from;
size_t threads_alive;

/* Where the thread is: at a place of its kernel's own code. */
unsigned depth;
uint32_t outer;
uint32_t here(const void *from) { return depth > 1 && outer ? outer : place(from); }

Thread &self() { return block->threads[running]; }

std::string who() {
    char text[200];
    snprintf(text, sizeof text, "block (%u, %u, %u), thread (%u, %u, %u)", emu_now.block.x, emu_now.block.y,
             emu_now.block.z, emu_now.thread.x, emu_now.thread.y, emu_now.thread.z);
    return text;
}

/* A finding about one place, or line where that is not known. */
void report_at(const char *what, uint32_t at, int line) {
    if (!is_new(what, at ? at : (uint32_t)line, 0, 0)) return;
    std::string where = line_of(at);
    if (where.empty() && line) where = "line " + std::to_string(line);
    print(what + (where.empty() ? "" : ", " + where) + ": " + who());
}
void report(const char *what, const void *from, int line) { report_at(what, here(from), line); }

/* A finding about the launch. */
void report(const std::string &what, const char *key) {
    if (is_new(key, 0, 0, 0)) print(what + ": " + argument(launch->call, 0));
}

/* ---- turns ------------------------------------------------------------------------- */

void become(unsigned rank) {
    Thread &next = block->threads[rank];
    running = rank;
    emu_now.thread = next.place;
    current_stack = next.stack;
    depth = next.depth;
    outer = next.outer;
    EMU_COUNT(count_thread(block->counted, rank);)
}

void entry();
void check_last_store();

/* Gives the processor to another thread, and returns when it is this one's turn again. */
void leave(void **save) {
    Block &own = *block;
    void *load = main_pointer;
    check_last_store();
    if (running < own.threads.size()) {
        self().depth = depth;
        self().outer = outer;
    }
    const bool some_ready = own.ready_at < own.ready.size(), some_left = own.not_started_at < own.not_started.size();
    if (some_ready && shuffled) {
        const size_t other = own.ready_at + draw((unsigned)(own.ready.size() - own.ready_at));
        std::swap(own.ready[other], own.ready[own.ready_at]);
    }
    const bool only_looks = looking;
    looking = false;
    if (turn_over) {
        turn_over = false;
    } else if (some_ready && !(some_left && only_looks)) {
        const unsigned next = own.ready[own.ready_at++];
        if (own.ready_at == own.ready.size() || own.ready_at == 4096) {
            own.ready.erase(own.ready.begin(), own.ready.begin() + (long)own.ready_at);
            own.ready_at = 0;
        }
        /* A thread that gave way may be drawn again: its stack is in use, not saved. */
        if (next == running) return;
        become(next);
        load = own.threads[next].stack_pointer;
    } else if (some_left) {
        const unsigned next = own.not_started[own.not_started_at++];
        own.threads[next].stack = take_stack();
        become(next);
        load = fresh_thread(own.threads[next].stack, entry);
    }
    emu_switch(save, load);
}

bool can_go_on(const Block &own) {
    return own.ready_at < own.ready.size() || own.not_started_at < own.not_started.size();
}

/* Lets others go on, of this block or, at the end of its turn, of another. */
void give_way(bool end_of_turn) {
    block->ready.push_back(running);
    turn_over = end_of_turn;
    leave(&self().stack_pointer);
}

/* The thread looked at memory that others may change, and did not change it. */
void look(bool at_once) {
    if (++self().looks % LOOKS_APART != 0 && !at_once) return;
    vain_looks = looked_at == changes ? vain_looks + 1 : 0;
    looked_at = changes;
    const size_t others = block->ready.size() - block->ready_at;
    const bool all_did = ++block->vain > others && block->not_started_at == block->not_started.size();
    if (all_did) block->vain = 0;
    looking = true;
    give_way(all_did);
}

/* Threads that met learn what each of them learned from fences. */
void share_learned(unsigned first, unsigned end, unsigned mask) {
    Knowledge all;
    for (unsigned rank = first; rank < end; rank++) {
        const Thread &one = block->threads[rank];
        if ((mask >> (rank & 31u) & 1u) && one.fences) all = joined(all, one.fences->learned);
    }
    if (!all) return;
    for (unsigned rank = first; rank < end; rank++) {
        Thread &one = block->threads[rank];
        if (!(mask >> (rank & 31u) & 1u)) continue;
        if (!one.fences) one.fences.reset(new Fences());
        one.fences->learned = all;
    }
}

/* All threads of a block that have not finished stand at the barrier. */
void release_barrier() {
    Block &own = *block;
    own.barriers++;
    own.waiting = 0;
    changes++;
    if (fenced) share_learned(0, (unsigned)own.threads.size(), ~0u);
    for (unsigned rank = 0; rank < own.threads.size(); rank++)
        if (!own.threads[rank].finished && rank != running) own.ready.push_back(rank);
}

/* The first frame of a fibre: runs threads for as long as none of them waits. */
void entry() {
    for (;;) {
        launch->kernel.run(launch->kernel.closure);
        check_last_store();
        Thread &own = self();
        own.finished = true;
        block->live--;
        changes++;
        if (block->waiting > 0 && block->waiting == block->live) {
            report_at("threads have left before a barrier that others wait at", 0, block->barrier_line);
            running = ~0u;
            release_barrier();
        }
        if (block->ready_at == block->ready.size() && block->not_started_at < block->not_started.size()) {
            const unsigned next = block->not_started[block->not_started_at++];
            block->threads[next].stack = own.stack;
            become(next);
            continue;
        }
        free_stacks.push_back(own.stack);
        own.stack = -1;
        running = ~0u;
        void *unused;
        leave(&unused);
    }
}

/* ---- launches ---------------------------------------------------------------------- */

std::vector<std::unique_ptr<Block>> alive, spare;

void begin_block(uint64_t number) {
    if (spare.empty()) spare.emplace_back(new Block());
    alive.push_back(std::move(spare.back()));
    spare.pop_back();
    Block &own = *alive.back();
    const dim3 blocks = launch->blocks, shape = launch->threads;
    const unsigned count = shape.x * shape.y * shape.z;
    own.number = (uint32_t)number;
    own.place.x = (unsigned)(number % blocks.x);
    own.place.y = (unsigned)(number / blocks.x % blocks.y);
    own.place.z = (unsigned)(number / blocks.x / blocks.y);
    own.threads.resize(count);
    own.warps.resize((count + 31) / 32);
    own.not_started.resize(count);
    for (unsigned rank = 0; rank < count; rank++) {
        Thread &thread = own.threads[rank];
        thread.place.x = rank % shape.x;
        thread.place.y = rank / shape.x % shape.y;
        thread.place.z = rank / shape.x / shape.y;
        thread.finished = false;
        thread.stack = -1;
        thread.looks = thread.depth = 0;
        thread.outer = 0;
        thread.narrow = NULL;
        thread.fences.reset();
        if (checked) {
            memset(thread.clock, 0, sizeof thread.clock);
            thread.clock[rank & 31u] = 1;
        }
        own.not_started[rank] = rank;
    }
    if (shuffled)
        for (unsigned rank = count; rank > 1; rank--) std::swap(own.not_started[draw(rank)], own.not_started[rank - 1]);
    for (Warp &warp : own.warps) warp.meetings.clear();
    own.ready.clear();
    own.ready_at = own.not_started_at = 0;
    own.live = count;
    own.waiting = own.barriers = own.vain = 0;
    own.barrier_line = 0;
    const size_t words = shared_arrays.empty() ? 0 : shared_arrays.back().word;
    own.shared.assign(words, 0xffffffffu);
    if (checked) {
        own.cells.assign(words, Cell());
        own.written.assign(words, 0);
    }
    threads_alive += count;
    EMU_COUNT(begin_counting(own.counted, count);)
}

void end_block(size_t at) {
    Block &own = *alive[at];
    EMU_COUNT(end_counting(own.counted, (unsigned)own.threads.size());)
    for (Thread &thread : own.threads)
        if (thread.stack >= 0 && !thread.finished) free_stacks.push_back(thread.stack);
    if (loaded == &own) loaded = NULL;
    threads_alive -= own.threads.size();
    spare.push_back(std::move(alive[at]));
    alive.erase(alive.begin() + (long)at);
}

/* Brings the block's shared memory to where the kernel looks for it. */
void load(Block &next) {
    if (loaded == &next) return;
    for (size_t k = 0; k + 1 < shared_arrays.size(); k++) {
        const Shared &array = shared_arrays[k];
        const size_t bytes = (size_t)(array.end - array.begin);
        if (loaded) memcpy(&loaded->shared[array.word], array.begin, bytes);
        memcpy(array.begin, &next.shared[array.word], bytes);
    }
    loaded = &next;
}

/* Finds the kernel's shared memory; the last entry is the end. */
void find_shared() {
    shared_arrays.clear();
    size_t words = 0;
    const std::string name = argument(launch->call, 0);
    for (const emu_part *part = emu_arrays_begin; part < emu_arrays_end; part++) {
        if (name != part->function) continue;
        shared_arrays.push_back({part->begin, part->end, words});
        words += ((size_t)(part->end - part->begin) + 3) / 4;
    }
    if (words) shared_arrays.push_back({NULL, NULL, words});
}

/* Runs all blocks: begun in the order of their numbers, or in one that EMU_SEED draws. */
void run_blocks() {
    const dim3 blocks = launch->blocks;
    const uint64_t total = (uint64_t)blocks.x * blocks.y * blocks.z;
    uint64_t start = 0, step = 1, begun = 0;
    if (shuffled && total > 1) {
        start = draw(1u << 30) % total;
        const auto divisor = [](uint64_t a, uint64_t b) {
            while (b) std::swap(a %= b, b);
            return a;
        };
        do step = 1 + draw(1u << 30) % total;
        while (divisor(step, total) != 1);
    }
    size_t turn = 0;
    vain_looks = 0;
    while ((begun < total || !alive.empty()) && findings.size() < MOST_FINDINGS) {
        while (begun < total && alive.size() < ALIVE) {
            begin_block((start + begun * step) % total);
            begun++;
        }
        turn = shuffled ? draw((unsigned)alive.size()) : turn % alive.size();
        block = alive[turn].get();
        load(*block);
        emu_now.block = block->place;
        running = ~0u;
        leave(&main_pointer);
        current_stack = -1;
        EMU_COUNT(count_nobody();)
        if (block->live == 0) {
            end_block(turn);
        } else if (!can_go_on(*block)) {
            running = 0;
            report_at("threads wait for others that never come", 0, block->barrier_line);
            end_block(turn);
        } else if (vain_looks > VAIN_LOOKS * threads_alive) {
            report_at("threads look for a change that never comes", looked_from, 0);
            break;
        } else {
            turn++;
        }
    }
    while (!alive.empty()) end_block(alive.size() - 1);
    current_stack = -1;
}

} /* namespace */

#endif
