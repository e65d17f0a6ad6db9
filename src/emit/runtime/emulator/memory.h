/* The device's memory: arrays of an arena that is mapped once for the host, and once more for
 * each parameter of a kernel, so that an address says by which parameter it was reached.
 */
#ifndef SPARSEC_EMULATOR_MEMORY_H
#define SPARSEC_EMULATOR_MEMORY_H

#include "blocks.h"

namespace {

const size_t ARENA = (size_t)1 << 33, MAPPINGS = 256, GAP = 256;

struct Piece {
    size_t begin, bytes;
    size_t end() const { return begin + bytes; }
};
char *arena;
int arena_file = -1;
bool mapped[MAPPINGS];
std::vector<Piece> pieces; /* in order of their addresses */
std::map<size_t, size_t> parts; /* of pieces: arrays of workspaces, begin and bytes */

/* Which bytes of each word were written; who accessed it. */
uint8_t *written;
Cell *cells;

/* An array of the launch. */
struct View {
    Piece room;   /* what may be accessed */
    size_t begin; /* what the host passed */
    size_t size;
    bool constant, tracked;
};
std::vector<View> views; /* one for each parameter */

template <class T> T *room_for(size_t count) {
    void *room = mmap(NULL, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return room == MAP_FAILED ? NULL : (T *)room;
}

void begin_shadow() {
    if (!checked || cells) return;
    written = room_for<uint8_t>(ARENA / 4);
    cells = room_for<Cell>(ARENA / 4);
    if (written && cells) return;
    fprintf(stderr, "emulator: no memory for checks\n");
    abort();
}

bool map_arena(size_t at) {
    if (mapped[at]) return true;
    void *room = mmap(arena + at * ARENA, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, arena_file, 0);
    return mapped[at] = room != MAP_FAILED;
}

void make_arena() {
    if (!arena) {
        arena_file = memfd_create("emulator", MFD_CLOEXEC);
        if (arena_file < 0 || ftruncate(arena_file, (off_t)ARENA)) return;
        void *room = mmap(NULL, MAPPINGS * ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED) return;
        arena = (char *)room;
        if (!map_arena(0)) arena = NULL;
    }
    begin_shadow();
}

bool in_arena(const void *at) { return arena && (size_t)((const char *)at - arena) < MAPPINGS * ARENA; }
/* The same place for the host. */
size_t offset_of(const void *at) { return (size_t)((const char *)at - arena) % ARENA; }

/* The piece that the byte is in, or an empty one. */
Piece piece_of(size_t at) {
    const auto next = std::upper_bound(pieces.begin(), pieces.end(), at,
                                       [](size_t sought, const Piece &one) { return sought < one.begin; });
    if (next == pieces.begin() || at >= (next - 1)->end()) return {at, 0};
    return *(next - 1);
}

bool allocated(const void *at, size_t bytes) {
    const size_t begin = offset_of(at);
    return bytes == 0 || begin + bytes <= piece_of(begin).end();
}

void note_written(const void *at, size_t bytes) {
    if (!written) return;
    for (size_t k = offset_of(at), end = k + bytes; k < end;) {
        if (k % 4 == 0 && k + 4 <= end) {
            memset(&written[k / 4], 15, (end - k) / 4);
            k += (end - k) / 4 * 4;
        } else {
            written[k / 4] |= (uint8_t)(1u << k % 4);
            k++;
        }
    }
}

void forget(const Piece &piece) {
    const auto from = parts.lower_bound(piece.begin), to = parts.lower_bound(piece.end());
    parts.erase(from, to);
    if (!written || piece.bytes == 0) return;
    const size_t first = piece.begin / 4, count = (piece.bytes + 3) / 4;
    memset(&written[first], 0, count);
}

cudaError_t set(void *array, int value, size_t bytes) {
    if (!in_arena(array) || !allocated(array, bytes)) return cudaErrorInvalidValue;
    memset(array, value, bytes);
    note_written(array, bytes);
    return cudaSuccess;
}

/* What the kernel's parameters show. Reads by those that no other may write need no record. */
void find_views() {
    views.clear();
    for (size_t k = 0; k < launch->arrays.size(); k++) {
        const emu_array &array = launch->arrays[k];
        View view = {{0, 0}, 0, array.size, array.constant, true};
        if (in_arena(array.at)) {
            view.begin = offset_of(array.at);
            view.room = piece_of(view.begin);
            if (const size_t bytes = launch->sizes[k]; bytes && view.room.bytes)
                view.room = {view.begin, std::min(bytes, view.room.end() - view.begin)};
        }
        views.push_back(view);
    }
    for (View &view : views) {
        if (!view.constant) continue;
        view.tracked = false;
        for (const View &other : views)
            if (!other.constant && other.room.begin < view.room.end() && view.room.begin < other.room.end()) view.tracked = true;
    }
}

} /* namespace */

#endif
