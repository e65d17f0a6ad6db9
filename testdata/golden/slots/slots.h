/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_SLOTS_H
#define SPARSEC_KERNELS_SLOTS_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sliced_spmv
 *   y(i) +=! A(i, j) * x(j)
 *   A: (i,j) -> (i/8: dense, slot: compressed, i%8: dense, j: singleton)
 *   reorder(i_o, slot, i_i)
 *   parallelize(i_o, CPUThread(static), NoRaces)
 *   parallelize(i_i, CPUVector, NoRaces)
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, N, A_slots, 8), int32_t coordinates
 *   x: double(N)
 *   y: double(M), out
 */
/* Checked; makes y: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int sliced_spmv(const sparsec_tensor *A, const sparsec_tensor *x, sparsec_tensor *y);

/* Unchecked, on plain arrays. */
int sliced_spmv_raw(int64_t M, int64_t N, int64_t A_slots, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const int32_t *SPARSEC_RESTRICT A4_crd,
    const double *SPARSEC_RESTRICT A_vals, const double *SPARSEC_RESTRICT x_vals,
    double *SPARSEC_RESTRICT y_vals);

#ifdef __cplusplus
}
#endif
#endif
