/* A clock of what the device does. `sparsec run --time` includes it ahead of the runtime header,
 * which says where work of the device begins and ends.
 *
 * An interval begins before the first launch or clear after a transfer, and ends at the next
 * transfer. Before it the device is told to overwrite more than its caches hold: what follows
 * comes from memory, and is enqueued before its turn comes, so that launches cost the host no
 * time that is counted. Between intervals the clock owns nothing.
 */
#ifndef SPARSEC_CLOCK_H
#define SPARSEC_CLOCK_H

#include <cuda_runtime.h>
#include <stddef.h>

struct sparsec_clock {
    cudaStream_t stream;
    cudaEvent_t from, to;
    void *flushed;
    bool running, failed;
    double seconds;
    int intervals;

    void begin(cudaStream_t on) {
#ifdef SPARSEC_EMULATED
        const size_t bytes = 256;
#else
        const size_t bytes = (size_t)256 << 20;
#endif
        if (running || failed) return;
        running = true;
        stream = on;
        failed = cudaEventCreate(&from) != cudaSuccess || cudaEventCreate(&to) != cudaSuccess ||
                 cudaMalloc(&flushed, bytes) != cudaSuccess ||
                 cudaMemsetAsync(flushed, 0, bytes, on) != cudaSuccess || cudaEventRecord(from, on) != cudaSuccess;
        if (failed) end();
    }
    void end() {
        if (!running) return;
        float milliseconds = 0;
        failed = failed || cudaEventRecord(to, stream) != cudaSuccess || cudaEventSynchronize(to) != cudaSuccess ||
                 cudaEventElapsedTime(&milliseconds, from, to) != cudaSuccess;
        seconds += (double)milliseconds / 1000;
        intervals++;
        if (from) cudaEventDestroy(from);
        if (to) cudaEventDestroy(to);
        cudaFree(flushed);
        from = to = NULL;
        flushed = NULL;
        running = false;
        /* The next launch would take a failure of the clock for its own. (What ends the work of
         * a device for good, CUDA says again.) */
        if (failed) (void)cudaGetLastError();
    }
};
static sparsec_clock sparsec_device_clock;

#define SPARSEC_WORK_BEGINS(stream) sparsec_device_clock.begin(stream)
#define SPARSEC_WORK_ENDS() sparsec_device_clock.end()

/* Seconds of the device's work since the last call; returns the number of intervals, 0 if there
 * was no work, or the clock failed. */
extern "C" int sparsec_device_time(double *seconds);
extern "C" int sparsec_device_time(double *seconds) {
    sparsec_device_clock.end();
    const sparsec_clock all = sparsec_device_clock;
    sparsec_device_clock = sparsec_clock();
    *seconds = all.seconds;
    return all.failed ? 0 : all.intervals;
}

#endif
