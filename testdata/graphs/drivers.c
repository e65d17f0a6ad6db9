/* Graph algorithms as loops over the steps of steps.tc.
 *
 *     drivers GRAPH bfs|paths|rank|triangles
 *
 * GRAPH holds, as the machine stores them: the number of vertices and of edges (int64), positions and
 * coordinates (int32) and lengths (double) of the edges by rows. Writes a double for each vertex: the level at
 * which it is reached from vertex 0, or -1; the length of the shortest way from vertex 0, or infinity; its
 * rank; or one number, that of triangles. */
#define SPARSEC_IMPLEMENTATION
#include "steps.h"
#include <stdio.h>

#define MUST(call)                                                          \
    do {                                                                    \
        if (call) return fprintf(stderr, "%s: %s\n", #call, sparsec_error()), 1; \
    } while (0)

typedef struct graph {
    int64_t dims[2];
    int32_t *pos, *crd;
    double *lengths;
    sparsec_level rows[2];
} graph;

static void *read_array(FILE *file, int64_t n, size_t size) {
    void *array = malloc((size_t)n * size + 1);
    if (array && fread(array, size, (size_t)n, file) == (size_t)n) return array;
    fprintf(stderr, "the graph is cut off\n");
    exit(1);
}

static graph read_graph(const char *path) {
    FILE *file = fopen(path, "rb");
    graph g = {{0, 0}, NULL, NULL, NULL, {{0}, {0}}};
    if (!file) {
        perror(path);
        exit(1);
    }
    int64_t *counts = (int64_t *)read_array(file, 2, 8);
    const int64_t n = counts[0], edges = counts[1];
    free(counts);
    g.dims[0] = g.dims[1] = n;
    g.pos = (int32_t *)read_array(file, n + 1, 4);
    g.crd = (int32_t *)read_array(file, edges, 4);
    g.lengths = (double *)read_array(file, edges, 8);
    fclose(file);
    g.rows[0] = (sparsec_level){.kind = SPARSEC_DENSE, .mode = 0};
    g.rows[1] = (sparsec_level){.kind = SPARSEC_COMPRESSED, .mode = 1, .pos = g.pos, .pos_len = n + 1,
                                .crd = g.crd, .crd_len = edges};
    return g;
}

/* The matrix of the graph, with these values for its edges. */
static sparsec_tensor matrix(graph *g, int32_t type, void *vals) {
    return (sparsec_tensor){.type = type, .order = 2, .index_bits = 32, .dims = g->dims, .levels = g->rows,
                            .vals = vals, .vals_len = g->pos[g->dims[0]]};
}

static sparsec_level every[] = {{.kind = SPARSEC_DENSE, .mode = 0}};

static sparsec_tensor vector(int64_t *n, int32_t type, void *vals) {
    return (sparsec_tensor){.type = type, .order = 1, .index_bits = 32, .dims = n, .levels = every,
                            .vals = vals, .vals_len = *n};
}

static int bfs(graph *g, double *level) {
    int64_t *n = &g->dims[0], depth = 0;
    bool *edges = (bool *)malloc((size_t)g->pos[*n] + 1), *visited = (bool *)calloc((size_t)*n, 1), start[] = {true};
    int32_t pos[] = {0, 1}, first[] = {0};
    sparsec_level met[] = {{.kind = SPARSEC_COMPRESSED, .mode = 0, .pos = pos, .pos_len = 2, .crd = first, .crd_len = 1}};
    sparsec_tensor A = matrix(g, SPARSEC_BOOL, edges), seen = vector(n, SPARSEC_BOOL, visited), next = {0};
    sparsec_tensor frontier = {.type = SPARSEC_BOOL, .order = 1, .index_bits = 32, .dims = n, .levels = met,
                               .vals = start, .vals_len = 1};
    memset(edges, true, (size_t)g->pos[*n]);
    for (int64_t i = 0; i < *n; i++) level[i] = -1;
    visited[0] = true;
    level[0] = 0;
    for (int64_t found = 1; found > 0;) {
        MUST(reach(&A, &frontier, &seen, &next));
        found = 0;
        depth++;
        int32_t *crd = (int32_t *)next.levels[0].crd;
        bool *is_new = (bool *)next.vals;
        for (int64_t p = 0; p < next.vals_len; p++) {
            if (!is_new[p]) continue;
            visited[crd[p]] = true;
            level[crd[p]] = (double)depth;
            crd[found] = crd[p];
            is_new[found++] = true;
        }
        /* What was found becomes the frontier; the old one's arrays take the next. */
        ((int32_t *)next.levels[0].pos)[1] = (int32_t)found;
        next.levels[0].crd_len = next.vals_len = found;
        if (depth == 1) frontier = (sparsec_tensor){0};
        sparsec_tensor before = frontier;
        frontier = next;
        next = before;
    }
    sparsec_free_tensor(&frontier);
    sparsec_free_tensor(&next);
    free(edges);
    free(visited);
    return 0;
}

static int paths(graph *g, double *length) {
    int64_t *n = &g->dims[0];
    sparsec_tensor A = matrix(g, SPARSEC_FLOAT64, g->lengths), d = vector(n, SPARSEC_FLOAT64, length), e = {0};
    A.fill.float64 = INFINITY;
    for (int64_t i = 0; i < *n; i++) length[i] = i ? INFINITY : 0;
    for (bool shorter = true; shorter;) {
        MUST(relax(&A, &d, &e));
        const size_t bytes = (size_t)*n * sizeof *length;
        shorter = memcmp(length, e.vals, bytes) != 0;
        memcpy(length, e.vals, bytes);
    }
    sparsec_free_tensor(&e);
    return 0;
}

static int pagerank(graph *g, double *r) {
    int64_t *n = &g->dims[0];
    double *ones = (double *)malloc((size_t)(g->pos[*n] + 1) * 8), *share = (double *)malloc((size_t)*n * 8);
    sparsec_tensor A = matrix(g, SPARSEC_FLOAT64, ones), ranks = vector(n, SPARSEC_FLOAT64, r),
                   shares = vector(n, SPARSEC_FLOAT64, share), s = {0};
    for (int64_t e = 0; e < g->pos[*n]; e++) ones[e] = 1;
    for (int64_t i = 0; i < *n; i++) {
        const int32_t edges = g->pos[i + 1] - g->pos[i];
        share[i] = edges ? 1.0 / edges : 0;
        r[i] = 1.0 / (double)*n;
    }
    for (double moved = 1; moved > 1e-12;) {
        double idle = 0;
        for (int64_t i = 0; i < *n; i++) idle += share[i] == 0 ? r[i] : 0;
        MUST(rank(&A, &ranks, &shares, (0.15 + 0.85 * idle) / (double)*n, &s));
        moved = 0;
        for (int64_t i = 0; i < *n; i++) {
            moved += fabs(((double *)s.vals)[i] - r[i]);
            r[i] = ((double *)s.vals)[i];
        }
    }
    sparsec_free_tensor(&s);
    free(ones);
    free(share);
    return 0;
}

/* Of a graph whose edges lead to smaller numbers. */
static int triangles(graph *g, double *count) {
    const int64_t edges = g->pos[g->dims[0]];
    int64_t *ones = (int64_t *)malloc((size_t)(edges + 1) * 8);
    sparsec_tensor L = matrix(g, SPARSEC_INT64, ones), C = {0}, t = {0};
    for (int64_t e = 0; e < edges; e++) ones[e] = 1;
    MUST(closed(&L, &C, &t));
    *count = (double)*(int64_t *)t.vals;
    sparsec_free_tensor(&C);
    sparsec_free_tensor(&t);
    free(ones);
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc == 3 ? argv[2] : "";
    int wrong = 1;
    int64_t results = 1;
    graph g = read_graph(argc == 3 ? argv[1] : "");
    double *out = (double *)calloc((size_t)g.dims[0] + 1, 8);
    if (strcmp(what, "triangles")) results = g.dims[0];
    if (!strcmp(what, "bfs")) wrong = bfs(&g, out);
    else if (!strcmp(what, "paths")) wrong = paths(&g, out);
    else if (!strcmp(what, "rank")) wrong = pagerank(&g, out);
    else if (!strcmp(what, "triangles")) wrong = triangles(&g, out);
    else fprintf(stderr, "drivers GRAPH bfs|paths|rank|triangles\n");
    if (!wrong) fwrite(out, 8, (size_t)results, stdout);
    free(out);
    free(g.pos);
    free(g.crd);
    free(g.lengths);
    return wrong;
}
