#if defined(__CUDACC__) || defined(SPARSEC_EMULATED)
#define SPARSEC_CUDA
#include <assert.h>
#include <cuda_runtime.h>
#define SPARSEC_DEVICE __host__ __device__
#define SPARSEC_FN static SPARSEC_DEVICE inline
static __device__ unsigned sparsec_lock;
#ifndef SPARSEC_EMULATED
/* Zero, which compilers do not know. ptxas 13.0 makes one instruction of max(max(a, -b), c) of whole
 * numbers for sm_90 and loses the minus, and takes -x of 16 bits for wider than it is where it is
 * converted or compared: with this in between it does neither. */
static __constant__ unsigned sparsec_zero;
#endif
#ifdef __CUDA_ARCH__
#define SPARSEC_APART(T, x) (sizeof(T) < 8 ? (T)((x) ^ (T)sparsec_zero) : (T)(x))
#endif
