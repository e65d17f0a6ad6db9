/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_GATHER_H
#define SPARSEC_KERNELS_GATHER_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* <complex.h> has a macro of this name. */
#pragma push_macro("I")
#undef I

/* gather
 *   Z(i, j) = X(I(i, j))
 */
/* Tensors, by elements and dimensions:
 *   X: float(N)
 *   I: int32_t(A, B)
 *   Z: float(A, B), out
 */
/* Checked; makes Z: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int gather(const sparsec_tensor *X, const sparsec_tensor *I, sparsec_tensor *Z);

/* Unchecked, on plain arrays. */
int gather_raw(int64_t N, int64_t A, int64_t B, const float *SPARSEC_RESTRICT X_vals,
    const int32_t *SPARSEC_RESTRICT I_vals, float *SPARSEC_RESTRICT Z_vals);

#pragma pop_macro("I")

#ifdef __cplusplus
}
#endif
#endif
