/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_TTM_H
#define SPARSEC_KERNELS_TTM_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* <complex.h> has a macro of this name. */
#pragma push_macro("I")
#undef I

/* ttm
 *   A(i, j, r) +=! B(i, j, k) * C(k, r)
 *   B: {compressed, compressed, compressed}
 */
/* Tensors, by elements and dimensions:
 *   B: double(I, J, K), int32_t coordinates
 *   C: double(K, R)
 *   A: double(I, J, R), out
 */
/* Checked; makes A: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int ttm(const sparsec_tensor *B, const sparsec_tensor *C, sparsec_tensor *A);

/* Unchecked, on plain arrays. */
int ttm_raw(int64_t I, int64_t J, int64_t K, int64_t R, const int32_t *SPARSEC_RESTRICT B1_pos,
    const int32_t *SPARSEC_RESTRICT B1_crd, const int32_t *SPARSEC_RESTRICT B2_pos,
    const int32_t *SPARSEC_RESTRICT B2_crd, const int32_t *SPARSEC_RESTRICT B3_pos,
    const int32_t *SPARSEC_RESTRICT B3_crd, const double *SPARSEC_RESTRICT B_vals,
    const double *SPARSEC_RESTRICT C_vals, double *SPARSEC_RESTRICT A_vals);

#pragma pop_macro("I")

#ifdef __cplusplus
}
#endif
#endif
