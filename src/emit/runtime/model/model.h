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

/* Places of a kernel, and times that a thread comes to one, that are told apart. */
const unsigned PLACES = 256, MOST_MET = 1u << 20;
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

/* Numbers of places, those met last first. */
unsigned place_number(const void *from) {
    static struct {
        const void *from;
        uint32_t launch;
        unsigned number;
    } near[256];
    auto &own = near[((size_t)from >> 2) % 256];
    if (own.from != from || own.launch != launch_number) {
        own.number = places.emplace(from, (unsigned)places.size()).first->second % PLACES;
        own.from = from;
        own.launch = launch_number;
    }
    return own.number;
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
    counted.asked.assign((threads + 31) / 32, 0);
    counted.met.resize(PLACES);
    for (auto &each : counted.met) each.clear();
    counted.requests.resize(PLACES * counted.asked.size());
    for (auto &each : counted.requests) each.clear();
    counted.rounds.resize(PLACES * counted.asked.size());
    for (auto &each : counted.rounds) each.clear();
    counted.sectors.clear();
    counted.words.clear();
    counted.banks.clear();
}

/* An access of the thread at hand to the device's memory: the how many'th of its place, of which warp. */
void count_sectors(Counted &counted, unsigned warp, unsigned place, uint32_t met, size_t begin, size_t end, bool stores) {
    std::vector<Request> &own = counted.requests[place * counted.asked.size() + warp];
    if (met >= own.size()) {
        own.resize(met + 1);
        counted.asked[warp]++;
        launched.requests++;
    }
    Request &request = own[met];
    for (size_t sector = begin / 32; sector <= (end - 1) / 32; sector++) {
        const uint32_t kept = std::min(request.count, 7u);
        if (std::find(request.sectors, request.sectors + kept, (uint32_t)sector) != request.sectors + kept) continue;
        if (kept < 7) request.sectors[kept] = (uint32_t)sector;
        else if (!counted.sectors.add((((uint64_t)place << 5 | warp) << 21 | met) * REQUEST + sector)) continue;
        request.count++;
        launched.near_bytes += 32;
        if (stores || of_block[sector] != counted.number) launched.shared_bytes += 32;
        of_block[sector] = counted.number;
        if (of_launch[sector] != launch_number) launched.memory_bytes += 32;
        of_launch[sector] = launch_number;
    }
}

/* The same of the block's own memory, by words. Each round gives a word of each bank: 128 bytes. */
void count_words(Counted &counted, unsigned warp, unsigned place, uint32_t met, size_t begin, size_t end) {
    std::vector<Rounds> &own = counted.rounds[place * counted.asked.size() + warp];
    if (met >= own.size()) own.resize(met + 1);
    Rounds &rounds = own[met];
    for (size_t word = begin / 4; word <= (end - 1) / 4; word++) {
        uint32_t nth = 1, &first = rounds.words[word % 32];
        if (first == word + 1) continue;
        if (first) {
            const uint64_t request = (((uint64_t)place << 5 | warp) << 21 | met) * REQUEST;
            if (!counted.words.add(request + word + 1)) continue;
            do nth++;
            while (!counted.banks.add(request + ((uint64_t)nth << 6 | word % 32)));
        } else {
            first = (uint32_t)word + 1;
        }
        if (nth <= rounds.count) continue;
        rounds.count = nth;
        launched.near_bytes += 128;
    }
}

/* An access of the thread at hand. */
void count_access(Counted &counted, unsigned rank, const void *at, size_t bytes, bool stores, const void *from,
                  const std::vector<Shared> &arrays) {
    const char *address = (const char *)at;
    const bool device = in_arena(at);
    size_t begin = device ? offset_of(at) : 0, k = 0;
    if (!device) {
        while (k + 1 < arrays.size() && (address < arrays[k].begin || address >= arrays[k].end)) k++;
        if (k + 1 >= arrays.size()) return; /* its own variables */
        begin = arrays[k].word * 4 + (size_t)(address - arrays[k].begin);
    }
    const unsigned place = place_number(from);
    std::vector<uint32_t> &all = counted.met[place];
    if (all.empty()) all.resize(counted.asked.size() * 32);
    const uint32_t met = all[rank]++ % MOST_MET;
    if (device) count_sectors(counted, rank / 32, place, met, begin, begin + bytes, stores);
    else count_words(counted, rank / 32, place, met, begin, begin + bytes);
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
        const double cycles = slots * device.step + counted.asked[first / 32] * device.latency / device.overlap;
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
