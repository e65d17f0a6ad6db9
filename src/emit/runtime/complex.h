/* Complex numbers of kernels; laid out as C's. */
template <class T> struct sparsec_complex {
    T re, im;
    sparsec_complex() = default;
    template <class R> SPARSEC_DEVICE sparsec_complex(R r) : re((T)r), im((T)0) {}
    SPARSEC_DEVICE sparsec_complex(T r, T i) : re(r), im(i) {}
    template <class R> SPARSEC_DEVICE sparsec_complex(const sparsec_complex<R> &o) : re((T)o.re), im((T)o.im) {}
    SPARSEC_DEVICE sparsec_complex &operator+=(const sparsec_complex &o) { re += o.re; im += o.im; return *this; }
    SPARSEC_DEVICE sparsec_complex &operator-=(const sparsec_complex &o) { re -= o.re; im -= o.im; return *this; }
    SPARSEC_DEVICE sparsec_complex &operator*=(const sparsec_complex &o) { return *this = *this * o; }
    SPARSEC_DEVICE sparsec_complex operator-() const { return sparsec_complex(-re, -im); }
    friend SPARSEC_DEVICE sparsec_complex operator+(sparsec_complex a, sparsec_complex b) { return sparsec_complex(a.re + b.re, a.im + b.im); }
    friend SPARSEC_DEVICE sparsec_complex operator-(sparsec_complex a, sparsec_complex b) { return sparsec_complex(a.re - b.re, a.im - b.im); }
    friend SPARSEC_DEVICE sparsec_complex operator*(sparsec_complex a, sparsec_complex b) {
        return sparsec_complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
    }
    /* Smith's: divides by the larger part first. */
    friend SPARSEC_DEVICE sparsec_complex operator/(sparsec_complex a, sparsec_complex b) {
        if (fabs((double)b.re) >= fabs((double)b.im)) {
            const T r = b.im / b.re, d = b.re + b.im * r;
            return sparsec_complex((a.re + a.im * r) / d, (a.im - a.re * r) / d);
        }
        const T r = b.re / b.im, d = b.re * r + b.im;
        return sparsec_complex((a.re * r + a.im) / d, (a.im * r - a.re) / d);
    }
    friend SPARSEC_DEVICE bool operator==(sparsec_complex a, sparsec_complex b) { return a.re == b.re && a.im == b.im; }
    friend SPARSEC_DEVICE bool operator!=(sparsec_complex a, sparsec_complex b) { return !(a == b); }
};
typedef sparsec_complex<float> sparsec_complex64;
typedef sparsec_complex<double> sparsec_complex128;

template <class T> static SPARSEC_DEVICE inline T sparsec_cabs(sparsec_complex<T> z) { return (T)hypot((double)z.re, (double)z.im); }
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_cexp(sparsec_complex<T> z) {
    const double r = exp((double)z.re);
    return sparsec_complex<T>((T)(z.im == 0 ? r : r * cos((double)z.im)), (T)(z.im == 0 ? z.im : r * sin((double)z.im)));
}
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_clog(sparsec_complex<T> z) {
    return sparsec_complex<T>((T)log(hypot((double)z.re, (double)z.im)), (T)atan2((double)z.im, (double)z.re));
}
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_csqrt(sparsec_complex<T> z) {
    const double r = hypot((double)z.re, (double)z.im), a = sqrt((r + fabs((double)z.re)) / 2);
    if (a == 0) return sparsec_complex<T>((T)0, z.im);
    const double b = (double)z.im / (2 * a);
    return z.re >= 0 ? sparsec_complex<T>((T)a, (T)b) : sparsec_complex<T>((T)fabs(b), (T)copysign(a, (double)z.im));
}
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_cpow(sparsec_complex<T> a, sparsec_complex<T> b) {
    if (b == sparsec_complex<T>(0)) return sparsec_complex<T>(1);
    /* The logarithm of zero is infinite in one part only. */
    if (a == sparsec_complex<T>(0) && b.re > 0) return sparsec_complex<T>(0);
    return sparsec_cexp(b * sparsec_clog(a));
}
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_csinh(sparsec_complex<T> z) {
    return sparsec_complex<T>((T)(sinh((double)z.re) * cos((double)z.im)), (T)(cosh((double)z.re) * sin((double)z.im)));
}
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_ccosh(sparsec_complex<T> z) {
    return sparsec_complex<T>((T)(cosh((double)z.re) * cos((double)z.im)), (T)(sinh((double)z.re) * sin((double)z.im)));
}
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_ctanh(sparsec_complex<T> z) {
    const double a = fabs((double)z.re);
    /* 1 to all digits, where both of the quotient grow until they are infinite. */
    if (a > 20) return sparsec_complex<T>((T)copysign(1.0, (double)z.re), (T)(4 * sin((double)z.im) * cos((double)z.im) * exp(-2 * a)));
    return sparsec_csinh(z) / sparsec_ccosh(z);
}
/* sin z = -i sinh iz, and so on. */
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_ctimes_i(sparsec_complex<T> z) { return sparsec_complex<T>(-z.im, z.re); }
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_cover_i(sparsec_complex<T> z) { return sparsec_complex<T>(z.im, -z.re); }
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_csin(sparsec_complex<T> z) { return sparsec_cover_i(sparsec_csinh(sparsec_ctimes_i(z))); }
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_ccos(sparsec_complex<T> z) { return sparsec_ccosh(sparsec_ctimes_i(z)); }
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_ctan(sparsec_complex<T> z) { return sparsec_cover_i(sparsec_ctanh(sparsec_ctimes_i(z))); }
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_casinh(sparsec_complex<T> z) {
    return sparsec_clog(z + sparsec_csqrt(z * z + sparsec_complex<T>(1)));
}
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_cacosh(sparsec_complex<T> z) {
    return sparsec_clog(z + sparsec_csqrt(z + sparsec_complex<T>(1)) * sparsec_csqrt(z - sparsec_complex<T>(1)));
}
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_catanh(sparsec_complex<T> z) {
    return (sparsec_clog(sparsec_complex<T>(1) + z) - sparsec_clog(sparsec_complex<T>(1) - z)) * sparsec_complex<T>((T)0.5, (T)0);
}
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_casin(sparsec_complex<T> z) { return sparsec_cover_i(sparsec_casinh(sparsec_ctimes_i(z))); }
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_catan(sparsec_complex<T> z) { return sparsec_cover_i(sparsec_catanh(sparsec_ctimes_i(z))); }
template <class T> static SPARSEC_DEVICE inline sparsec_complex<T> sparsec_cacos(sparsec_complex<T> z) {
    return sparsec_complex<T>((T)1.57079632679489661923, (T)0) - sparsec_casin(z);
}
