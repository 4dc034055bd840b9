/*
 * peers/cuda/bus_wait.cu - what blocks that poll host memory cost, and what takes their place, in
 * plain kernels: nvcc -std=c++17 -O3 -arch=sm_90 bus_wait.cu -o bus_wait; some 20 s on one GPU.
 *
 *     pass     132 blocks post a command of 64 bytes and 672 of payload; the host appends all of them
 *              to one packet. Meanwhile some of the blocks poll host memory, too: a word that all
 *              poll, or each a line of its own. us from the host's go to the end of its pass.
 *     one      a word of the host's to one block and back, us; others poll lines of their own. Direct:
 *              the block polls it over the bus. Relay: another block polls it, and stores 16 bytes
 *              and a count in device memory, where the block polls.
 *     flush    each block posts a command and waits until the host has counted it; us an iteration.
 *              Direct: each polls a word of its own. Paced: so, with pauses that grow with the number
 *              of blocks that do. Relay: the host writes (block, count) into a ring that one block polls.
 */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <immintrin.h>

enum { R = 132, CELLS = 32, PAY = 704, RING = 4096, THREADS = 128 };
typedef unsigned long long u64;

struct line {
    u64 word[8]; /* each: number << 32 | what */
};
struct far { /* pinned host memory */
    line go, stop, same, letter, answer[R];
    line own[R][2];
    line done[R][2];
    u64 ring[RING];
    line command[R][CELLS];
    unsigned char payload[R][CELLS][PAY];
};
struct near { /* device memory */
    unsigned gate, pad[31];
    unsigned pollers, pad2[31];
    u64 target[2], pad3[14];
    unsigned count, pad4[31];
    unsigned done[R][32];
};

__device__ u64 load(const u64 *p)
{
    u64 v;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}
__device__ unsigned load(const unsigned *p)
{
    unsigned v;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ void store(u64 *p, u64 v)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
__device__ void release(unsigned *p, unsigned v)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ void acquire()
{
    asm volatile("fence.acquire.sys;" ::: "memory");
}
/* A word over the bus and one of device memory, both under way at once. */
__device__ void load_both(const u64 *host, const unsigned *here, u64 *a, unsigned *b)
{
    asm volatile("ld.relaxed.sys.global.u64 %0, [%2];\n\tld.relaxed.sys.global.u32 %1, [%3];"
                 : "=l"(*a), "=r"(*b)
                 : "l"(host), "l"(here)
                 : "memory");
}

struct set {
    far *f;
    near *n;
    int form, others, rounds; /* others: that poll host memory */
    int overlap, pace, active;
};

/* ---- pass ---------------------------------------------------------------------------------- */

__device__ void pass_rank(const set s, int r)
{
    __shared__ unsigned met; /* keeps both loads */
    for (unsigned i = 1; i <= (unsigned)s.rounds; i++) {
        if (threadIdx.x == 0) {
            const u64 *mine = s.form == 1 ? s.f->same.word : s.f->own[r][0].word;
            u64 a = 0;
            unsigned g = 0;
            while (g < i)
                if (r < s.others)
                    load_both(mine, &s.n->gate, &a, &g);
                else
                    g = load(&s.n->gate);
            met = g + (unsigned)(a >> 60);
        }
        __syncthreads();
        unsigned char *p = s.f->payload[r][i % CELLS];
        for (int k = threadIdx.x; k < 672 / 16; k += blockDim.x)
            ((ulonglong2 *)p)[k] = make_ulonglong2(i, r * 42 + k);
        __syncthreads();
        if (threadIdx.x == 0)
            __threadfence_system();
        __syncthreads();
        if (threadIdx.x < 8)
            store(&s.f->command[r][i % CELLS].word[threadIdx.x], (u64)i << 32 | (r + threadIdx.x));
    }
}

__global__ void pass_kernel(set s)
{
    if (blockIdx.x < R) {
        pass_rank(s, blockIdx.x);
    } else if (threadIdx.x == 0) {
        for (unsigned i = 1; i <= (unsigned)s.rounds; i++) {
            while (load(&s.f->go.word[0]) < i)
                ;
            release(&s.n->gate, i);
        }
    }
}

/* ---- one ----------------------------------------------------------------------------------- */

__device__ void one_rank(const set s)
{
    for (unsigned i = 1; i <= (unsigned)s.rounds; i++) {
        if (s.form == 0) { /* four words, and the counter beside it, as a rank does at its door */
            u64 w[4];
            unsigned c; /* the same */
            do {
                asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%5];\n\t"
                             "ld.relaxed.sys.global.v2.u64 {%2, %3}, [%5+16];\n\t"
                             "ld.relaxed.sys.global.u32 %4, [%6];"
                             : "=l"(w[0]), "=l"(w[1]), "=l"(w[2]), "=l"(w[3]), "=r"(c)
                             : "l"(s.f->letter.word), "l"(&s.n->count)
                             : "memory");
            } while (w[0] >> 32 != i || w[1] >> 32 != i || w[2] >> 32 != i || w[3] >> 32 != i);
            acquire();
            store(&s.n->target[0], w[0]);
            store(&s.n->target[1], w[1]);
            asm volatile("fence.acq_rel.sys;" ::: "memory");
        } else {
            while (load(&s.n->count) != i)
                ;
            acquire();
        }
        store(s.f->answer[0].word, (u64)i << 32 | (unsigned)load(&s.n->target[0]));
    }
}

/* A warp; eight lanes have a word of the line each. So many polls are under way at once. */
template <int DEEP> __device__ void one_relay(const set s)
{
    const unsigned lane = threadIdx.x;
    u64 word[DEEP];
    for (int k = 0; k < DEEP; k++) {
        word[k] = load(&s.f->letter.word[lane & 7]);
        const long long then = clock64();
        while (DEEP > 1 && clock64() - then < 2000 / DEEP)
            ;
    }
    unsigned i = 1;
    while (i <= (unsigned)s.rounds) {
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            const u64 w = word[k];
            const bool there = __all_sync(~0u, w >> 32 == i);
            word[k] = load(&s.f->letter.word[lane & 7]);
            if (!there)
                continue;
            acquire();
            __syncwarp();
            const u64 one = __shfl_sync(~0u, w, 0), two = __shfl_sync(~0u, w, 1);
            if (lane == 0) {
                store(&s.n->target[0], one);
                store(&s.n->target[1], two);
                release(&s.n->count, i);
            }
            i++;
        }
    }
}

__global__ void one_kernel(set s)
{
    const int b = blockIdx.x;
    if (b == R) {
        if (s.form != 0 && threadIdx.x < 32) {
            if (s.overlap == 1)
                one_relay<1>(s);
            else if (s.overlap == 2)
                one_relay<2>(s);
            else
                one_relay<4>(s);
        }
    } else if (b == 0) {
        if (threadIdx.x == 0) {
            one_rank(s);
            release(&s.n->gate, 1);
        }
    } else if (threadIdx.x == 0) {
        u64 a = 0;
        unsigned g = 0;
        while (g == 0)
            if (b <= s.others)
                load_both(s.f->own[b][0].word, &s.n->gate, &a, &g);
            else
                g = load(&s.n->gate);
    }
}

/* ---- flush --------------------------------------------------------------------------------- */

__device__ void flush_rank(const set s, int r)
{
    for (unsigned i = 1; i <= (unsigned)s.rounds; i++) {
        for (int w = 0; w < 8; w += 2)
            asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(
                             &s.f->command[r][i % CELLS].word[w]),
                         "l"((u64)i << 32 | r), "l"((u64)i << 32 | w)
                         : "memory");
        if (s.form == 2) {
            while (load(&s.n->done[r][0]) != i)
                ;
        } else if (s.form == 0) {
            while (load(&s.f->done[r][0].word[0]) != i)
                ;
        } else if (load(&s.f->done[r][0].word[0]) != i) {
            unsigned many = atomicAdd(&s.n->pollers, 1) + 1;
            do {
                if (many > 1)
                    __nanosleep(many * s.pace);
                many = load(&s.n->pollers);
            } while (load(&s.f->done[r][0].word[0]) != i);
            atomicSub(&s.n->pollers, 1);
        }
        acquire();
    }
}

__device__ void flush_relay(const set s)
{
    const unsigned lane = threadIdx.x;
    u64 next = 0;
    const u64 end = (u64)s.rounds * s.active;
    while (next < end) {
        const u64 at = next + lane, lap = at / RING % 255 + 1;
        const u64 w = load(&s.f->ring[at % RING]);
        const unsigned there = __ballot_sync(~0u, w >> 56 == lap);
        const unsigned some = there == ~0u ? 32 : __ffs(~there) - 1;
        if (lane < some) {
            acquire();
            release(&s.n->done[w >> 32 & 0xffffff][0], (unsigned)w);
        }
        next += some;
    }
}

__global__ void flush_kernel(set s)
{
    const int b = blockIdx.x;
    if (b == R) {
        if (s.form == 2 && threadIdx.x < 32)
            flush_relay(s);
    } else if (b < s.active && threadIdx.x == 0) {
        flush_rank(s, b);
    }
}

/* ---- the host's side ----------------------------------------------------------------------- */

static far *f;
static near *n;
static unsigned char *packet;

static double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static set fresh(int form, int others, int rounds)
{
    memset((void *)f, 0, sizeof(*f));
    cudaMemset(n, 0, sizeof(*n));
    cudaDeviceSynchronize();
    return {f, n, form, others, rounds, 1, 100, R};
}

static bool is_there(const line *l, u64 number)
{
    for (int k = 0; k < 8; k++)
        if (__atomic_load_n(&l->word[k], __ATOMIC_ACQUIRE) >> 32 != number)
            return false;
    return true;
}

static void ended(const char *what)
{
    const cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) {
        printf("%s: %s\n", what, cudaGetErrorString(e));
        exit(1);
    }
}

static void pass(int form, int others)
{
    const int rounds = 150;
    set s = fresh(form, others, rounds);
    pass_kernel<<<R + 1, THREADS>>>(s);
    double whole = 0, most = 0;
    for (int i = 1; i <= rounds; i++) {
        const double t = now();
        __atomic_store_n(&f->go.word[0], (u64)i, __ATOMIC_RELEASE);
        size_t at = 0;
        for (int r = 0; r < R; r++) {
            line *c = &f->command[r][i % CELLS];
            const unsigned char *p = f->payload[r][i % CELLS];
            if (r + 2 < R) {
                __builtin_prefetch(&f->command[r + 2][i % CELLS]);
                for (int q = 0; q < 11; q++)
                    __builtin_prefetch(f->payload[r + 2][i % CELLS] + 64 * q);
            }
            while (!is_there(c, i))
                ;
            memcpy(packet + at, c, 32);
            memcpy(packet + at + 32, p, 672);
            at += 704;
        }
        const double took = now() - t;
        if (i > 30) {
            whole += took;
            most = took > most ? took : most;
        }
    }
    ended("pass");
    printf("pass,%s,%d,%.1f,%.1f\n", form == 1 ? "one word" : "own lines", others,
           whole / (rounds - 30), most);
    fflush(stdout);
}

static void one(int form, int overlap, int others)
{
    const int rounds = 3000;
    set s = fresh(form, others, rounds);
    s.overlap = overlap;
    one_kernel<<<R + 1, THREADS>>>(s);
    double begin = 0;
    for (int i = 1; i <= rounds; i++) {
        if (i == 501)
            begin = now();
        for (int k = 7; k >= 0; k--)
            __atomic_store_n(&f->letter.word[k], (u64)i << 32 | k, __ATOMIC_RELEASE);
        while (__atomic_load_n(&f->answer[0].word[0], __ATOMIC_ACQUIRE) >> 32 != (u64)i)
            ;
        const double pause = now() + (i * 37 % 100) * 0.02; /* so that polls are not in step */
        while (now() < pause)
            ;
        begin += pause > 0 && i > 500 ? (i * 37 % 100) * 0.02 : 0;
    }
    const double took = now() - begin;
    ended("one");
    printf("one,%s %d,%d,%.2f\n", form == 0 ? "direct" : "relay", overlap, others,
           took / (rounds - 500));
    fflush(stdout);
}

static void flush(int form, int active, int pace)
{
    const int rounds = active > 30 ? 400 : 2000;
    set s = fresh(form, 0, rounds);
    s.active = active;
    s.pace = pace;
    unsigned next[R];
    u64 head = 0;
    for (int r = 0; r < R; r++)
        next[r] = 1;
    const double begin = now();
    flush_kernel<<<R + 1, THREADS>>>(s);
    for (long left = (long)rounds * active; left > 0;) {
        for (int r = 0; r < active; r++) {
            const unsigned i = next[r];
            __builtin_prefetch(&f->command[(r + 2) % R][next[(r + 2) % R] % CELLS]);
            if (i > (unsigned)rounds || !is_there(&f->command[r][i % CELLS], i))
                continue;
            next[r]++;
            left--;
            if (form == 2) {
                __atomic_store_n(&f->ring[head % RING],
                                 (head / RING % 255 + 1) << 56 | (u64)r << 32 | i, __ATOMIC_RELEASE);
                head++;
            } else {
                __atomic_store_n(&f->done[r][0].word[0], (u64)i, __ATOMIC_RELEASE);
            }
        }
    }
    ended("flush");
    const double took = now() - begin;
    printf("flush,%s %d,%d,%.2f\n", form == 0 ? "direct" : form == 1 ? "paced" : "relay",
           form == 1 ? pace : 0, active, took / rounds);
    fflush(stdout);
}

int main()
{
    static const int pollers[] = {0, 1, 4, 8, 16, 32, 66, 132};
    static const int counts[] = {1, 4, 30, 132};

    cudaHostAlloc((void **)&f, sizeof(*f), 0);
    cudaMalloc((void **)&n, sizeof(*n));
    packet = (unsigned char *)aligned_alloc(4096, 1 << 20);
    memset(packet, 1, 1 << 20);
    printf("what,form,blocks that poll or flush,us,us at most\n");
    for (int form = 0; form < 2; form++)
        for (int p : pollers)
            pass(form, p);
    for (int others : {0, 29, 131}) {
        one(0, 1, others);
        for (int overlap : {1, 2, 4})
            one(1, overlap, others);
    }
    for (int active : counts) {
        flush(0, active, 0);
        for (int pace : {20, 50, 100})
            flush(1, active, pace);
        flush(2, active, 0);
    }
    return 0;
}
