/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_SPMV_H
#define SPARSEC_KERNELS_SPMV_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* spmv
 *   y(i) +=! A(i, j) * x(j)
 *   A: {dense, compressed}
 *   split(i, i0, i1, 32)
 *   parallelize(i0, CPUThread, NoRaces)
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, N), int32_t coordinates
 *   x: double(N)
 *   y: double(M), out
 */
/* Checked; makes y: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int spmv(const sparsec_tensor *A, const sparsec_tensor *x, sparsec_tensor *y);

/* Unchecked, on plain arrays. */
int spmv_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const double *SPARSEC_RESTRICT x_vals, double *SPARSEC_RESTRICT y_vals);

#ifdef __cplusplus
}
#endif
#endif
