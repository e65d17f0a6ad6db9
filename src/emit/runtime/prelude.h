#if defined(__CUDACC__) || defined(SPARSEC_EMULATED)
#define SPARSEC_CUDA
#include <assert.h>
#include <cuda_runtime.h>
#define SPARSEC_DEVICE __host__ __device__
#define SPARSEC_FN static SPARSEC_DEVICE inline
static __device__ unsigned sparsec_lock;
