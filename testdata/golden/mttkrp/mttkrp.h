/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_MTTKRP_H
#define SPARSEC_KERNELS_MTTKRP_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* <complex.h> has a macro of this name. */
#pragma push_macro("I")
#undef I

/* mttkrp
 *   A(i, j) = B(i, k, l) * C(k, j) * D(l, j)
 *   B: {compressed, compressed, compressed}
 */
/* Tensors, by elements and dimensions:
 *   B: double(I, K, L), int32_t coordinates
 *   C: double(K, J)
 *   D: double(L, J)
 *   A: double(I, J), out
 */
/* Checked; makes A: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int mttkrp(const sparsec_tensor *B, const sparsec_tensor *C, const sparsec_tensor *D,
    sparsec_tensor *A);

/* Unchecked, on plain arrays. */
int mttkrp_raw(int64_t I, int64_t K, int64_t L, int64_t J, const int32_t *SPARSEC_RESTRICT B1_pos,
    const int32_t *SPARSEC_RESTRICT B1_crd, const int32_t *SPARSEC_RESTRICT B2_pos,
    const int32_t *SPARSEC_RESTRICT B2_crd, const int32_t *SPARSEC_RESTRICT B3_pos,
    const int32_t *SPARSEC_RESTRICT B3_crd, const double *SPARSEC_RESTRICT B_vals,
    const double *SPARSEC_RESTRICT C_vals, const double *SPARSEC_RESTRICT D_vals,
    double *SPARSEC_RESTRICT A_vals);

#pragma pop_macro("I")

#ifdef __cplusplus
}
#endif
#endif
