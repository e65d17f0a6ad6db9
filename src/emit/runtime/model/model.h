/* Counts what kernels do, and makes of it cycles of a GPU that is not there.
 *
 * Lanes of a warp that come to one access equally often make one request together: of as many
 * sectors of 32 bytes as their addresses have, or of as many rounds as the fullest bank of shared
 * memory takes. A warp comes to a region as often as the lane that comes to it most often. Each
 * block finds in the nearest cache what it has read before, the device in the shared one what a launch
 * has touched.
 *
 * The cycles of a launch are what its scarcest resource takes: slots of schedulers, bytes of each cache and of
 * memory, what all warps wait for as long as others cannot fill the time, and the longest warp. They rank
 * schedules; they are no times: neither what competes for one address nor what lies beside it in a cache is known.
 */
#ifndef SPARSEC_MODEL_H
#define SPARSEC_MODEL_H

namespace {

const unsigned PLACES = 1024;
const uint64_t REQUEST = (uint64_t)1 << 28; /* more than there are sectors */

/* What a launch has done, and what calls have since they were asked. */
struct Done {
    double launches, cycles, slots, requests, near_bytes, shared_bytes, memory_bytes, registers, spilled;
};
Done launched, all, last;
double waited, longest;
bool unknown;
const emu_known *own_costs;
std::map<const void *, unsigned> places;
uint32_t *of_block, *of_launch; /* the last one that touched each sector */
uint32_t blocks_begun;
std::vector<uint32_t> nobodys;

unsigned place_number(const void *from) {
    static const void *before;
    static unsigned number;
    if (from != before || places.empty()) {
        number = places.emplace(from, (unsigned)places.size()).first->second % PLACES;
        before = from;
    }
    return number;
}

/* What the host comes to is nobody's. */
void count_nobody() {
    nobodys.resize(emu_region_count + 1);
    emu_counters = nobodys.data();
}

void count_thread(Counted &counted, unsigned rank) { emu_counters = counted.regions.data() + (size_t)rank * emu_region_count; }

void begin_counting(Counted &counted, unsigned threads) {
    counted.number = ++blocks_begun;
    counted.regions.assign((size_t)threads * emu_region_count + 1, 0);
    counted.met.clear();
    counted.requests.assign((threads + 31) / 32, 0);
    counted.sectors.clear();
    counted.asked.clear();
    counted.words.clear();
    counted.banks.clear();
    counted.rounds.clear();
}

/* An access of the thread at hand, to the device's memory or to its block's. */
void count_access(Counted &counted, unsigned rank, const void *at, size_t bytes, bool stores, const void *from,
                  const std::vector<Shared> &arrays) {
    const unsigned warp = rank / 32, place = place_number(from);
    const size_t threads = counted.requests.size() * 32;
    if (counted.met.size() < (place + 1) * threads) counted.met.resize((place + 1) * threads);
    const uint64_t met = counted.met[place * threads + rank]++;
    const uint64_t request = (((uint64_t)place << 5 | warp) << 21 | (met & 0x1fffff)) * REQUEST;
    if (in_arena(at)) {
        if (counted.asked.add(request + 1)) {
            counted.requests[warp]++;
            launched.requests++;
        }
        for (size_t k = offset_of(at) / 32; k <= (offset_of(at) + bytes - 1) / 32; k++) {
            if (!counted.sectors.add(request + k)) continue;
            launched.near_bytes += 32;
            if (stores || of_block[k] != counted.number) launched.shared_bytes += 32;
            of_block[k] = counted.number;
            if (of_launch[k] != launch_number) launched.memory_bytes += 32;
            of_launch[k] = launch_number;
        }
        return;
    }
    const char *address = (const char *)at;
    for (size_t k = 0; k + 1 < arrays.size(); k++) {
        if (address < arrays[k].begin || address >= arrays[k].end) continue;
        const size_t first = arrays[k].word + (size_t)(address - arrays[k].begin) / 4;
        for (size_t word = first; word <= first + (bytes - 1) / 4; word++) {
            if (!counted.words.add(request + word + 1)) continue;
            /* The how many'th word of its bank it is. */
            uint64_t nth = 1;
            while (!counted.banks.add(request + (nth << 6 | word % 32))) nth++;
            /* Each round gives a word of each bank: 128 bytes. */
            if (counted.rounds.add(request + nth)) launched.near_bytes += 128;
        }
        return;
    }
}

/* A block has ended: what its warps took. */
void end_counting(const Counted &counted, unsigned threads) {
    if (!own_costs) return;
    for (unsigned first = 0; first < threads; first += 32) {
        double slots = own_costs->spilled / 4.0;
        for (unsigned k = 0; k < own_costs->count; k++) {
            uint32_t most = 0;
            for (unsigned rank = first; rank < first + 32 && rank < threads; rank++)
                most = std::max(most, counted.regions[(size_t)rank * emu_region_count + own_costs->costs[k].region]);
            slots += own_costs->costs[k].slots * most;
        }
        launched.slots += slots;
        launched.near_bytes += own_costs->spilled * 32.0;
        const emu_device &device = emu_modelled;
        const double cycles = slots * device.step + counted.requests[first / 32] * device.latency / device.overlap;
        waited += cycles;
        longest = std::max(longest, cycles);
    }
}

void begin_launch(const char *name) {
    const size_t sectors = ARENA / 32;
    if (!of_block) of_block = room_for<uint32_t>(sectors);
    if (!of_launch) of_launch = room_for<uint32_t>(sectors);
    launched = Done();
    waited = longest = 0;
    places.clear();
    own_costs = NULL;
    const size_t length = strcspn(name, "<");
    for (unsigned k = 0; k < emu_kernel_count && !own_costs; k++)
        if (strncmp(emu_kernels[k].name, name, length) == 0 && emu_kernels[k].name[length] == 0) own_costs = &emu_kernels[k];
    unknown |= !own_costs;
}

void add_done(const Done &more) {
    all.launches += more.launches;
    all.cycles += more.cycles;
    all.slots += more.slots;
    all.requests += more.requests;
    all.near_bytes += more.near_bytes;
    all.shared_bytes += more.shared_bytes;
    all.memory_bytes += more.memory_bytes;
    all.registers = std::max(all.registers, more.registers);
    all.spilled = std::max(all.spilled, more.spilled);
}

void end_launch(double blocks, unsigned threads) {
    if (!own_costs || blocks == 0) return;
    const emu_device &device = emu_modelled;
    const double warps = (threads + 31) / 32;
    /* Registers come in lots of 256 for a warp; a block has a KB of shared memory of its own. */
    const double registers = (double)((own_costs->registers * 32 + 255) / 256 * 256) * warps;
    double resident = std::min(device.blocks, floor(device.warps / warps));
    resident = std::min(resident, floor(device.registers / std::max(registers, 1.0)));
    resident = std::max(std::min(resident, floor(device.shared / (own_costs->shared + 1024.0))), 1.0);
    const double used = std::min(blocks, device.multiprocessors);
    const double together = std::min(resident, ceil(blocks / used)) * warps;
    launched.cycles = std::max({launched.slots / (device.slots * used), launched.near_bytes / (device.near_bytes * used),
                                launched.shared_bytes / device.shared_bytes, launched.memory_bytes / device.memory_bytes,
                                waited / (used * together), longest}) +
                      device.launch;
    launched.launches = 1;
    launched.registers = own_costs->registers;
    launched.spilled = own_costs->spilled;
    add_done(launched);
}

/* The device sets an array. */
void count_clear(size_t bytes) {
    Done clear = Done();
    clear.launches = 1;
    clear.memory_bytes = clear.shared_bytes = (double)bytes;
    clear.cycles = emu_modelled.launch + (double)bytes / emu_modelled.memory_bytes;
    add_done(clear);
}

} /* namespace */

uint32_t *emu_counters;
static const bool counts_nobody = (count_nobody(), true);

/* In place of the clock's: 1e9 cycles are called a second. */
extern "C" int sparsec_device_time(double *seconds);
extern "C" int sparsec_device_time(double *seconds) {
    last = all;
    all = Done();
    *seconds = last.cycles / 1e9;
    const bool right = !unknown && last.launches > 0;
    unknown = false;
    return right;
}

/* What was counted in the interval of which that was the time. */
extern "C" void sparsec_model_counts(double *counts);
extern "C" void sparsec_model_counts(double *counts) {
    const double now[] = {last.launches,     last.cycles,       last.slots,     last.requests, last.near_bytes,
                          last.shared_bytes, last.memory_bytes, last.registers, last.spilled};
    memcpy(counts, now, sizeof now);
}

#endif
