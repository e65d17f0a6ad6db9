//! Names that the headers of C and C++ have taken: their macros, which no name may be, and
//! their functions, which a function of the user must not declare again.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Every name of a kernel is looked for: the lists are taken apart once.
type Words = LazyLock<BTreeSet<&'static str>>;

static MACRO_WORDS: Words = LazyLock::new(|| MACROS.split_whitespace().collect());
static FUNCTION_WORDS: Words = LazyLock::new(|| {
    FUNCTIONS
        .split_whitespace()
        .chain(GNU.split_whitespace())
        .collect()
});
static CUDA_WORDS: Words = LazyLock::new(|| CUDA.split_whitespace().collect());

/// Beginnings of whole families of macros; capitals or digits follow.
const FAMILIES: &[&str] = &[
    "ADJ_", "CLOCK", "CLONE_", "CPU_", "EXIT_", "FD_", "FE_", "FP_", "HUGE_VAL", "LC_", "MOD_",
    "M_", "PTHREAD_", "RENAME_", "SCHED_", "SEEK_", "SIG_", "SNAN", "STA_", "TIMER_",
];

/// Beginnings of the names of limits.
const LIMITED: &[&str] = &[
    "FILENAME",
    "FOPEN",
    "INT",
    "MB_",
    "PTRDIFF",
    "RAND",
    "SIG_ATOMIC",
    "SIZE",
    "TMP",
    "UINT",
    "WCHAR",
    "WINT",
];

/// Macros of no family.
const MACROS: &str = "
    BIG_ENDIAN BUFSIZ BYTE_ORDER CSIGNAL DOMAIN LITTLE_ENDIAN L_ctermid L_cuserid L_tmpnam
    MATH_ERREXCEPT MATH_ERRNO MAXFLOAT NFDBITS OVERFLOW PDP_ENDIAN PLOSS P_tmpdir SING TIME_UTC TLOSS
    UNDERFLOW WCONTINUED WEOF WEXITED WNOHANG WNOWAIT WSTOPPED WUNTRACED math_errhandling
    sched_priority
";

/// Functions, but for the variants of others that end in `f` or `l`, and macros that look like
/// functions.
const FUNCTIONS: &str = "
    CMPLX aligned_alloc ffsll CMPLXF CMPLXL CPU_ALLOC CPU_ALLOC_SIZE CPU_AND CPU_AND_S CPU_CLR CPU_CLR_S
    CPU_COUNT CPU_COUNT_S CPU_EQUAL CPU_EQUAL_S CPU_FREE CPU_ISSET CPU_ISSET_S CPU_OR
    CPU_OR_S CPU_SET CPU_SET_S CPU_XOR CPU_XOR_S CPU_ZERO CPU_ZERO_S FD_CLR FD_ISSET FD_SET
    FD_ZERO INT16_C INT32_C INT64_C INT8_C INTMAX_C UINT16_C UINT32_C UINT64_C UINT8_C
    UINTMAX_C WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED WIFSTOPPED WSTOPSIG WTERMSIG
    a64l abort abs access acos acosh alloca arc4random arc4random_buf arc4random_uniform
    asctime asctime_r asin asinh at_quick_exit atan atan2 atanh atexit atof atoi atol bcmp
    bcopy be16toh be32toh be64toh bsearch bzero cabs cacos cacosh calloc carg casin casinh
    catan catanh cbrt ccos ccosh ceil cexp cimag clearenv clearerr clearerr_unlocked clock
    clock_getcpuclockid clock_getres clock_gettime clock_nanosleep clock_settime clog close
    conj copysign cos cosh cpow cproj creal csin csinh csqrt ctan ctanh ctermid ctime
    ctime_r difftime div dprintf drand48 drand48_r drem dup dysize ecvt ecvt_r erand48
    erand48_r erf erfc exit exp exp10 exp2 explicit_bzero expm1 fabs fclose fcvt fcvt_r fdim
    fdopen feof feof_unlocked ferror ferror_unlocked fflush fflush_unlocked ffs fgetc
    fgetc_unlocked fgetpos fgets fileno fileno_unlocked finite flockfile floor fma fmax
    fmemopen fmin fmod fopen fork fpclassify fprintf fputc fputc_unlocked fputs fread
    fread_unlocked free freopen frexp fscanf fseek fseeko fsetpos ftell ftello ftrylockfile
    funlockfile fwrite fwrite_unlocked gamma gcvt getc getc_unlocked getchar
    getchar_unlocked getdelim getenv getline getloadavg getopt getsubopt getw gmtime
    gmtime_r htobe16 htobe32 htobe64 htole16 htole32 htole64 hypot ilogb index initstate
    initstate_r isfinite isgreater isgreaterequal isinf isless islessequal islessgreater
    isnan isnormal issubnormal isunordered j0 j0f j0l j1 j1f j1l jn jnf jnl jrand48
    jrand48_r kill l64a labs lcong48 lcong48_r ldexp ldiv le16toh le32toh le64toh lgamma
    lgamma_r lgammaf_r lgammal_r link llabs lldiv llrint llround localtime localtime_r log
    log10 log1p log2 logb lrand48 lrand48_r lrint lround main malloc madvise mblen mbstowcs mbtowc
    memccpy memchr memcmp memcpy memmove memset mkdtemp mkstemp mkstemps mktemp mktime modf
    mrand48 mrand48_r nan nanosleep nearbyint nextafter nexttoward nrand48 nrand48_r
    offsetof on_exit open open_memstream pause pclose perror pipe popen posix_memalign pow
    pow10 printf pselect pthread_cleanup_pop pthread_cleanup_pop_restore_np
    pthread_cleanup_push pthread_cleanup_push_defer_np putc putc_unlocked putchar
    putchar_unlocked putenv puts putw qecvt qecvt_r qfcvt qfcvt_r qgcvt qsort quick_exit
    rand rand_r random random_r read realloc reallocarray realpath remainder remove remquo
    rename renameat rewind rindex rint round rpmatch scalb scalbln scalbn scanf seed48
    seed48_r select setbuf setbuffer setenv setlinebuf setstate setstate_r setvbuf signal
    signbit significand sin sincos sinh sleep snprintf sprintf sqrt srand srand48 srand48_r
    srandom srandom_r sscanf stpcpy stpncpy strcasecmp strcasecmp_l strcat strchr strcmp
    strcoll strcoll_l strcpy strcspn strdup strdupa strerror strerror_l strerror_r strftime
    strftime_l strlen strncasecmp strncasecmp_l strncat strncmp strncpy strndup strndupa
    strnlen strpbrk strrchr strsep strsignal strspn strstr strtod strtof strtoimax strtok
    strtok_r strtol strtold strtoq strtoul strtouq strxfrm strxfrm_l system tan tanh tempnam
    tgamma time timegm timelocal timer_create timer_delete timer_getoverrun timer_gettime
    timer_settime timespec_get tmpfile tmpnam tmpnam_r trunc tzset ungetc unsetenv valloc
    vdprintf vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf wait wcstombs wctomb
    write y0 y0f y0l y1 y1f y1l yn ynf ynl
";

/// Functions that GNU's headers declare where `_GNU_SOURCE` is defined, as C++ compilers and nvcc
/// do, but for their variants.
const GNU: &str = "
    asprintf canonicalize canonicalize_file_name clock_adjtime cookie_close_function_t
    cookie_read_function_t cookie_seek_function_t cookie_write_function_t cuserid daddl ddivl
    dfmal dmull dsqrtl dsubl fadd fcloseall fdiv ffma fgetpos64 fgets_unlocked fmaximum
    fmaximum_mag fmaximum_mag_num fmaximum_num fmaxmag fminimum fminimum_mag fminimum_mag_num
    fminimum_num fminmag fmul fopen64 fopencookie fputs_unlocked freopen64 fromfp fromfpx
    fseeko64 fsetpos64 fsqrt fsub ftello64 getdate getdate_r getpayload getpt grantpt isalnum
    isalpha isblank iscntrl isctype isdigit isgraph islower isprint ispunct isspace isupper
    isxdigit llogb memfrob memmem mempcpy mkostemp mkostemp64 mkostemps mkostemps64 mkstemp64
    mkstemps64 nextdown nextup obstack_printf obstack_vprintf posix_openpt ptsname ptsname_r
    qsort_r renameat2 roundeven secure_getenv setpayload setpayloadsig sigabbrev_np
    sigdescr_np strerrordesc_np strerrorname_np strfrom strfromd strfromf strfroml strfry
    strptime strptime_l strto strtod_l strtof_l strtol_l strtold_l strtoll_l strtoul_l
    strtoull_l strverscmp timespec_getres tmpfile64 tolower tolower_l totalorder totalordermag
    toupper toupper_l ufromfp ufromfpx unlockpt vasprintf
";

/// Functions that CUDA's headers declare as C does, but for those of C, and variants that end in
/// `f`.
const CUDA: &str = "
    clock64 cospi cyl_bessel_i0 cyl_bessel_i1 erfcinv erfcx erfinv fdivide llmax llmin max min
    norm norm3d norm4d normcdf normcdfinv rcbrt rhypot rnorm rnorm3d rnorm4d rsqrt sincospi
    sinpi ullmax ullmin umax umin
";

/// Whether a header has a macro of this name that stands for something without arguments.
#[must_use]
pub fn is_macro(name: &str) -> bool {
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    // M_PIf128
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x');
    let stem = stem.strip_suffix(['f', 'l']).unwrap_or(name);
    let family = FAMILIES.iter().any(|family| {
        let rest = stem.strip_prefix(family);
        rest.is_some_and(|rest| rest.chars().all(capital))
    });
    let capitals = name.chars().all(capital);
    let limit = capitals
        && LIMITED.iter().any(|first| name.starts_with(first))
        && ["_MAX", "_MIN", "_WIDTH"]
            .iter()
            .any(|last| name.ends_with(last));
    // C keeps E and capitals for numbers of errors.
    let error = capitals && name.starts_with('E') && name.len() > 2 && !name.contains('_');
    family || limit || error || MACRO_WORDS.contains(name)
}

/// Whether a header of C or C++ declares a function of this name.
#[must_use]
pub fn is_of_library(name: &str) -> bool {
    let known = |name: &str| FUNCTION_WORDS.contains(name);
    let variant = name.strip_suffix(['f', 'l']);
    // `lgammaf32x_r`, `strtof64_l`, `f32addf64`
    let end = name.strip_suffix("_r").or(name.strip_suffix("_l"));
    let of_width = WIDTHS.iter().any(|width| {
        let stem = |name: &str| {
            name.strip_suffix(width)
                .is_some_and(|stem| known(stem) || is_narrow(stem))
        };
        stem(name) || end.is_some_and(stem)
    });
    known(name) || name.starts_with("omp_") || variant.is_some_and(known) || of_width
}

/// What the widths of floats add to the names of functions.
const WIDTHS: [&str; 5] = ["f32", "f32x", "f64", "f64x", "f128"];

/// `f32add`: what adds, rounded to that width.
fn is_narrow(stem: &str) -> bool {
    let operations = ["add", "div", "fma", "mul", "sqrt", "sub"];
    let mut widths = WIDTHS.iter().filter_map(|width| stem.strip_prefix(width));
    widths.any(|operation| operations.contains(&operation))
}

/// Whether a header of CUDA declares a function of this name, which C's do not.
#[must_use]
pub fn is_of_cuda(name: &str) -> bool {
    let known = |name: &str| CUDA_WORDS.contains(name);
    let rest = name.strip_prefix("cuda").unwrap_or_default();
    let is_call = rest.starts_with(|c: char| c.is_ascii_uppercase());
    known(name) || name.strip_suffix('f').is_some_and(known) || is_call
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::{RUNTIME_HEADER, cuda, names};
    use crate::target::Target;
    use std::process::Command;

    /// What a compiler prints for a header.
    fn printed(compiler: &str, header: &str, args: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparsec.h");
        std::fs::write(&path, header).unwrap();
        let mut command = Command::new(compiler);
        command.arg("-DSPARSEC_IMPLEMENTATION").args(args).arg(path);
        let output = command.output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    /// With everything that this machine's headers define or declare.
    #[test]
    fn what_headers_have_taken_is_known() {
        let cuda = cuda::runtime_header();
        let c = ["-std=gnu17", "-fopenmp", "-dM", "-E", "-xc"];
        let cpp = ["-std=gnu++17", "-fopenmp", "-dM", "-E", "-xc++"];
        let mut text = String::new();
        for (compiler, header, args) in [
            ("cc", RUNTIME_HEADER, c),
            ("clang", RUNTIME_HEADER, c),
            ("c++", RUNTIME_HEADER, cpp),
            ("c++", &cuda, cpp),
            ("clang++", RUNTIME_HEADER, cpp),
        ] {
            text += &printed(compiler, header, &args).unwrap_or_default();
        }
        assert!(text.contains("M_PI"), "no compiler prints macros");
        let mut missing = Vec::new();
        let defines = text.lines().filter_map(|l| l.strip_prefix("#define "));
        for define in defines {
            let name = define.split(' ').next().unwrap_or_default();
            let taken = match name.split_once('(') {
                Some((name, _)) => names::function(name, Target::Cuda) != name,
                None => names::identifier(name) != name,
            };
            if !taken {
                missing.push(name);
            }
        }
        missing.sort_unstable();
        missing.dedup();
        assert!(missing.is_empty(), "macros: {}", missing.join(" "));
    }

    /// GCC lists what its headers declare.
    #[test]
    fn functions_of_headers_are_known() {
        let list = [
            "-std=gnu17",
            "-fopenmp",
            "-fsyntax-only",
            "-aux-info",
            "/dev/stdout",
            "-xc",
        ];
        let Some(text) = printed("gcc", RUNTIME_HEADER, &list) else {
            println!("skipped: no gcc");
            return;
        };
        assert!(text.contains("random"));
        let names = text.lines().filter_map(|line| {
            let (declared, _) = line.split_once(" (")?;
            declared.rsplit([' ', '*']).next()
        });
        let missing: Vec<&str> = names
            .filter(|name| names::function(name, Target::C) == **name)
            .collect();
        assert!(missing.is_empty(), "functions: {}", missing.join(" "));
    }

    #[test]
    fn names_that_only_look_like_them_are_free() {
        for name in ["M", "E1", "EI", "M_rows", "MODE", "INT", "N_MAX", "total"] {
            assert!(!is_macro(name), "{name}");
        }
        for name in ["norm", "normf", "max", "cudaMalloc"] {
            assert!(is_of_cuda(name) && !is_of_library(name), "{name}");
        }
        for name in [
            "fadd",
            "faddl",
            "f32addf64",
            "tanhf32x",
            "lgammaf64_r",
            "strtof32_l",
        ] {
            assert!(is_of_library(name), "{name}");
        }
        for name in ["normal", "cudaf", "cuda", "add", "f32add", "x_r"] {
            assert!(!is_of_library(name) && !is_of_cuda(name), "{name}");
        }
        for name in ["total", "cell", "conv2d", "spmv", "elf"] {
            assert!(!is_of_library(name), "{name}");
        }
    }
}
