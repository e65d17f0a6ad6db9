/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_UPDATE_H
#define SPARSEC_KERNELS_UPDATE_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* update
 *   C(i, j) = 2 * C(i, j) + A(i, j)
 *   A: {dense, compressed}
 *   C: {dense, compressed}
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, N), int32_t coordinates
 *   C: double(M, N), int32_t coordinates, in and out
 */
/* Checked; replaces C, which it takes with the old content: a call that fails leaves it as it
 * was. Free what is there with sparsec_free_tensor. Arrays of your own are read and not freed. */
int update(const sparsec_tensor *A, sparsec_tensor *C);

/* Unchecked, on plain arrays. Arrays passed as T ** are the results': NULL,
 * or from sparsec's allocator and with room for so many elements as the last arguments say; they
 * are made larger where needed, and freed on failure. */
int update_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT C_in2_pos, const int32_t *SPARSEC_RESTRICT C_in2_crd,
    const double *SPARSEC_RESTRICT C_in_vals, int32_t **C2_pos_out, int32_t **C2_crd_out,
    double **C_vals_out, int64_t C2_capacity);

#ifdef __cplusplus
}
#endif
#endif
