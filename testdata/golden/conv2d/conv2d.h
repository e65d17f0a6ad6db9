/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_CONV2D_H
#define SPARSEC_KERNELS_CONV2D_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* conv2d
 *   out(b, op, h, w) +=! in(b, ip, h + kh, w + kw) * weight(op, ip, kh, kw)
 */
/* Tensors, by elements and dimensions:
 *   in: float(B, IP, H, W)
 *   weight: float(OP, IP, KH, KW)
 *   out: float(B, OP, H - KH + 1, W - KW + 1), out
 */
/* Checked; makes out: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int conv2d(const sparsec_tensor *in, const sparsec_tensor *weight, sparsec_tensor *out);

/* Unchecked, on plain arrays. */
int conv2d_raw(int64_t B, int64_t IP, int64_t H, int64_t W, int64_t OP, int64_t KH, int64_t KW,
    const float *SPARSEC_RESTRICT in_vals, const float *SPARSEC_RESTRICT weight_vals,
    float *SPARSEC_RESTRICT out_vals);

#ifdef __cplusplus
}
#endif
#endif
