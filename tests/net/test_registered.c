/*
 * net/test_registered.c - large messages between memory of the device and memory of the program's,
 * none of which or a part of which the program has registered with the device. CUDA's rule: a copy
 * that begins in registered memory and ends beyond it is refused (support/far_device.h plays the
 * GPU). What it takes is copied from where it lies, all else arrives, too, and no error is said.
 * Two processes, as threads of this one.
 */
#include "support/expect.h"
#include "support/far_device.h"
#include "support/messages.h"

#include <stdio.h>
#include <unistd.h>

enum { BYTES = 1300000, PART = 70000, MORE = 700000, PLACES = 2 };

static unsigned char *memory; /* of both processes, a place for each of their messages */
static size_t begins, ends;   /* what is registered of each place */
static int taken, refused;    /* copies between it and the device */

static bool is_taken(const struct far_copy *copy)
{
    const unsigned char *const source = copy->source, *const target = copy->target;
    const bool from = source >= memory && source < memory + PLACES * BYTES;
    const size_t at = (size_t)((from ? source : target) - memory);

    if (at >= PLACES * BYTES || copy->bytes == 0)
        return true;
    const bool refuse =
        at % BYTES >= begins && at % BYTES < ends && at % BYTES + copy->bytes > ends;
    __atomic_add_fetch(refuse ? &refused : &taken, 1, __ATOMIC_RELAXED);
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

int main(void)
{
    const struct {
        size_t begins, ends;
        int taken, refused;            /* of the two messages */
    } cases[] = {{0, 0, 2, 0},         /* nothing is registered */
                 {0, BYTES, 2, 0},     /* all */
                 {0, PART, 2, 2},      /* its begin: CUDA takes what comes behind the stage's */
                 {0, MORE, 2, 4},      /* more than the stage holds */
                 {PART, BYTES, 2, 0}}; /* its end: CUDA takes that */
    const int errors = dup(STDERR_FILENO);
    FILE *said = tmpfile();
    int failed = errors < 0 || said == NULL || dup2(fileno(said), STDERR_FILENO) < 0;

    memory = buffer(PLACES * BYTES);
    far_watch.begun = is_taken;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) && !failed; i++) {
        begins = cases[i].begins;
        ends = cases[i].ends;
        taken = refused = 0;
        failed = weft_local_job(2, there_and_back, NULL);
        if (taken != cases[i].taken || refused != cases[i].refused) {
            fprintf(stderr, "FAILED case %zu: %d copies taken, %d refused\n", i, taken, refused);
            failed = 1;
        }
    }
    free(memory);
    dup2(errors, STDERR_FILENO);
    rewind(said);
    for (int c; (c = getc(said)) != EOF; failed = 1)
        fputc(c, stderr);
    printf("%s\n", failed ? "FAILED" : "all good");
    return failed;
}
