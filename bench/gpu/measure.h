/*
 * gpu/measure.h - what the figures of the GPU share, on weft and on its peers: the messages,
 * how often they are sent, what they carry, and the lines of the result. C17 and CUDA C.
 *
 * A ping-pong has three phases. In the checked round trips every word of every message is new, and
 * the receiver compares them all. Then some round trips to warm up, and the timed ones: they move
 * the same bytes, but neither fill nor compare them, so that the time is the system's alone.
 */
#ifndef BENCH_GPU_MEASURE_H
#define BENCH_GPU_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum measure_way { WAY_NOTIFY, WAY_NOTIFY_RELAXED, WAY_PUT_NOTIFY };

/* One line of the result. */
struct measure {
    const char *kind;
    int way; /* a measure_way */
    size_t bytes;
};

enum { MEASURES = 10 };
extern const struct measure measures[MEASURES];

/* How often a message goes there and back. */
struct measure_trips {
    uint64_t checked, warm_up, timed;
};

struct measure_options {
    int threads;      /* of a block */
    int ranks;        /* blocks of a device; 0: as many as it holds */
    uint64_t repeats; /* round trips of small messages, barriers, messages */
    uint64_t puts;    /* of a rank that streams */
    size_t from, to;  /* messages: the largest; of streams: from, 4 from, ... to */
    size_t bytes;     /* of a message whose rate is measured */
    uint64_t volume;  /* bytes of a stream's timed part, of all ranks; 0: puts says how much */
    bool same;        /* both ranks on one device */
    bool both;        /* set by the program: a stream in both directions at once */
    char **words;     /* what else stood on the command line */
    int words_count;
    int *list; /* of measure_list */
    int list_count;
};

/* Which options a program has besides --threads and --repeats, or lacks; or them together. */
enum {
    MEASURE_HAS_TO = 1,
    MEASURE_HAS_SAME = 2,
    MEASURE_HAS_RANKS = 4,
    MEASURE_HAS_PUTS = 8,
    MEASURE_HAS_FROM = 16, /* and --volume */
    MEASURE_NO_REPEATS = 32,
    MEASURE_NO_THREADS = 64,
    MEASURE_HAS_BYTES = 128,
};

enum { MEASURE_LIST = 16 }; /* numbers of ranks on a command line, at most */

/*
 * A stream: every rank puts over and over into the window of its partner on the other device. The
 * last put of a group notifies; the partner answers, and a rank is at most so many groups ahead. A
 * group is STREAM_GROUP puts, or fewer of more than 1 MiB: 8 MiB, and one at least.
 */
enum { STREAM_GROUP = 8, STREAM_AHEAD = 2 };
struct measure_stream {
    uint64_t group;     /* puts */
    uint64_t groups[2]; /* of a rank, in the warm-up (phase 0) and in the timed part (phase 1) */
};

/*
 * Reads the command line; a bad one ends the program with a message. about: a line for --help.
 * arguments: how --help names the words that must stand there, words_most of them at most; NULL
 * and 0 for none.
 */
void measure_parse(struct measure_options *options, int argc, char **argv, int has,
                   const char *about, const char *arguments, int words_most);

/*
 * Takes the words after the first `skip` as numbers of ranks of a device, to be measured one after
 * the other; without any the list is a 0: as many as it holds. A bad one ends the program.
 */
void measure_list(struct measure_options *options, int skip);

struct measure_trips measure_trips_of(const struct measure_options *options, size_t bytes);

/* Half a round trip in microseconds. */
double measure_one_way(const struct measure_trips *trips, double seconds);

/* The stream of each of so many ranks, in puts of so many bytes. */
struct measure_stream measure_stream_of(const struct measure_options *options, size_t bytes,
                                        int ranks);

/* GB/s of all ranks of a device together, both directions added. */
double measure_stream_rate(const struct measure_options *options,
                           const struct measure_stream *stream, size_t bytes, int ranks,
                           double seconds);

/*
 * name,kind,bytes,threads,value,unit,ranks: the header, a line in us about one rank, and one about
 * several of each device. bytes: of a barrier, its ranks.
 */
void measure_header(void);
void measure_line(const char *name, const char *kind, size_t bytes, int threads, double us);
void measure_ranks_line(const char *name, const char *kind, size_t bytes, int threads, int ranks,
                        double value, const char *unit);

/* Says how many words arrived wrong, if any did. Returns whether none. */
bool measure_right(const char *kind, size_t bytes, uint64_t wrong);

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
#define MEASURE_FN static __device__ inline
#else
#define MEASURE_FN static inline
#endif

/* The message with this number: `bytes` bytes, a multiple of 4. The share of a thread. */
MEASURE_FN void measure_fill(uint32_t *words, size_t bytes, uint64_t number, size_t thread,
                             size_t threads)
{
    for (size_t i = thread; i < bytes / 4; i += threads)
        words[i] = (uint32_t)(number * 0x9e3779b9u + i + 1);
}

/* How many of its words are not what they should be. */
MEASURE_FN uint64_t measure_wrong(const uint32_t *words, size_t bytes, uint64_t number,
                                  size_t thread, size_t threads)
{
    uint64_t wrong = 0;
    for (size_t i = thread; i < bytes / 4; i += threads)
        wrong += words[i] != (uint32_t)(number * 0x9e3779b9u + i + 1);
    return wrong;
}

#endif
