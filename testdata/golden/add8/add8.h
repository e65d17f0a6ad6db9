/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_ADD8_H
#define SPARSEC_KERNELS_ADD8_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* add8
 *   S(i, j) = A(i, j) + B(i, j) + C(i, j) + D(i, j) + E(i, j) + F(i, j) + G(i, j) + H(i, j)
 *   A: {dense, compressed}
 *   B: {dense, compressed}
 *   C: {dense, compressed}
 *   D: {dense, compressed}
 *   E: {dense, compressed}
 *   F: {dense, compressed}
 *   G: {dense, compressed}
 *   H: {dense, compressed}
 *   S: {dense, compressed}
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, N), int32_t coordinates
 *   B: double(M, N), int32_t coordinates
 *   C: double(M, N), int32_t coordinates
 *   D: double(M, N), int32_t coordinates
 *   E: double(M, N), int32_t coordinates
 *   F: double(M, N), int32_t coordinates
 *   G: double(M, N), int32_t coordinates
 *   H: double(M, N), int32_t coordinates
 *   S: double(M, N), int32_t coordinates, out
 */
/* Checked; makes S: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are refused: it
 * allocates those of sparse results. */
int add8(const sparsec_tensor *A, const sparsec_tensor *B, const sparsec_tensor *C,
    const sparsec_tensor *D, const sparsec_tensor *E, const sparsec_tensor *F,
    const sparsec_tensor *G, const sparsec_tensor *H, sparsec_tensor *S);

/* Unchecked, on plain arrays. Arrays passed as T ** are the results': NULL,
 * or from sparsec's allocator and with room for so many elements as the last arguments say; they
 * are made larger where needed, and freed on failure. */
int add8_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const double *SPARSEC_RESTRICT B_vals, const int32_t *SPARSEC_RESTRICT C2_pos,
    const int32_t *SPARSEC_RESTRICT C2_crd, const double *SPARSEC_RESTRICT C_vals,
    const int32_t *SPARSEC_RESTRICT D2_pos, const int32_t *SPARSEC_RESTRICT D2_crd,
    const double *SPARSEC_RESTRICT D_vals, const int32_t *SPARSEC_RESTRICT E2_pos,
    const int32_t *SPARSEC_RESTRICT E2_crd, const double *SPARSEC_RESTRICT E_vals,
    const int32_t *SPARSEC_RESTRICT F2_pos, const int32_t *SPARSEC_RESTRICT F2_crd,
    const double *SPARSEC_RESTRICT F_vals, const int32_t *SPARSEC_RESTRICT G2_pos,
    const int32_t *SPARSEC_RESTRICT G2_crd, const double *SPARSEC_RESTRICT G_vals,
    const int32_t *SPARSEC_RESTRICT H2_pos, const int32_t *SPARSEC_RESTRICT H2_crd,
    const double *SPARSEC_RESTRICT H_vals, int32_t **S2_pos_out, int32_t **S2_crd_out,
    double **S_vals_out, int64_t S2_capacity);

#ifdef __cplusplus
}
#endif
#endif
