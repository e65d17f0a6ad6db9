/* CUDA's events on a device whose clock the test moves, and whose calls fail when told to. */
#pragma once
#include <stddef.h>
typedef int cudaError_t;
enum { cudaSuccess, cudaErrorUnknown };
typedef int *cudaStream_t;
typedef float *cudaEvent_t;

static float now;
static int owned, calls, fails_at, errors;
static cudaError_t called(void) { return ++calls == fails_at ? (errors++, cudaErrorUnknown) : cudaSuccess; }
static cudaError_t made(void **to, void *what) {
    if (called()) return delete (float *)what, cudaErrorUnknown;
    *to = what;
    owned++;
    return cudaSuccess;
}
static cudaError_t cudaEventCreate(cudaEvent_t *event) { return made((void **)event, new float(0)); }
static cudaError_t cudaMalloc(void **room, size_t) { return made(room, new float(0)); }
static cudaError_t cudaFree(void *room) {
    if (room) owned--;
    delete (float *)room;
    return cudaSuccess;
}
static cudaError_t cudaEventDestroy(cudaEvent_t event) { return cudaFree(event); }
/* Flushing takes long. */
static cudaError_t cudaMemsetAsync(void *, int, size_t, cudaStream_t) { return now += 1000, called(); }
static cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) { return *event = now, called(); }
static cudaError_t cudaEventSynchronize(cudaEvent_t) { return called(); }
static cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) { return *ms = *to - *from, called(); }
static cudaError_t cudaGetLastError(void) { return errors = 0, cudaSuccess; }
