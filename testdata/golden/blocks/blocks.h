/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_BLOCKS_H
#define SPARSEC_KERNELS_BLOCKS_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* block_spmm
 *   C(i, k) +=! A(i, j) * B(j, k)
 *   A: (i,j) -> (i/3: dense, j/3: compressed, i%3: dense, j%3: dense)
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, N, 3, 3), int32_t coordinates
 *   B: double(N, K)
 *   C: double(M, K), out
 */
/* Checked; makes C: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int block_spmm(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C);

/* Unchecked, on plain arrays. */
int block_spmm_raw(int64_t M, int64_t N, int64_t K, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const double *SPARSEC_RESTRICT B_vals, double *SPARSEC_RESTRICT C_vals);

#ifdef __cplusplus
}
#endif
#endif
