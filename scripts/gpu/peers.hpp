// cuSPARSE and cuBLAS, opened at run time: the program is built without their headers, and runs
// where the libraries are, wherever that is. The declarations are those of cusparse.h (12.x) and
// cublas_v2.h (12 and 13), whose numbers and signatures their makers keep.
#pragma once
#include "inputs.hpp"
#include "memory.hpp"
#include <dlfcn.h>
#include <functional>
#include <glob.h>

/* A library that has been looked for in the folders that it may lie in. */
class Library {
    void *handle = nullptr;
    std::string tried;

    void open(const std::string &path) {
        if (handle) return;
        handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) tried += "\n  " + std::string(dlerror());
    }
    void open_all(const std::string &pattern) {
        glob_t found;
        if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
            for (size_t n = 0; n < found.gl_pathc; n++) open(found.gl_pathv[n]);
        globfree(&found);
    }

  public:
    /* Looks in CUDA_LIBRARIES, where the loader looks, beside nvcc, and where Python's packages
       of NVIDIA's are. */
    explicit Library(const std::string &name) {
        const char *named = getenv("CUDA_LIBRARIES");
        for (const char *folder : {"", "/lib", "/lib64"})
            if (named) open_all(named + std::string(folder) + "/" + name + ".so*");
        open(name + ".so");
        for (const char *folder : {NVCC_LIBRARIES, "/usr/local/cuda/lib64"}) open_all(folder + ("/" + name + ".so*"));
        Lines packages("python3 -c 'import sysconfig; print(sysconfig.get_paths()[\"purelib\"])' 2>/dev/null", Lines::COMMAND);
        if (char *line = packages.next()) {
            const std::string folder(line, strcspn(line, "\n"));
            open_all(folder + "/nvidia/*/lib/" + name + ".so*");
        }
        must(handle, "no " + name + ": set CUDA_LIBRARIES to its folder, or go on --without-peers" + tried);
    }
    template <class Function> Function *function(const char *name) const {
        void *at = dlsym(handle, name);
        must(at, std::string("no ") + name);
        return reinterpret_cast<Function *>(at);
    }
};

static void peer(int status, const char *what) {
    must(status == 0, std::string(what) + ": status " + std::to_string(status));
}

/* What cudaDataType, cusparseOperation_t and so on are, as numbers. */
enum { REAL_32 = 0, REAL_64 = 1, AS_IS = 0, FLIPPED = 1, INDEX_32 = 2, FROM_ZERO = 0, ROWS_FIRST = 2 };
struct Algorithm {
    const char *name;
    int number;
};
static const Algorithm SPMV_ALGORITHMS[] = {{"cusparse_default", 0}, {"cusparse_csr1", 2}, {"cusparse_csr2", 3}};
static const Algorithm SPMM_ALGORITHMS[] = {{"cusparse_default", 0}, {"cusparse_csr1", 4}, {"cusparse_csr2", 6}, {"cusparse_csr3", 12}};

/* cuSPARSE's generic functions. Descriptors are opaque; scalars lie in the host's memory. */
struct CuSparse {
    using Opaque = void *;
    Library library{"libcusparse"};
    Opaque handle = nullptr;
#define SPARSEC_PEER(name, ...) int (*name)(__VA_ARGS__) = library.function<int(__VA_ARGS__)>("cusparse" #name)
    SPARSEC_PEER(Create, Opaque *);
    SPARSEC_PEER(Destroy, Opaque);
    SPARSEC_PEER(CreateCsr, Opaque *, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int);
    SPARSEC_PEER(CreateDnMat, Opaque *, int64_t, int64_t, int64_t, void *, int, int);
    SPARSEC_PEER(CreateDnVec, Opaque *, int64_t, void *, int);
    SPARSEC_PEER(DestroySpMat, Opaque);
    SPARSEC_PEER(DestroyDnMat, Opaque);
    SPARSEC_PEER(DestroyDnVec, Opaque);
    SPARSEC_PEER(SpMV_bufferSize, Opaque, int, const void *, Opaque, Opaque, const void *, Opaque, int, int, size_t *);
    SPARSEC_PEER(SpMV_preprocess, Opaque, int, const void *, Opaque, Opaque, const void *, Opaque, int, int, void *);
    SPARSEC_PEER(SpMV, Opaque, int, const void *, Opaque, Opaque, const void *, Opaque, int, int, void *);
    SPARSEC_PEER(SpMM_bufferSize, Opaque, int, int, const void *, Opaque, Opaque, const void *, Opaque, int, int, size_t *);
    SPARSEC_PEER(SpMM_preprocess, Opaque, int, int, const void *, Opaque, Opaque, const void *, Opaque, int, int, void *);
    SPARSEC_PEER(SpMM, Opaque, int, int, const void *, Opaque, Opaque, const void *, Opaque, int, int, void *);
    SPARSEC_PEER(SDDMM_bufferSize, Opaque, int, int, const void *, Opaque, Opaque, const void *, Opaque, int, int, size_t *);
    SPARSEC_PEER(SDDMM_preprocess, Opaque, int, int, const void *, Opaque, Opaque, const void *, Opaque, int, int, void *);
    SPARSEC_PEER(SDDMM, Opaque, int, int, const void *, Opaque, Opaque, const void *, Opaque, int, int, void *);
    CuSparse() { peer(Create(&handle), "cusparseCreate"); }
    CuSparse(const CuSparse &) = delete;
    CuSparse &operator=(const CuSparse &) = delete;
    ~CuSparse() { Destroy(handle); }
};

/* cuBLAS's product of matrices of floats, columns first. */
struct CuBlas {
    using Opaque = void *;
    Library library{"libcublas"};
    Opaque handle = nullptr;
    int (*Create)(Opaque *) = library.function<int(Opaque *)>("cublasCreate_v2");
    int (*Destroy)(Opaque) = library.function<int(Opaque)>("cublasDestroy_v2");
    int (*Sgemm)(Opaque, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int) =
        library.function<int(Opaque, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int)>("cublasSgemm_v2");
    CuBlas() { peer(Create(&handle), "cublasCreate"); }
    CuBlas(const CuBlas &) = delete;
    CuBlas &operator=(const CuBlas &) = delete;
    ~CuBlas() { Destroy(handle); }
};
#undef SPARSEC_PEER

/* Both, if there are to be peers. */
struct Peers {
    CuSparse sparse;
    CuBlas blas;
};

/* Descriptors and rooms of one operation, kept as long as the candidates that use them. */
class Described {
    const CuSparse &library;
    std::vector<Room> rooms;
    std::vector<std::function<void()>> undo;

  public:
    explicit Described(const CuSparse &sparse) : library(sparse) {}
    Described(const Described &) = delete;
    Described &operator=(const Described &) = delete;
    ~Described() {
        for (auto &step : undo) step();
    }
    void *csr(const Matrix &m, void *pos, void *crd, void *vals, int type) {
        void *d;
        peer(library.CreateCsr(&d, m.rows, m.columns, m.stored(), pos, crd, vals, INDEX_32, INDEX_32, FROM_ZERO, type), "cusparseCreateCsr");
        undo.push_back([this, d] { library.DestroySpMat(d); });
        return d;
    }
    void *matrix(int64_t rows, int64_t columns, void *at, int type) {
        void *d;
        peer(library.CreateDnMat(&d, rows, columns, columns, at, type, ROWS_FIRST), "cusparseCreateDnMat");
        undo.push_back([this, d] { library.DestroyDnMat(d); });
        return d;
    }
    void *vector(int64_t count, void *at) {
        void *d;
        peer(library.CreateDnVec(&d, count, at, REAL_64), "cusparseCreateDnVec");
        undo.push_back([this, d] { library.DestroyDnVec(d); });
        return d;
    }
    void *room(size_t bytes) {
        rooms.emplace_back(bytes);
        return rooms.back().at();
    }
};
template <class T> static const T zero = 0;
template <class T> static const T one = 1;
