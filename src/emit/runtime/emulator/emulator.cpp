/* Runs CUDA kernels on a CPU.
 *
 * Threads are fibres that run until they wait: at a barrier, or at a warp operation, where
 * the lanes of its mask meet. Eight blocks are alive at a time and take turns, which end at
 * barriers and where all threads of a block only look (by atomic or volatile accesses) whether
 * something has changed. Blocks begin in the order of their numbers, or in one that EMU_SEED
 * draws, as the order of threads and turns. EMU_PREEMPT=1 also switches threads and blocks at
 * random accesses.
 *
 * What the machine would punish is reported:
 * - barriers and warp operations that not all of their threads reach, or reach at different
 *   places; a barrier that others reach after threads have left (CUDA leaves it undefined, what
 *   sm_70 does about it is no promise); lanes that read from lanes that are not there;
 * - waiting for what never comes: in a block, at once; for changes of memory, when each thread
 *   alive has looked 16000 times on average and nothing was written meanwhile. (A loop that
 *   writes while it waits, or waits by plain loads, is not ended.)
 * - launches of more threads than __launch_bounds__ says, or than 1024, or with more than 48 KB
 *   of static shared memory.
 *
 * Where the kernels were compiled with -fsanitize=thread,bounds and this file is
 * linked in place of its libraries, every access of a kernel calls one of the functions at the
 * end. Each pointer parameter has a mapping of the device's memory of its own (memory.h), so an
 * address says which array was meant. A shadow (shadow.h) keeps, for each four bytes, what was
 * written and every access that an access to come could race with. Reported are
 * - accesses outside of the array: of a parameter, a freed one, an array of a workspace or of
 *   shared memory; indices outside of arrays of constant size;
 * - accesses that are not aligned to their type, and reads of what nobody wrote, host memory and
 *   other threads' variables;
 * - races: accesses of two threads, one of them a store, not both atomic, that no barrier, warp
 *   operation, fence or end of a launch orders - whether or not this run's order exposes them.
 *   A fence orders what the thread knows of before what threads do after they read, by an atomic
 *   or volatile access, what a later atomic or volatile store of it left; of who reads no fence
 *   is asked for. A volatile store counts so only after a fence. Accesses by three blocks and more
 *   before a launch's first fence are summarised as if no fence ordered them.
 * - an element written by one parameter and accessed by another: all of them are __restrict__;
 * - variables used before they are set, as far as their value shows: they begin as bytes 0xfe
 *   (-ftrivial-auto-var-init), which are found where they are stored, shuffled, added
 *   atomically or read from a variable in memory. Elements of 4 bytes and more; sums of floats
 *   that such a value absorbs are found, products are only wrong.
 *
 * Reports name the element and the lines of both accesses (findings.h).
 */
#include "shadow.h"
#ifdef EMU_MODEL
#include "model.h"
#endif

#include <chrono>
#include <functional>
#include <mutex>

emu_place emu_now;

/* Where kernels with launch bounds lie, if there are some. */
extern emu_part emu_bounds_begin[] __asm__("__start_emu_bounds") __attribute__((weak, visibility("hidden")));
extern emu_part emu_bounds_end[] __asm__("__stop_emu_bounds") __attribute__((weak, visibility("hidden")));

namespace {

std::mutex one_at_a_time;

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
struct CUevent_st {
    bool recorded;
    std::chrono::steady_clock::time_point at;
};
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
    forget(piece);
    return cudaSuccess;
}

cudaError_t cudaFree(void *array) {
    if (!array) return cudaSuccess;
    if (disturbs()) return cudaErrorStreamCaptureUnsupported;
    for (size_t k = 0; k < pieces.size(); k++)
        if (arena + pieces[k].begin == array) {
            forget(pieces[k]);
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
    EMU_COUNT(count_clear(bytes);)
    return set(array, value, bytes);
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return disturbs() ? cudaErrorStreamCaptureUnsupported : cudaSuccess; }
cudaError_t cudaDeviceSynchronize(void) { return disturbs() ? cudaErrorStreamCaptureUnsupported : cudaSuccess; }

cudaError_t cudaGetLastError(void) {
    const cudaError_t failed = found_any ? cudaErrorLaunchFailure : last_error;
    found_any = false;
    last_error = cudaSuccess;
    return failed;
}

const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorLaunchFailure: return first_finding.c_str();
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

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = new CUevent_st();
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const auto record = [event] {
        *event = {true, std::chrono::steady_clock::now()};
        return cudaSuccess;
    };
    if (captures(stream)) {
        capture->nodes.push_back(record);
        return cudaSuccess;
    }
    if (!stream && disturbs()) return cudaErrorStreamCaptureImplicit;
    return record();
}

/* All that was enqueued is done. */
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    if (!from->recorded || !to->recorded) return cudaErrorInvalidResourceHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
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
    const void *from = __builtin_return_address(0);
    Block &own = *block;
    if (own.waiting > 0 && line != own.barrier_line) report("threads meet in different barriers", from, line);
    own.barrier_line = line;
    own.waiting++;
    if (own.waiting < own.live) return leave(&self().stack_pointer);
    if (own.live < own.threads.size()) report("threads have left before a barrier that others wait at", from, line);
    release_barrier();
    if (alive.size() > 1 && (!shuffled || draw(2) == 0)) give_way(true);
}

void emu_exchange(unsigned mask, int operation, uint64_t word, int line) {
    const void *from = __builtin_return_address(0);
    const unsigned lane = running & 31u, first = running & ~31u;
    std::vector<Thread> &threads = block->threads;
    Warp &warp = block->warps[running / 32];
    const auto lanes_of = [&](unsigned of, unsigned k) { return (of >> k & 1u) && first + k < threads.size(); };
    if (!(mask >> lane & 1u)) {
        report("a lane is not in its own mask", from, line);
        mask |= 1u << lane;
    }
    size_t at = 0;
    while (at < warp.meetings.size() && (warp.meetings[at].here == 0 || warp.meetings[at].mask != mask)) at++;
    if (at == warp.meetings.size()) {
        for (const Meeting &other : warp.meetings) {
            /* Each waits for the other. Lanes that come to both in turn may wait at either. */
            if ((other.mask >> lane & 1u) && (other.here & mask) != 0) report("lanes of a warp wait with different masks", from, line);
        }
        for (at = 0; at < warp.meetings.size() && warp.meetings[at].mask != mask; at++) {}
        if (at == warp.meetings.size()) warp.meetings.push_back(Meeting());
        Meeting &fresh = warp.meetings[at];
        fresh.mask = mask;
        fresh.here = 0;
        fresh.operation = operation;
        fresh.line = line;
        for (unsigned other = 0; other < 32; other++)
            if ((mask >> other & 1u) && (!lanes_of(mask, other) || threads[first + other].finished))
                report("a mask names a lane that is not there", from, line);
    }
    Meeting *meeting = &warp.meetings[at];
    if (meeting->operation != operation || meeting->line != line) report("lanes of a warp meet in different operations", from, line);
    if (checked && operation == 1 && unset(&word, 4) && word >> 32 == 0)
        report("a variable is used before it is set", from, line);
    meeting->words[lane] = word;
    meeting->here |= 1u << lane;
    self().meeting = at;
    if ((meeting->here & mask) != mask) return leave(&self().stack_pointer);
    memcpy(meeting->results, meeting->words, sizeof meeting->words);
    meeting->here = 0;
    changes++;
    /* All of them know what each of them did before. */
    uint32_t all[32] = {0};
    for (unsigned other = 0; other < 32; other++)
        if (lanes_of(mask, other))
            for (unsigned k = 0; k < 32; k++) all[k] = std::max(all[k], threads[first + other].clock[k]);
    for (unsigned other = 0; other < 32; other++) {
        if (!lanes_of(mask, other)) continue;
        memcpy(threads[first + other].clock, all, sizeof all);
        threads[first + other].clock[other]++;
        if (other != lane && !threads[first + other].finished) block->ready.push_back(first + other);
    }
    if (fenced) share_learned(first, std::min(first + 32, (unsigned)threads.size()), mask);
}

uint64_t emu_word(unsigned mask, unsigned lane, int line) {
    if (!(mask >> lane & 1u)) report("a shuffle reads from a lane that does not take part", __builtin_return_address(0), line);
    return block->warps[running / 32].meetings[self().meeting].results[lane];
}

void emu_fence(bool device) {
    Thread &own = self();
    if (!own.fences) own.fences.reset(new Fences());
    own.fences->near = known();
    if (device) own.fences->released = own.fences->near;
    own.clock[running & 31u]++;
    fenced = true;
}

void emu_pause(void) { look(true); }

void emu_narrow(const void *at, size_t bytes) {
    if (current_stack < 0) return;
    self().narrow = at;
    self().narrow_bytes = bytes;
}

void emu_atomic(const void *at, size_t bytes, const void *value, const void *from) {
    EMU_COUNT(if (current_stack >= 0) count_access(block->counted, running, at, bytes, true, from, shared_arrays);)
    if (!checked) return;
    /* Of a word that a narrow update exchanges, the elements beside are anything. */
    const bool narrow = current_stack >= 0 && self().narrow;
    if (unset(value, narrow ? self().narrow_bytes : bytes) && current_stack >= 0) report("a variable is used before it is set", from, 0);
    check_aligned(at, bytes, bytes, from);
    check(at, bytes, WRITE | ATOMIC, from);
}

void emu_done(bool changed) {
    if (current_stack < 0) return;
    if (!changed) return look(false);
    self().looks = 0;
    changes++;
}

/* ---- launches ------------------------------------------------------------------------------- */

static const char *next_call;

void emu_call(const char *text) { next_call = text; }

void emu_take(const void *array, size_t bytes) {
    if (!in_arena(array)) return;
    const size_t begin = offset_of(array), end = begin + std::max<size_t>(bytes, 1);
    auto at = parts.lower_bound(begin);
    if (at != parts.begin() && std::prev(at)->first + std::prev(at)->second > begin) at--;
    while (at != parts.end() && at->first < end) at = parts.erase(at);
    parts[begin] = bytes;
}

void emu_aligned(const void *array, unsigned bytes, unsigned size) {
    if (checked && current_stack >= 0) check_aligned(array, bytes, size, __builtin_return_address(0));
}

const void *emu_view(const void *array, size_t parameter) {
    if (!in_arena(array) || !checked) return array;
    const size_t at = std::min(parameter + 1, MAPPINGS - 1);
    return map_arena(at) ? arena + at * ARENA + offset_of(array) : array;
}

/* What CUDA's limits say of the launch at hand. */
static bool fits() {
    const dim3 shape = launch->threads;
    const uint64_t threads = (uint64_t)shape.x * shape.y * shape.z;
    const char *function = (const char *)launch->kernel.function;
    unsigned bound = 0; /* where several files were linked, kernels share sections */
    for (const emu_part *part = emu_bounds_begin; part < emu_bounds_end; part++)
        if (function >= part->begin && function < part->end) bound = std::max(bound, part->most);
    if (bound && threads > bound)
        report("a launch of " + std::to_string(threads) + " threads a block, where __launch_bounds__ says " + std::to_string(bound),
               "bounds");
    if (threads == 0 || threads > 1024 || shape.z > 64)
        report("a launch of " + std::to_string(threads) + " threads a block, where 1024 are the most", "threads");
    size_t bytes = 0;
    for (size_t k = 0; k + 1 < shared_arrays.size(); k++) bytes += (size_t)(shared_arrays[k].end - shared_arrays[k].begin);
    if (bytes > 48 * 1024)
        report(std::to_string(bytes) + " bytes of shared memory, where 49152 are the most", "shared memory");
    return findings.empty();
}

static void run(Launch &own) {
    std::lock_guard<std::mutex> guard(one_at_a_time);
    configure();
    make_arena();
    launch = &own;
    emu_now.threads = own.threads;
    emu_now.blocks = own.blocks;
    launch_number++;
    const unsigned host_depth = depth;
    find_shared();
    find_views();
    begin_shadows();
    EMU_COUNT(begin_launch(argument(launch->call, 0).c_str());)
    if (fits()) run_blocks();
    end_findings();
    EMU_COUNT(end_launch((double)own.blocks.x * own.blocks.y * own.blocks.z, own.threads.x * own.threads.y * own.threads.z);)
    depth = host_depth;
}

void emu_enqueue(const emu_kernel &kernel, cudaStream_t stream) {
    Launch own = {kernel, next_call, {kernel.arrays, kernel.arrays + kernel.count}, {}, kernel.blocks, kernel.threads};
    next_call = NULL;
    for (const emu_array &array : own.arrays) {
        const auto part = in_arena(array.at) ? parts.find(offset_of(array.at)) : parts.end();
        own.sizes.push_back(part == parts.end() ? 0 : part->second);
    }
    if (captures(stream)) {
        own.kernel.closure = kernel.copy(kernel.closure);
        const std::shared_ptr<void> kept(own.kernel.closure, kernel.drop);
        capture->nodes.push_back([own, kept]() mutable {
            run(own);
            return cudaGetLastError();
        });
    } else if (disturbs()) {
        last_error = cudaErrorStreamCaptureImplicit;
    } else {
        run(own);
    }
}

/* ---- what sanitized code calls ------------------------------------------------------------------ */

#define EMU_FROM __builtin_return_address(0)

extern "C" {
#ifdef EMU_MODEL
void __tsan_init(void) {}
static inline void count_plain(const void *at, size_t bytes, unsigned kind, const void *from) {
    if (current_stack < 0) return;
    count_access(block->counted, running, at, bytes, (kind & WRITE) != 0, from, shared_arrays);
    if (kind == VOLATILE) look(false);
    else if (kind & WRITE) changes++;
}
#define check count_plain
#define check_aligned(...) ((void)0)
#else
void __tsan_init(void) { checked = true; }
#endif
void __tsan_func_entry(void *from) {
    if (++depth == 2) outer = place(from);
}
void __tsan_func_exit(void) { depth--; }
static inline void check_plain(const void *at, size_t bytes, unsigned kind, const void *from) {
    check_aligned(at, bytes, bytes, from);
    check(at, bytes, kind, from);
}
#define EMU_ACCESS(n)                                                                           \
    void __tsan_read##n(void *at) { check_plain(at, n, READ, EMU_FROM); }                       \
    void __tsan_write##n(void *at) { check_plain(at, n, WRITE, EMU_FROM); }                     \
    void __tsan_unaligned_read##n(void *at) { check(at, n, READ, EMU_FROM); }                   \
    void __tsan_unaligned_write##n(void *at) { check(at, n, WRITE, EMU_FROM); }                 \
    void __tsan_volatile_read##n(void *at) { check_plain(at, n, VOLATILE, EMU_FROM); }          \
    void __tsan_volatile_write##n(void *at) { check_plain(at, n, WRITE | VOLATILE, EMU_FROM); } \
    void __tsan_read_write##n(void *at) {                                                       \
        check_plain(at, n, READ, EMU_FROM);                                                     \
        check(at, n, WRITE, EMU_FROM);                                                          \
    }
EMU_ACCESS(1)
EMU_ACCESS(2)
EMU_ACCESS(4)
EMU_ACCESS(8)
EMU_ACCESS(16)
void __tsan_read_range(void *at, size_t bytes) { check(at, bytes, READ, EMU_FROM); }
void __tsan_write_range(void *at, size_t bytes) { check(at, bytes, WRITE, EMU_FROM); }
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
    check(from, bytes, READ, EMU_FROM);
    check(to, bytes, WRITE, EMU_FROM);
    return memcpy(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes) {
    check(to, bytes, WRITE, EMU_FROM);
    return memset(to, value, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes) {
    check(from, bytes, READ, EMU_FROM);
    check(to, bytes, WRITE, EMU_FROM);
    return memmove(to, from, bytes);
}

/* An index outside of an array whose size its declaration says. */
void __ubsan_handle_out_of_bounds(void *data, void *index) {
    const struct {
        const char *file;
        unsigned line, column;
        const struct { uint16_t kind, info; char name[1]; } *type;
    } *known = (decltype(known))data;
    const char *what = "an index outside of its array";
    if (current_stack < 0 || !is_new(what, here(EMU_FROM), known->line, 0)) return;
    const char *slash = strrchr(known->file, '/');
    print(std::string(what) + ": " + std::to_string((long)(intptr_t)index) + " of " + known->type->name + ", " +
          (slash ? slash + 1 : known->file) + ":" + std::to_string(known->line) + ": " + who());
}
}
