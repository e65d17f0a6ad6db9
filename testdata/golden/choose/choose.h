/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_CHOOSE_H
#define SPARSEC_KERNELS_CHOOSE_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* spmm
 *   C(i, k) +=! A(i, j) * B(j, k)
 *   A: {dense, compressed}
 *   let LONG = 64
 *   choose {
 *     when cols(B) == 4: {
 *       size N = 4
 *       reorder(i, j, k)
 *       precompute(A(i,j) * B(j,k), k, k, sums)
 *       unroll(k, 4)
 *       parallelize(i, CPUThread(static), NoRaces)
 *     }
 *     when mean_row(A) >= LONG || longest_row(A) > 16 * mean_row(A): {
 *       split(k, k0, k1, 32)
 *       reorder(i, k0, j, k1)
 *       precompute(A(i,j) * B(j,k), k1, k1, tile)
 *       unroll(k1, 32)
 *       parallelize(i, CPUThread(dynamic, 16), NoRaces)
 *     }
 *     otherwise: {
 *       reorder(i, j, k)
 *       parallelize(i, CPUThread(static), NoRaces)
 *     }
 *   }
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, K), int32_t coordinates
 *   B: double(K, N)
 *   C: double(M, N), out
 */
/* Checked; makes C: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int spmm(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C);

/* Unchecked, on plain arrays. */
int spmm_raw(int64_t M, int64_t K, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const double *SPARSEC_RESTRICT B_vals, double *SPARSEC_RESTRICT C_vals);

#ifdef __cplusplus
}
#endif
#endif
