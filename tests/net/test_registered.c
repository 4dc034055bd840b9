/*
 * net/test_registered.c - large messages between memory of the device and memory of the program's,
 * none of which or a part of which the program has registered with the device. CUDA's rule: a copy
 * that begins in registered memory and ends beyond it is refused (support/far_device.h plays the
 * GPU). What it takes is copied from where it lies, all else arrives, too, and no error is said.
 * Two processes, as threads of this one. A message for which the tables are locked, or whose
 * memory the other does not know yet, goes in pieces: then the case is tried again.
 */
#include "support/expect.h"
#include "support/far_device.h"
#include "support/messages.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1300000, PART = 70000, MORE = 700000, PLACES = 2, TRIES = 100 };

struct copies {
    int taken, refused;
};

static unsigned char *memory;        /* of both processes, a place for each of their messages */
static size_t begins, ends;          /* what is registered of each place */
static struct copies copies[PLACES]; /* between it and the device */

static bool is_taken(const struct far_copy *copy)
{
    const unsigned char *const source = copy->source, *const target = copy->target;
    const bool from = source >= memory && source < memory + PLACES * BYTES;
    const size_t at = (size_t)((from ? source : target) - memory);

    if (at >= PLACES * BYTES || copy->bytes == 0)
        return true;
    const bool refuse =
        at % BYTES >= begins && at % BYTES < ends && at % BYTES + copy->bytes > ends;
    struct copies *const of = &copies[at / BYTES];
    __atomic_add_fetch(refuse ? &of->refused : &of->taken, 1, __ATOMIC_RELAXED);
    return !refuse;
}

/* From process 0's memory of the host to the device of process 1, and back. */
static int there_and_back(void *unused)
{
    unsigned char *const back = memory + BYTES;
    weft_job *job;

    (void)unused;
    EXPECT(weft_open(&job, NULL, NULL) == WEFT_OK);
    unsigned char *const near = weft_malloc(job, BYTES);
    EXPECT(near != NULL);
    if (weft_numbers_of(job)->process == 0) {
        fill(memory, BYTES, 7);
        fill(back, BYTES, 8);
        EXPECT(weft_host_send(job, WEFT_COMM_HOST, 1, 1, memory, BYTES) == WEFT_OK);
        EXPECT(weft_host_receive(job, WEFT_COMM_HOST, 1, 2, back, BYTES, NULL) == WEFT_OK);
        EXPECT(wrong(back, BYTES, 7) == 0);
    } else {
        EXPECT(weft_host_receive(job, WEFT_COMM_HOST, 0, 1, near, BYTES, NULL) == WEFT_OK);
        EXPECT(weft_host_send(job, WEFT_COMM_HOST, 0, 2, near, BYTES) == WEFT_OK);
    }
    weft_free(job, near);
    EXPECT(weft_close(job) == WEFT_OK);
    return 0;
}

/* Until both messages have been copied from and to where they lie. */
static bool is_right(struct copies each)
{
    bool seen[PLACES] = {false};

    for (int i = 0; i < TRIES && !(seen[0] && seen[1]); i++) {
        memset(copies, 0, sizeof(copies));
        if (weft_local_job(2, there_and_back, NULL) != 0)
            return false;
        for (int k = 0; k < PLACES; k++) {
            const bool copied = copies[k].taken + copies[k].refused != 0;
            seen[k] = seen[k] || copied;
            if (copied && memcmp(&copies[k], &each, sizeof(each)) != 0)
                return false;
        }
    }
    return seen[0] && seen[1];
}

int main(void)
{
    const struct {
        size_t begins, ends;
        struct copies each;              /* of the two messages */
    } cases[] = {{0, 0, {1, 0}},         /* nothing is registered */
                 {0, BYTES, {1, 0}},     /* all */
                 {0, PART, {1, 1}},      /* its begin: CUDA takes what comes behind the stage's */
                 {0, MORE, {1, 2}},      /* more than the stage holds */
                 {PART, BYTES, {1, 0}}}; /* its end: CUDA takes that */
    const int errors = dup(STDERR_FILENO);
    FILE *said = tmpfile();
    int failed = errors < 0 || said == NULL || dup2(fileno(said), STDERR_FILENO) < 0;

    memory = buffer(PLACES * BYTES);
    far_watch.begun = is_taken;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) && !failed; i++) {
        begins = cases[i].begins;
        ends = cases[i].ends;
        failed = !is_right(cases[i].each);
        for (int k = 0; k < PLACES && failed; k++)
            fprintf(stderr, "FAILED case %zu, message %d: %d copies taken, %d refused\n", i, k,
                    copies[k].taken, copies[k].refused);
    }
    free(memory);
    dup2(errors, STDERR_FILENO);
    rewind(said);
    for (int c; (c = getc(said)) != EOF; failed = 1)
        fputc(c, stderr);
    printf("%s\n", failed ? "FAILED" : "all good");
    return failed;
}
