//! Names that the headers of C, C++ and POSIX have taken: their macros, which no name may be, and
//! their functions, types and variables, which a function of the user must not declare again. The headers are
//! all that a bigger program may include beside a kernel's, not those of the kernel alone.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Every name of a kernel is looked for: the lists are taken apart once.
type Words = LazyLock<BTreeSet<&'static str>>;

static MACRO_WORDS: Words = LazyLock::new(|| MACROS.split_whitespace().collect());
static FUNCTION_WORDS: Words = LazyLock::new(|| {
    FUNCTIONS
        .split_whitespace()
        .chain(GNU.split_whitespace())
        .chain(POSIX.split_whitespace())
        .chain(TYPES.split_whitespace())
        .collect()
});
static CUDA_WORDS: Words = LazyLock::new(|| CUDA.split_whitespace().collect());

/// Beginnings of whole families of macros; capitals or digits follow.
const FAMILIES: &[&str] = &[
    "ADJ_",
    "AF_",
    "ATOMIC_",
    "AT_",
    "BUS_",
    "CLD_",
    "CLOCK",
    "CLONE_",
    "CLOSE_RANGE_",
    "CPU_",
    "DBL_",
    "DN_",
    "DT_",
    "EXIT_",
    "FALLOC_FL_",
    "FD_",
    "FE_",
    "FLT_",
    "FPE_",
    "FP_",
    "F_",
    "HUGE_VAL",
    "ILL_",
    "ITIMER_",
    "LC_",
    "LDBL_",
    "LOCK_",
    "MADV_",
    "MAP_",
    "MCL_",
    "MFD_",
    "MOD_",
    "MREMAP_",
    "MSG_",
    "MS_",
    "M_",
    "O_",
    "PF_",
    "PKEY_",
    "POLL_",
    "POSIX_",
    "PRIX",
    "PRId",
    "PRIi",
    "PRIo",
    "PRIu",
    "PRIx",
    "PROT_",
    "PTHREAD_",
    "REG_",
    "RENAME_",
    "RWF_",
    "RWH_",
    "SA_",
    "SCHED_",
    "SCM_",
    "SCNd",
    "SCNi",
    "SCNo",
    "SCNu",
    "SCNx",
    "SEEK_",
    "SEGV_",
    "SHUT_",
    "SIGEV_",
    "SIG_",
    "SI_",
    "SNAN",
    "SOCK_",
    "SOL_",
    "SO_",
    "SPLICE_F_",
    "SS_",
    "STATX_",
    "STA_",
    "SYNC_FILE_RANGE_",
    "S_I",
    "TIMER_",
    "TRAP_",
    "XATTR_",
];

/// Beginnings of the names of limits.
const LIMITED: &[&str] = &[
    "AIO_",
    "BC_",
    "BOOL",
    "CHAR",
    "COLL_",
    "DELAYTIMER",
    "EXPR_NEST",
    "FILENAME",
    "FOPEN",
    "HOST_NAME",
    "INT",
    "IOV",
    "LINE",
    "LLONG",
    "LOGIN_NAME",
    "LONG",
    "MB_",
    "MQ_",
    "NAME",
    "NGROUPS",
    "PATH",
    "PTRDIFF",
    "RAND",
    "RE_DUP",
    "RTSIG",
    "SCHAR",
    "SEM_",
    "SHRT",
    "SIG_ATOMIC",
    "SIZE",
    "SSIZE",
    "TMP",
    "TTY_NAME",
    "UCHAR",
    "UINT",
    "ULLONG",
    "ULONG",
    "USHRT",
    "WCHAR",
    "WINT",
];

/// Macros of no family.
const MACROS: &str = "
    ACCESSPERMS AF_DECnet ALLPERMS B0 B1000000 B110 B115200 B1152000 B1200 B134 B150 B1500000 B1800
    B19200 B200 B2000000 B230400 B2400 B2500000 B300 B3000000 B3500000 B38400 B4000000 B460800 B4800
    B50 B500000 B57600 B576000 B600 B75 B921600 B9600 BIG_ENDIAN BRKINT BS0 BS1 BSDLY BUFSIZ
    BYTE_ORDER CBAUD CBAUDEX CBRK CDISCARD CDSUSP CEOF CEOL CEOT CERASE CFLUSH CHAR_BIT CIBAUD CINTR
    CKILL CLNEXT CLOCAL CMIN CMSPAR CQUIT CR0 CR1 CR2 CR3 CRDLY CREAD CREPRINT CRPRNT CRTSCTS CS5
    CS6 CS7 CS8 CSIGNAL CSIZE CSTART CSTATUS CSTOP CSTOPB CSUSP CTIME CWERASE DECIMAL_DIG
    DEFFILEMODE DOMAIN FAPPEND FASYNC FF0 FF1 FFDLY FFSYNC FIOGETOWN FIOSETOWN FLUSHO FNDELAY
    FNONBLOCK HUPCL ICANON ICRNL IEXTEN IGNBRK IGNCR IGNPAR IMAXBEL IN6ADDR_ANY_INIT INADDR_ANY
    INADDR_NONE INLCR INPCK ISIG ISTRIP IUCLC IUTF8 IXANY IXOFF IXON LITTLE_ENDIAN LONG_BIT L_INCR
    L_SET L_XTND L_ctermid L_cuserid L_tmpnam MATH_ERREXCEPT MATH_ERRNO MAXFLOAT MAXNAMLEN MAX_CANON
    MAX_HANDLE_SZ MAX_INPUT MINSIGSTKSZ MLOCK_ONFAULT NCCS NFDBITS NGREG NL0 NL1 NLDLY NL_ARGMAX
    NL_LANGMAX NL_MSGMAX NL_NMAX NL_SETMAX NL_TEXTMAX NOFLSH NSIG NZERO OCRNL OFDEL OFILL OLCUC
    ONCE_FLAG_INIT ONLCR ONLRET ONOCR OPOST OVERFLOW PARENB PARMRK PARODD PDP_ENDIAN PENDIN
    PF_DECnet PIPE_BUF PLOSS POLLERR POLLHUP POLLIN POLLMSG POLLNVAL POLLOUT POLLPRI POLLRDBAND
    POLLRDHUP POLLRDNORM POLLREMOVE POLLWRBAND POLLWRNORM P_tmpdir R_OK SEM_FAILED SIGABRT SIGALRM
    SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL
    SIGPROF SIGPWR SIGQUIT SIGRTMAX SIGRTMIN SIGSEGV SIGSTKFLT SIGSTKSZ SIGSTOP SIGSYS SIGTERM
    SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ SING
    SIOCATMARK SIOCGPGRP SIOCGSTAMPNS_OLD SIOCGSTAMP_OLD SIOCSPGRP SOMAXCONN STDERR_FILENO
    STDIN_FILENO STDOUT_FILENO S_BLKSIZE TAB0 TAB1 TAB2 TAB3 TABDLY TCIFLUSH TCIOFF TCIOFLUSH TCION
    TCOFLUSH TCOOFF TCOON TCSADRAIN TCSAFLUSH TCSANOW TIME_UTC TIOCSER_TEMT TLOSS TOSTOP
    TSS_DTOR_ITERATIONS TTYDEF_CFLAG TTYDEF_IFLAG TTYDEF_LFLAG TTYDEF_OFLAG TTYDEF_SPEED UNDERFLOW
    UTIME_NOW UTIME_OMIT VDISCARD VEOF VEOL VEOL2 VERASE VINTR VKILL VLNEXT VMIN VQUIT VREPRINT
    VSTART VSTOP VSUSP VSWTC VT0 VT1 VTDLY VTIME VWERASE WAIT_ANY WAIT_MYPGRP WCONTINUED WCOREFLAG
    WEOF WEXITED WNOHANG WNOWAIT WORD_BIT WSTOPPED WUNTRACED W_OK XCASE XTABS X_OK d_fileno h_addr
    h_errno math_errhandling s6_addr s_addr sa_handler sa_sigaction sched_priority si_addr
    si_addr_lsb si_arch si_band si_call_addr si_fd si_int si_lower si_overrun si_pid si_pkey si_ptr
    si_status si_stime si_syscall si_timerid si_uid si_upper si_utime si_value
    sigev_notify_attributes sigev_notify_function st_atime st_atimespec st_ctime st_ctimespec
    st_mtime st_mtimespec
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

/// Functions of other headers of POSIX and C, which programs include beside a kernel's.
const POSIX: &str = "
    ATOMIC_VAR_INIT CCEQ CMSG_ALIGN CMSG_DATA CMSG_FIRSTHDR CMSG_LEN CMSG_NXTHDR CMSG_SPACE CTRL
    DTTOIF IFTODT S_ISBLK S_ISCHR S_ISDIR S_ISFIFO S_ISLNK S_ISREG S_ISSOCK S_TYPEISMQ S_TYPEISSEM
    S_TYPEISSHM TEMP_FAILURE_RETRY TIMESPEC_TO_TIMEVAL TIMEVAL_TO_TIMESPEC WCOREDUMP W_EXITCODE
    W_STOPCODE accept accept4 acct adjtime alarm alphasort alphasort64 assert assert_perror basename
    bind brk btowc call_once cfgetispeed cfgetospeed cfmakeraw cfsetispeed cfsetospeed cfsetspeed
    chdir chmod chown chroot clone close_range closedir closefrom confstr connect copy_file_range
    creat creat64 crypt daemon dirfd dup2 dup3 duplocale eaccess endusershell euidaccess execl
    execle execlp execv execve execveat execvp execvpe faccessat fallocate fallocate64 fchdir fchmod
    fchmodat fchown fchownat fcntl fcntl64 fdatasync fdopendir feclearexcept fedisableexcept
    feenableexcept fegetenv fegetexcept fegetexceptflag fegetmode fegetround feholdexcept
    feraiseexcept fesetenv fesetexcept fesetexceptflag fesetmode fesetround fetestexcept
    fetestexceptflag feupdateenv fexecve fgetwc fgetwc_unlocked fgetws fgetws_unlocked fpathconf
    fputwc fputwc_unlocked fputws fputws_unlocked freelocale fstat fstat64 fstatat fstatat64 fsync
    ftruncate ftruncate64 futimens futimes futimesat fwide fwprintf fwscanf get_current_dir_name
    getcpu getcwd getdents64 getdirentries getdirentries64 getdomainname getdtablesize getegid
    getentropy geteuid getgid getgroups gethostid gethostname getitimer getlogin getlogin_r
    getpagesize getpass getpeername getpgid getpgrp getpid getppid getresgid getresuid getsid
    getsockname getsockopt gettid gettimeofday getuid getumask getusershell getwc getwc_unlocked
    getwchar getwchar_unlocked getwd group_member gsignal imaxabs imaxdiv isalnum_l isalpha_l
    isascii isascii_l isatty isblank_l iscanonical iscntrl_l isdigit_l iseqsig isfdtype isgraph_l
    islower_l isprint_l ispunct_l issignaling isspace_l isupper_l iswalnum iswalnum_l iswalpha
    iswalpha_l iswblank iswblank_l iswcntrl iswcntrl_l iswctype iswctype_l iswdigit iswdigit_l
    iswgraph iswgraph_l iswlower iswlower_l iswprint iswprint_l iswpunct iswpunct_l iswspace
    iswspace_l iswupper iswupper_l iswxdigit iswxdigit_l isxdigit_l iszero kill_dependency killpg
    lchmod lchown linkat listen localeconv lockf lockf64 longjmp lseek lseek64 lstat lstat64 lutimes
    mbrlen mbrtowc mbsinit mbsnrtowcs mbsrtowcs memfd_create memrchr mincore mkdir mkdirat mkfifo
    mkfifoat mknod mknodat mlock mlock2 mlockall mmap mmap64 mprotect mremap msync munlock
    munlockall munmap name_to_handle_at newlocale nice open64 open_by_handle_at open_wmemstream
    openat openat64 opendir pathconf pipe2 pkey_alloc pkey_free pkey_get pkey_mprotect pkey_set poll
    posix_fadvise posix_fadvise64 posix_fallocate posix_fallocate64 posix_madvise ppoll pread
    pread64 process_madvise process_mrelease profil psiginfo psignal putwc putwc_unlocked putwchar
    putwchar_unlocked pwrite pwrite64 raise rawmemchr readahead readdir readdir64 readdir64_r
    readdir_r readlink readlinkat recv recvfrom recvmmsg recvmsg remap_file_pages revoke rewinddir
    rmdir sbrk scandir scandir64 scandirat scandirat64 sched_get_priority_max sched_get_priority_min
    sched_getaffinity sched_getcpu sched_getparam sched_getscheduler sched_rr_get_interval
    sched_setaffinity sched_setparam sched_setscheduler sched_yield seekdir sem_clockwait sem_close
    sem_destroy sem_getvalue sem_init sem_open sem_post sem_timedwait sem_trywait sem_unlink
    sem_wait send sendmmsg sendmsg sendto setdomainname setegid seteuid setgid sethostid sethostname
    setitimer setjmp setlocale setlogin setns setpgid setpgrp setregid setresgid setresuid setreuid
    setsid setsockopt settimeofday setuid setusershell shm_open shm_unlink shutdown sigaction
    sigaddset sigaltstack sigandset sigblock sigdelset sigemptyset sigfillset siggetmask sighold
    sigignore siginterrupt sigisemptyset sigismember siglongjmp sigmask sigorset sigpause sigpending
    sigprocmask sigqueue sigrelse sigreturn sigset sigsetjmp sigsetmask sigstack sigsuspend
    sigtimedwait sigwait sigwaitinfo sockatmark socket socketpair splice ssignal stat stat64 statx
    strcasestr strchrnul strtoumax swab swprintf swscanf symlink symlinkat sync sync_file_range
    syncfs syscall sysconf sysv_signal tcdrain tcflow tcflush tcgetattr tcgetpgrp tcgetsid
    tcsendbreak tcsetattr tcsetpgrp tee telldir tgkill timeradd timerclear timercmp timerisset
    timersub toascii toascii_l towctrans towctrans_l towlower towlower_l towupper towupper_l
    truncate truncate64 ttyname ttyname_r ttyslot ualarm umask ungetwc unlink unlinkat unshare
    uselocale usleep utimensat utimes va_arg va_copy va_end va_start versionsort versionsort64 vfork
    vfwprintf vfwscanf vhangup vmsplice vswprintf vswscanf vwprintf vwscanf wait3 wait4 waitid
    waitpid wcpcpy wcpncpy wcrtomb wcscasecmp wcscasecmp_l wcscat wcschr wcschrnul wcscmp wcscoll
    wcscoll_l wcscpy wcscspn wcsdup wcsftime wcsftime_l wcslen wcsncasecmp wcsncasecmp_l wcsncat
    wcsncmp wcsncpy wcsnlen wcsnrtombs wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstod_l
    wcstof wcstof128 wcstof128_l wcstof32 wcstof32_l wcstof32x wcstof32x_l wcstof64 wcstof64_l
    wcstof64x wcstof64x_l wcstof_l wcstoimax wcstok wcstol wcstol_l wcstold wcstold_l wcstoll
    wcstoll_l wcstoq wcstoul wcstoul_l wcstoull wcstoull_l wcstoumax wcstouq wcswcs wcswidth wcsxfrm
    wcsxfrm_l wctob wctrans wctrans_l wctype wctype_l wcwidth wmemchr wmemcmp wmemcpy wmemmove
    wmempcpy wmemset wprintf wscanf
";

/// Types and variables of all these headers, which a function must not be called.
const TYPES: &str = "
    DIR FILE blkcnt64_t blkcnt_t blksize_t caddr_t cc_t clock_t clockid_t comparison_fn_t
    cookie_io_functions_t cpu_set_t daddr_t daylight dev_t div_t double_t environ error_t fd_mask
    fd_set femode_t fenv_t fexcept_t float_t fpos64_t fpos_t fpregset_t fsblkcnt64_t fsblkcnt_t
    fsfilcnt64_t fsfilcnt_t fsid_t gid_t greg_t gregset_t id_t idtype_t imaxdiv_t ino64_t ino_t
    int_fast16_t int_fast32_t int_fast64_t int_fast8_t int_least16_t int_least32_t int_least64_t
    int_least8_t intmax_t intptr_t jmp_buf key_t ldiv_t lldiv_t locale_t loff_t max_align_t
    mbstate_t mcontext_t memory_order mode_t nfds_t nlink_t off64_t off_t once_flag optarg opterr
    optind optopt pid_t program_invocation_name program_invocation_short_name quad_t register_t
    sa_family_t sem_t sig_atomic_t sig_t sighandler_t siginfo_t sigjmp_buf signgam sigset_t sigval_t
    socklen_t speed_t ssize_t stack_t suseconds_t tcflag_t time_t timer_t timezone tzname u_char
    u_int u_int16_t u_int32_t u_int64_t u_int8_t u_long u_quad_t u_short ucontext_t uid_t uint
    uint_fast16_t uint_fast32_t uint_fast64_t uint_fast8_t uint_least16_t uint_least32_t
    uint_least64_t uint_least8_t uintmax_t uintptr_t ulong useconds_t ushort va_list wctrans_t
    wctype_t wint_t
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

/// Beginnings of whole families of functions.
const CALLED_FAMILIES: [&str; 7] = [
    "atomic_", "cnd_", "mtx_", "omp_", "pthread_", "thrd_", "tss_",
];

/// Whether a header of C, C++ or POSIX declares a function, a type or a variable of this name.
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
    let family = CALLED_FAMILIES.iter().any(|first| name.starts_with(first));
    known(name) || family || variant.is_some_and(known) || of_width
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

    /// What programs may include beside a kernel's header, and what C++ has no more.
    const BESIDE: &str = "assert ctype dirent errno fcntl fenv float inttypes iso646 limits locale math
        poll pthread sched semaphore setjmp signal stdarg stddef stdint stdio stdlib string strings
        sys/mman sys/select sys/socket sys/stat sys/time sys/types sys/wait termios time unistd wchar wctype";
    const OF_C: &str = "stdalign stdatomic stdbool stdnoreturn threads";

    /// What a compiler prints for a header and those beside it.
    fn printed(compiler: &str, header: &str, args: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparsec.h");
        let include =
            |name| format!("#if __has_include(<{name}.h>)\n#include <{name}.h>\n#endif\n");
        let all: String = BESIDE.split_whitespace().map(include).collect();
        let of_c: String = OF_C.split_whitespace().map(include).collect();
        let text = format!("{header}\n{all}#ifndef __cplusplus\n{of_c}#endif\n");
        std::fs::write(&path, text).unwrap();
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

    /// Those of POSIX, whatever headers this machine has.
    #[test]
    fn names_of_other_headers_are_known() {
        let parameters =
            "SIGINT B0 st_mtime PRId64 SCNxPTR S_IFMT O_RDONLY AF_INET DBL_MAX PATH_MAX noreturn
            ECHO VMIN si_pid R_OK co_await co_yield co_return char8_t STDIN_FILENO";
        for name in parameters.split_whitespace() {
            assert_eq!(names::identifier(name), format!("{name}_"));
        }
        let functions =
            "send bind raise nice sync assert environ stat connect listen mmap poll sigaction
            tcgetattr imaxabs pthread_join atomic_load optarg signgam FILE ssize_t isatty";
        for name in functions.split_whitespace() {
            assert_eq!(names::function(name, Target::C), format!("{name}_"));
        }
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
        for name in [
            "total", "cell", "conv2d", "spmv", "elf", "B1", "SIGMA", "spmv_t", "step", "sends",
        ] {
            assert!(!is_macro(name), "{name}");
            assert!(!is_of_library(name), "{name}");
        }
    }
}
