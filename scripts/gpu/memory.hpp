// The device's memory, its clock, and recorded work.
#pragma once
#include "operands.hpp"
#include <cuda_runtime.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

static void must(bool good, const std::string &what) {
    if (!good) throw std::runtime_error(what);
}
static void cuda(cudaError_t status) { must(status == cudaSuccess, cudaGetErrorString(status)); }

/* Memory of the device. */
class Room {
    void *memory = nullptr;

  public:
    Room() = default;
    explicit Room(size_t bytes) { cuda(cudaMalloc(&memory, bytes ? bytes : 1)); }
    template <class T> explicit Room(const std::vector<T> &from) : Room(from.size() * sizeof(T)) {
        if (!from.empty()) cuda(cudaMemcpy(memory, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    Room(Room &&other) noexcept : memory(other.memory) { other.memory = nullptr; }
    Room &operator=(Room &&other) noexcept {
        std::swap(memory, other.memory);
        return *this;
    }
    ~Room() { cudaFree(memory); }
    void *at() const { return memory; }
    Address address() const { return Address{memory}; }
    template <class T> void read(std::vector<T> &out, size_t count) const {
        out.resize(count);
        if (count) cuda(cudaMemcpy(out.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
    }
};

/* Time on the device between two points of the default stream. */
#ifdef SPARSEC_EMULATED
#include <chrono>
class Clock {
    std::chrono::steady_clock::time_point from;

  public:
    void start() { from = std::chrono::steady_clock::now(); }
    double stop() {
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count();
    }
};
#else
class Clock {
    cudaEvent_t from, to;

  public:
    Clock() { cuda(cudaEventCreate(&from)), cuda(cudaEventCreate(&to)); }
    Clock(const Clock &) = delete;
    Clock &operator=(const Clock &) = delete;
    ~Clock() { cudaEventDestroy(from), cudaEventDestroy(to); }
    void start() { cuda(cudaEventRecord(from)); }
    double stop() { /* microseconds */
        float ms = 0;
        cuda(cudaEventRecord(to)), cuda(cudaEventSynchronize(to)), cuda(cudaEventElapsedTime(&ms, from, to));
        return 1000.0 * ms;
    }
};
#endif

/* Work of a stream, recorded once and run as a graph. */
class Graph {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;

  public:
    explicit Graph(const std::function<void(cudaStream_t)> &work) {
        cuda(cudaStreamCreate(&stream));
        cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        work(stream);
        cuda(cudaStreamEndCapture(stream, &graph));
        cuda(cudaGraphInstantiate(&executable, graph, 0));
    }
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;
    ~Graph() {
        cudaGraphExecDestroy(executable);
        cudaGraphDestroy(graph);
        cudaStreamDestroy(stream);
    }
    void run() {
        cuda(cudaGraphLaunch(executable, stream));
        cuda(cudaStreamSynchronize(stream));
    }
};
