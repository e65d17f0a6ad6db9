/* Runs the blocks of a launch on a CPU, one after another, in an order that EMU_SEED draws.
 *
 * Threads are fibres that run until they wait: at a barrier, or at a warp operation, where
 * the lanes of its mask meet. What the machine would punish is reported: barriers and warp
 * operations that not all of their threads reach, or reach at different places; lanes that
 * read from lanes that are not there.
 *
 * Where the kernels were compiled with -fsanitize=thread and this file is linked in place
 * of its library, every access of a kernel calls one of the functions at the end. A shadow
 * of the memory keeps, for each four bytes, who wrote and who read them last. Reported are
 * accesses outside of all arrays, reads of what nobody wrote, host memory and other
 * threads' variables, and races: accesses of two threads, one of them a store, not both
 * atomic, that neither a barrier nor a warp operation nor the end of a launch orders -
 * whether or not this run's order exposes them. EMU_PREEMPT=1 also switches threads at
 * random accesses.
 */
#include "cuda_runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

emu_place emu_now;

/* Shared memory of the block at hand, if any kernel declares some. */
extern char shared_begin[] __asm__("__start_emu_shared") __attribute__((weak, visibility("hidden")));
extern char shared_end[] __asm__("__stop_emu_shared") __attribute__((weak, visibility("hidden")));

namespace {

const size_t STACK = 256 * 1024, ARENA = (size_t)1 << 33, GAP = 256;

/* ---- reports ------------------------------------------------------------------ */

char first_report[240];
int reports;

void report(const char *what, const void *at, int line) {
    char place[160];
    snprintf(place, sizeof place, "block (%u, %u, %u), thread (%u, %u, %u)", emu_now.block.x, emu_now.block.y,
             emu_now.block.z, emu_now.thread.x, emu_now.thread.y, emu_now.thread.z);
    char text[240];
    if (line) snprintf(text, sizeof text, "%s, line %d: %s", what, line, place);
    else snprintf(text, sizeof text, "%s at %p: %s", what, at, place);
    if (reports++ == 0) memcpy(first_report, text, sizeof text);
    if (reports <= 8) fprintf(stderr, "emulator: %s\n", text);
}

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

/* ---- fibres ----------------------------------------------------------------------- */

struct Thread {
    uint3 place;
    void *stack_pointer; /* while it waits */
    int stack;           /* which one it has, or -1 */
    bool finished;
    size_t meeting; /* where it last met other lanes */
    uint32_t clock[32]; /* what it knows of the lanes of its warp */
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

std::vector<char *> stacks;
std::vector<int> free_stacks;
std::vector<Thread> threads;
std::vector<Warp> warps;
std::vector<unsigned> ready;
size_t ready_at;
unsigned running, live, waiting, barriers;
int barrier_line;
void *main_pointer;
void (*body)(void *);
void *body_closure;
std::vector<unsigned> not_started;
size_t not_started_at;
uint32_t launch_number, block_number;
int current_stack = -1;

extern "C" void emu_switch(void **save, void *load);
#if defined(__x86_64__)
__asm__(".text\n.local emu_switch\n.type emu_switch, @function\nemu_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
void *fresh_frame(char *top, void (*entry)()) {
    void **sp = (void **)(void *)top;
    *--sp = NULL; /* where the entry would return to; keeps the stack aligned */
    *--sp = (void *)entry;
    for (int k = 0; k < 6; k++) *--sp = NULL;
    return sp;
}
#elif defined(__aarch64__)
__asm__(".text\n.local emu_switch\n.type emu_switch, %function\nemu_switch:\n"
        "stp x19, x20, [sp, #-160]!\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
        "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
        "ldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\nldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\n"
        "ldp x29, x30, [sp, #80]\nldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\nldp x19, x20, [sp], #160\nret\n");
void *fresh_frame(char *top, void (*entry)()) {
    void **sp = (void **)(void *)(top - 160);
    memset(sp, 0, 160);
    sp[11] = (void *)entry;
    return sp;
}
#else
#error "the emulator switches stacks on x86-64 and arm64 only"
#endif

void become(unsigned rank) {
    running = rank;
    emu_now.thread = threads[rank].place;
    current_stack = threads[rank].stack;
}

void entry();

/* Gives the processor to another thread, and returns when it is this one's turn again. */
void leave(void **save) {
    void *load;
    if (ready_at < ready.size()) {
        if (shuffled) {
            size_t other = ready_at + draw((unsigned)(ready.size() - ready_at));
            unsigned swap = ready[other];
            ready[other] = ready[ready_at];
            ready[ready_at] = swap;
        }
        unsigned next = ready[ready_at++];
        if (ready_at == ready.size()) {
            ready.clear();
            ready_at = 0;
        }
        /* A thread that was preempted may be drawn again: its stack is in use, not saved. */
        if (next == running) return;
        become(next);
        load = threads[next].stack_pointer;
    } else if (not_started_at < not_started.size()) {
        unsigned next = not_started[not_started_at++];
        int stack;
        if (free_stacks.empty()) {
            void *room = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (room == MAP_FAILED) {
                fprintf(stderr, "emulator: no memory for the stack of a thread\n");
                abort();
            }
            stacks.push_back((char *)room);
            stack = (int)stacks.size() - 1;
        } else {
            stack = free_stacks.back();
            free_stacks.pop_back();
        }
        threads[next].stack = stack;
        become(next);
        /* Tops at different offsets do not all fall into the same sets of the cache. */
        load = fresh_frame(stacks[(size_t)stack] + STACK - 64 - (size_t)(stack % 61) * 64, entry);
    } else {
        load = main_pointer;
    }
    emu_switch(save, load);
}

/* All threads of a block that have not finished stand at the barrier. */
void release_barrier() {
    barriers++;
    waiting = 0;
    for (unsigned rank = 0; rank < threads.size(); rank++)
        if (!threads[rank].finished && rank != running) ready.push_back(rank);
}

/* The first frame of a fibre: runs threads for as long as none of them waits. */
void entry() {
    for (;;) {
        body(body_closure);
        Thread &self = threads[running];
        self.finished = true;
        live--;
        if (waiting > 0 && waiting == live) {
            report("a thread leaves while others wait at a barrier", NULL, barrier_line);
            running = ~0u;
            release_barrier();
        }
        if (ready_at == ready.size() && not_started_at < not_started.size()) {
            unsigned next = not_started[not_started_at++];
            threads[next].stack = self.stack;
            become(next);
            continue;
        }
        free_stacks.push_back(self.stack);
        void *unused;
        leave(&unused);
    }
}

/* ---- memory ------------------------------------------------------------------------- */

struct Piece {
    size_t begin, bytes;
};
char *arena;
std::vector<Piece> pieces; /* in order of their addresses */

void begin_shadow();
void note_written(const void *at, size_t bytes);
void forget(const void *at, size_t bytes);
void forget_shared();
extern bool checked;

void make_arena() {
    if (arena) return;
    void *room = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room != MAP_FAILED) arena = (char *)room;
    begin_shadow();
}

bool in_arena(const void *at) { return arena && (const char *)at >= arena && (const char *)at < arena + ARENA; }

/* The piece that holds the bytes. */
bool allocated(const void *at, size_t bytes) {
    static Piece last;
    size_t begin = (size_t)((const char *)at - arena);
    if (begin >= last.begin && begin + bytes <= last.begin + last.bytes) return true;
    size_t lo = 0, hi = pieces.size();
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;
        if (pieces[middle].begin <= begin) lo = middle + 1;
        else hi = middle;
    }
    if (lo == 0) return false;
    const Piece &piece = pieces[lo - 1];
    /* Words of narrow elements reach over the end. */
    const size_t end = piece.begin + (piece.bytes + 3) / 4 * 4;
    if (begin + bytes > end) return false;
    last.begin = piece.begin;
    last.bytes = end - piece.begin;
    return true;
}

std::mutex one_at_a_time;

cudaError_t set(void *array, int value, size_t bytes) {
    if (!in_arena(array) || !allocated(array, bytes)) return cudaErrorInvalidValue;
    memset(array, value, bytes);
    note_written(array, bytes);
    return cudaSuccess;
}

/* ---- graphs ---------------------------------------------------------------------------- */

/* The stream that is captured, if any: one at a time. */
struct Capture {
    cudaStream_t stream;
    cudaStreamCaptureMode mode;
    bool valid;
    std::vector<std::function<cudaError_t()>> nodes;
};
std::unique_ptr<Capture> capture;
cudaError_t last_error = cudaSuccess;

bool captures(cudaStream_t stream) { return capture && stream && capture->stream == stream; }

/* Whether a call that a capture does not allow comes amid one, which it ends. */
bool disturbs() {
    if (!capture || capture->mode == cudaStreamCaptureModeRelaxed) return false;
    capture->valid = false;
    return true;
}

} /* namespace */

struct CUstream_st {};
struct CUgraph_st {
    std::vector<std::function<cudaError_t()>> nodes;
};
struct CUgraphExec_st : CUgraph_st {};

/* ---- the runtime's functions ----------------------------------------------------------- */

cudaError_t cudaMalloc(void **array, size_t bytes) {
    if (disturbs()) return cudaErrorStreamCaptureUnsupported;
    configure();
    make_arena();
    if (!arena) return cudaErrorMemoryAllocation;
    size_t at = GAP, place = 0;
    for (; place < pieces.size(); place++) {
        if (at + bytes + GAP <= pieces[place].begin) break;
        at = (pieces[place].begin + pieces[place].bytes + GAP + 255) / 256 * 256;
    }
    if (bytes > ARENA - GAP || at > ARENA - GAP - bytes) return cudaErrorMemoryAllocation;
    Piece piece = {at, bytes};
    pieces.insert(pieces.begin() + (long)place, piece);
    *array = arena + at;
    memset(*array, 0xff, bytes);
    forget(*array, bytes);
    return cudaSuccess;
}

cudaError_t cudaFree(void *array) {
    if (!array) return cudaSuccess;
    if (disturbs()) return cudaErrorStreamCaptureUnsupported;
    for (size_t k = 0; k < pieces.size(); k++)
        if (arena + pieces[k].begin == array) {
            forget(array, pieces[k].bytes);
            pieces.erase(pieces.begin() + (long)k);
            return cudaSuccess;
        }
    return cudaErrorInvalidValue;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    if (disturbs()) return cudaErrorStreamCaptureImplicit;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (in_arena(to) != to_device || in_arena(from) != from_device) return cudaErrorInvalidValue;
    if ((to_device && !allocated(to, bytes)) || (from_device && !allocated(from, bytes))) return cudaErrorInvalidValue;
    memcpy(to, from, bytes);
    if (to_device) note_written(to, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *array, int value, size_t bytes) {
    if (disturbs()) return cudaErrorStreamCaptureImplicit;
    return set(array, value, bytes);
}

cudaError_t cudaMemsetAsync(void *array, int value, size_t bytes, cudaStream_t stream) {
    if (captures(stream)) {
        capture->nodes.push_back([=] { return set(array, value, bytes); });
        return cudaSuccess;
    }
    if (disturbs()) return cudaErrorStreamCaptureImplicit;
    return set(array, value, bytes);
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return disturbs() ? cudaErrorStreamCaptureUnsupported : cudaSuccess; }
cudaError_t cudaDeviceSynchronize(void) { return disturbs() ? cudaErrorStreamCaptureUnsupported : cudaSuccess; }

cudaError_t cudaGetLastError(void) {
    const cudaError_t failed = reports > 0 ? cudaErrorLaunchFailure : last_error;
    reports = 0;
    last_error = cudaSuccess;
    return failed;
}

const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorLaunchFailure: return first_report;
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureImplicit: return "operation would make the legacy stream depend on a capturing stream";
    }
    return "unknown error";
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    *stream = new CUstream_st();
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (captures(stream)) capture.reset();
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    if (!stream || capture) return cudaErrorStreamCaptureUnsupported;
    capture.reset(new Capture{stream, mode, true, {}});
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    *graph = NULL;
    if (!captures(stream)) return cudaErrorInvalidValue;
    const std::unique_ptr<Capture> done = std::move(capture);
    if (!done->valid) return cudaErrorStreamCaptureInvalidated;
    *graph = new CUgraph_st{done->nodes};
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long) {
    *executable = new CUgraphExec_st();
    (*executable)->nodes = graph->nodes;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    if (capture && (captures(stream) || disturbs())) return cudaErrorStreamCaptureUnsupported;
    for (const std::function<cudaError_t()> &node : executable->nodes)
        if (const cudaError_t error = node()) return error;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    delete executable;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}

/* ---- synchronisation ---------------------------------------------------------------------- */

unsigned emu_lane(void) { return running & 31u; }

void emu_barrier(int line) {
    if (waiting > 0 && line != barrier_line) report("threads meet in different barriers", NULL, line);
    barrier_line = line;
    waiting++;
    if (waiting == live) {
        release_barrier();
        return;
    }
    leave(&threads[running].stack_pointer);
}

void emu_exchange(unsigned mask, int operation, uint64_t word, int line) {
    const unsigned self = running, lane = self & 31u, first = self & ~31u;
    Warp &warp = warps[self / 32];
    if (!(mask >> lane & 1u)) {
        report("a lane is not in its own mask", NULL, line);
        mask |= 1u << lane;
    }
    size_t at = 0;
    while (at < warp.meetings.size() && (warp.meetings[at].here == 0 || warp.meetings[at].mask != mask)) at++;
    if (at == warp.meetings.size()) {
        for (size_t k = 0; k < warp.meetings.size(); k++) {
            const Meeting &other = warp.meetings[k];
            /* Each waits for the other. Lanes that come to both in turn may wait at either. */
            if ((other.mask >> lane & 1u) && (other.here & mask) != 0) report("lanes of a warp wait with different masks", NULL, line);
        }
        for (at = 0; at < warp.meetings.size() && warp.meetings[at].mask != mask; at++) {}
        if (at == warp.meetings.size()) warp.meetings.push_back(Meeting());
        Meeting &fresh = warp.meetings[at];
        fresh.mask = mask;
        fresh.here = 0;
        fresh.operation = operation;
        fresh.line = line;
        for (unsigned other = 0; other < 32; other++) {
            const bool there = first + other < threads.size() && !threads[first + other].finished;
            if ((mask >> other & 1u) && !there) report("a mask names a lane that is not there", NULL, line);
        }
    }
    Meeting *meeting = &warp.meetings[at];
    if (meeting->operation != operation || meeting->line != line) report("lanes of a warp meet in different operations", NULL, line);
    meeting->words[lane] = word;
    meeting->here |= 1u << lane;
    if ((meeting->here & mask) != mask) {
        threads[self].meeting = at;
        leave(&threads[self].stack_pointer);
        return;
    }
    threads[self].meeting = at;
    memcpy(meeting->results, meeting->words, sizeof meeting->words);
    meeting->here = 0;
    /* All of them know what each of them did before. */
    uint32_t known[32] = {0};
    for (unsigned other = 0; other < 32; other++) {
        if (!(mask >> other & 1u) || first + other >= threads.size()) continue;
        for (unsigned k = 0; k < 32; k++)
            if (threads[first + other].clock[k] > known[k]) known[k] = threads[first + other].clock[k];
    }
    for (unsigned other = 0; other < 32; other++) {
        if (!(mask >> other & 1u) || first + other >= threads.size()) continue;
        memcpy(threads[first + other].clock, known, sizeof known);
        threads[first + other].clock[other]++;
        if (other != lane && !threads[first + other].finished) ready.push_back(first + other);
    }
}

uint64_t emu_word(unsigned mask, unsigned lane, int line) {
    if (!(mask >> lane & 1u)) report("a shuffle reads from a lane that does not take part", NULL, line);
    return warps[running / 32].meetings[threads[running].meeting].results[lane];
}

/* ---- launches ------------------------------------------------------------------------------- */

static void run(void (*thread)(void *), void *closure, dim3 blocks, dim3 block) {
    std::lock_guard<std::mutex> guard(one_at_a_time);
    configure();
    make_arena();
    const unsigned count = block.x * block.y * block.z;
    emu_now.threads = block;
    emu_now.blocks = blocks;
    body = thread;
    body_closure = closure;
    launch_number++;
    const uint64_t total = (uint64_t)blocks.x * blocks.y * blocks.z;
    const uint64_t start = shuffled ? draw(1u << 30) % total : 0;
    threads.resize(count);
    warps.resize((count + 31) / 32);
    not_started.resize(count);
    for (uint64_t n = 0; n < total && reports < 8; n++) {
        const uint64_t at = (start + n) % total;
        emu_now.block.x = (unsigned)(at % blocks.x);
        emu_now.block.y = (unsigned)(at / blocks.x % blocks.y);
        emu_now.block.z = (unsigned)(at / blocks.x / blocks.y);
        block_number = (uint32_t)at;
        for (unsigned rank = 0; rank < count; rank++) {
            Thread &own = threads[rank];
            own.place.x = rank % block.x;
            own.place.y = rank / block.x % block.y;
            own.place.z = rank / block.x / block.y;
            own.finished = false;
            own.stack = -1;
            if (checked) {
                memset(own.clock, 0, sizeof own.clock);
                own.clock[rank & 31u] = 1;
            }
            not_started[rank] = rank;
        }
        if (shuffled)
            for (unsigned rank = count; rank > 1; rank--) {
                unsigned other = draw(rank), swap = not_started[other];
                not_started[other] = not_started[rank - 1];
                not_started[rank - 1] = swap;
            }
        for (size_t k = 0; k < warps.size(); k++) warps[k].meetings.clear();
        ready.clear();
        ready_at = not_started_at = 0;
        live = count;
        waiting = barriers = 0;
        if (shared_end > shared_begin) {
            memset(shared_begin, 0xff, (size_t)(shared_end - shared_begin));
            forget_shared();
        }
        leave(&main_pointer);
        if (live > 0) {
            running = 0;
            report("threads wait for others that never come", NULL, barrier_line);
            free_stacks.clear();
            for (int k = 0; k < (int)stacks.size(); k++) free_stacks.push_back(k);
        }
    }
    current_stack = -1;
}

void emu_enqueue(void (*thread)(void *), void *(*copy)(const void *), void (*drop)(void *), void *closure, dim3 blocks,
                 dim3 block, cudaStream_t stream) {
    if (captures(stream)) {
        const std::shared_ptr<void> kept(copy(closure), drop);
        capture->nodes.push_back([=] {
            run(thread, kept.get(), blocks, block);
            return cudaGetLastError();
        });
    } else if (disturbs()) {
        last_error = cudaErrorStreamCaptureImplicit;
    } else {
        run(thread, closure, blocks, block);
    }
}

/* ---- the checker ------------------------------------------------------------------------------- */

namespace {

bool checked; /* set by the first call of a sanitized file */

/* Who accessed four bytes. */
struct Access {
    uint32_t launch, block, clock;
    uint16_t thread, barrier;
    uint8_t bytes, atomic;
};
struct Cell {
    Access write, read[2];
    uint8_t written; /* bytes that hold something */
};
Cell *shadow;
std::vector<Cell> shared_shadow;

void begin_shadow() {
    if (!checked || shadow) return;
    void *room = mmap(NULL, ARENA / 4 * sizeof(Cell), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room != MAP_FAILED) shadow = (Cell *)room;
    else fprintf(stderr, "emulator: no memory for checks; they are left out\n");
}

void note_written(const void *at, size_t bytes) {
    if (!shadow) return;
    size_t begin = (size_t)((const char *)at - arena), end = begin + bytes;
    for (size_t k = begin; k < end;) {
        Cell &cell = shadow[k / 4];
        if (k % 4 == 0 && k + 4 <= end) {
            cell.written = 15;
            k += 4;
        } else {
            cell.written |= (uint8_t)(1u << k % 4);
            k++;
        }
    }
}

void forget(const void *at, size_t bytes) {
    if (!shadow || bytes == 0) return;
    size_t begin = (size_t)((const char *)at - arena);
    memset(&shadow[begin / 4], 0, ((begin + bytes + 3) / 4 - begin / 4) * sizeof(Cell));
}

void forget_shared() {
    if (!checked) return;
    shared_shadow.assign((size_t)(shared_end - shared_begin) / 4 + 2, Cell());
}

/* Whether the access before is ordered before what the running thread does now. */
bool ordered(const Access &before) {
    if (before.launch != launch_number) return true;
    if (before.block != block_number) return false;
    if (before.thread == running || before.barrier != (uint16_t)barriers) return true;
    if (before.thread / 32u != running / 32) return false;
    return threads[running].clock[before.thread % 32u] >= before.clock;
}

const void *narrow_at;
size_t narrow_bytes;

void check_cell(Cell &cell, unsigned bytes, bool write, bool atomic, const void *at, bool shared) {
    if (!write && !atomic && (cell.written & bytes) != bytes) {
        report(shared ? "shared memory is read before it is written" : "memory is read before it is written", at, 0);
        cell.written |= (uint8_t)bytes;
    }
    const bool hits_write = cell.write.launch && (cell.write.bytes & bytes);
    if (hits_write && !(atomic && cell.write.atomic) && !ordered(cell.write))
        report(cell.write.block == block_number ? "a race between threads of a block" : "a race between blocks", at, 0);
    if (write)
        for (int k = 0; k < 2; k++) {
            const Access &read = cell.read[k];
            if (read.launch && (read.bytes & bytes) && !(atomic && read.atomic) && !ordered(read))
                report(read.block == block_number ? "a race between threads of a block" : "a race between blocks", at, 0);
        }
    Access now;
    now.launch = launch_number;
    now.block = block_number;
    now.clock = threads[running].clock[running & 31u];
    now.thread = (uint16_t)running;
    now.barrier = (uint16_t)barriers;
    now.bytes = (uint8_t)bytes;
    now.atomic = atomic;
    if (write) {
        /* Bytes that others wrote before stay theirs only if nothing is lost by it. */
        cell.write = now;
        cell.written |= (uint8_t)bytes;
    } else {
        const bool same = cell.read[0].launch == launch_number && cell.read[0].block == block_number &&
                          cell.read[0].thread == running;
        if (!same) cell.read[1] = cell.read[0];
        cell.read[0] = now;
    }
}

void check(const void *at, size_t bytes, bool write, bool atomic) {
    const char *address = (const char *)at;
    Cell *cells;
    size_t begin;
    bool shared = false;
    if (in_arena(at)) {
        if (current_stack < 0) return report("the host touches memory of the device", at, 0);
        if (!allocated(at, bytes)) return report("an access outside of all arrays", at, 0);
        if (!shadow) return;
        cells = shadow;
        begin = (size_t)(address - arena);
    } else if (current_stack < 0) {
        return;
    } else if (address >= shared_begin && address < shared_end) {
        cells = shared_shadow.data();
        begin = (size_t)(address - shared_begin);
        shared = true;
    } else {
        const char *own = stacks[(size_t)current_stack];
        if (address >= own && address < own + STACK) return;
        if (address >= (const char *)&emu_now && address < (const char *)(&emu_now + 1)) return;
        for (size_t k = 0; k < stacks.size(); k++)
            if (address >= stacks[k] && address < stacks[k] + STACK)
                return report("another thread's variable is accessed", at, 0);
        Dl_info info;
        if (dladdr(at, &info)) return; /* constants, and the lock */
        /* What the launch handed over lies on the host's stack, as in parameter memory. */
        const char *closure = (const char *)body_closure;
        if (!write && address >= closure && address < closure + 4096) return;
        return report("a kernel accesses memory of the host", at, 0);
    }
    for (size_t k = begin; k < begin + bytes;) {
        const size_t end = (k / 4 + 1) * 4 < begin + bytes ? (k / 4 + 1) * 4 : begin + bytes;
        unsigned mask = 0;
        for (size_t byte = k; byte < end; byte++) mask |= 1u << byte % 4;
        if (atomic && narrow_at) {
            const size_t first = (size_t)((const char *)narrow_at - address) + begin;
            unsigned own = 0;
            for (size_t byte = k; byte < end; byte++)
                if (byte >= first && byte < first + narrow_bytes) own |= 1u << byte % 4;
            if (own) mask = own;
        }
        check_cell(cells[k / 4], mask, write, atomic, at, shared);
        k = end;
    }
    if (preempts && !atomic && draw(16) == 0 && (ready_at < ready.size() || not_started_at < not_started.size())) {
        ready.push_back(running);
        leave(&threads[running].stack_pointer);
    }
}

} /* namespace */

void emu_narrow(const void *at, size_t bytes) {
    narrow_at = at;
    narrow_bytes = bytes;
}

void emu_atomic(const void *at, size_t bytes) {
    if (checked) check(at, bytes, true, true);
}

extern "C" {
void __tsan_init(void) { checked = true; }
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
#define EMU_ACCESS(n)                                                                \
    void __tsan_read##n(void *at) { check(at, n, false, false); }                    \
    void __tsan_write##n(void *at) { check(at, n, true, false); }                    \
    void __tsan_unaligned_read##n(void *at) { check(at, n, false, false); }          \
    void __tsan_unaligned_write##n(void *at) { check(at, n, true, false); }          \
    void __tsan_volatile_read##n(void *at) { check(at, n, false, false); }           \
    void __tsan_volatile_write##n(void *at) { check(at, n, true, false); }           \
    void __tsan_read_write##n(void *at) { check(at, n, false, false); check(at, n, true, false); }
EMU_ACCESS(1)
EMU_ACCESS(2)
EMU_ACCESS(4)
EMU_ACCESS(8)
EMU_ACCESS(16)
void __tsan_read_range(void *at, size_t bytes) { check(at, bytes, false, false); }
void __tsan_write_range(void *at, size_t bytes) { check(at, bytes, true, false); }
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
    check(from, bytes, false, false);
    check(to, bytes, true, false);
    return memcpy(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes) {
    check(to, bytes, true, false);
    return memset(to, value, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes) {
    check(from, bytes, false, false);
    check(to, bytes, true, false);
    return memmove(to, from, bytes);
}
}
