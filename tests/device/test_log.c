/*
 * weft_log: every kind of argument, up to eight, one line a call, printed while the kernel runs.
 * The program runs itself as a child and reads what the child printed.
 */
#include "support/test.h"

#include <inttypes.h>

#ifndef __CUDACC__
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#endif

struct data {
    struct test_check check;
    char longest[WEFT_LOG_TEXT];
};

WEFT_KERNEL(log_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD);
    const char letter = 'x';
    const uint64_t most = UINT64_MAX;
    const int64_t least = INT64_MIN;

    weft_enter(self);
    weft_log(self, "plain");
    weft_log(self, "rank %d of %d", me, weft_size(self, WEFT_COMM_WORLD));
    weft_log(self, "limits %" PRIu64 " %" PRId64 " %u %d", most, least, 4294967295u, (short)-7);
    weft_log(self, "reals %g %.3f %e", 0.5f, 3.14159265, -1e300);
    weft_log(self, "hex %x %#" PRIx64 " %c 100%%", 255, most, letter);
    weft_log(self, "pointer %p null %p", (void *)(uintptr_t)0x1234, (void *)0);
    weft_log(self, "eight %d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6, 7, 8);
    weft_log(self, "width [%5d] [%-5d] [%05d] [%8.2f]", 42, 42, 42, 2.5);
    for (char word[] = "copied 0"; word[7] < '9'; word[7]++) /* text is copied at once */
        weft_log(self, "text %s [%6.3s] %s %d", word, "abcdef", "", me);
    weft_log(self, "none %s", (const char *)NULL);
    weft_log(self, "address %p", (void *)user);
    weft_log(self, "cut %s%s.", user->longest,
             user->longest); /* to WEFT_LOG_TEXT, with the format */
    for (int i = 0; i < 50; i++)
        weft_log(self, "many %d from %d", i, me);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    struct data data = {0};

    memset(data.longest, 'x', sizeof(data.longest) - 1);
    if (!test_prepare(env, &log_kernel))
        return TEST_FAILED;
    fprintf(stdout, "ranks here %d of %d\n", env->numbers->ranks_here, env->numbers->ranks);
    fflush(stdout);
    test_run(env, &data, sizeof(data));
    return TEST_PASSED;
}

static int child(int argc, char **argv)
{
    return test_main(argc, argv, body);
}

/* How many ranks the processes announced that wrote this text. */
static int ranks_in(const char *text, int *world)
{
    int sum = 0, here;

    for (const char *at = text; (at = strstr(at, "ranks here ")) != NULL; at++) {
        if (sscanf(at, "ranks here %d of %d", &here, world) == 2)
            sum += here;
    }
    return sum;
}

static int expect(const char *text, int want, const char *a, const char *b)
{
    const char *const words[] = {a, b, NULL};
    const int got = test_lines_with(text, words);

    if (got == want)
        return 0;
    fprintf(stderr, "FAILED \"%s\" \"%s\": %d line(s), want %d\n", a, b, got, want);
    return 1;
}

int main(int argc, char **argv)
{
    char *text, size[32];
    int world = 0, wrong = 0;
    const int result = test_capture(child, argc, argv, &text);
    const int n = ranks_in(text, &world);

    snprintf(size, sizeof(size), "of %d", world);
    wrong += result != 0 || n == 0;
    wrong += expect(text, n, "plain", "");
    wrong += expect(text, n, "rank ", size) != 0 && n == world;
    wrong += expect(text, n, "limits 18446744073709551615 -9223372036854775808 4294967295 -7", "");
    wrong += expect(text, n, "reals 0.5 3.142 -1.000000e+300", "");
    wrong += expect(text, n, "hex ff 0xffffffffffffffff x 100%", "");
    wrong += expect(text, n, "pointer 0x1234 null ", "");
    wrong += expect(text, n, "eight 1 2 3 4 5 6 7 8", "");
    wrong += expect(text, n, "width [   42] [42   ] [00042] [    2.50]", "");
    for (char word[] = "text copied 0 [   abc]  "; word[12] < '9'; word[12]++)
        wrong += expect(text, n, word, "");
    wrong += expect(text, n, "none (null)", "");
    char cut[WEFT_LOG_TEXT + 2] = "cut "; /* the format has 9 bytes */
    memset(cut + 4, 'x', WEFT_LOG_TEXT - 9);
    strcat(cut, ".");
    wrong += expect(text, n, cut, "");
    for (int i = 0; i < 50; i++) {
        char line[32];
        snprintf(line, sizeof(line), "many %d from ", i);
        wrong += expect(text, n, line, "");
    }
    if (wrong != 0)
        fprintf(stderr, "exit code %d; the child printed:\n%s", result, text);
    free(text);
    return wrong != 0 ? TEST_FAILED : TEST_PASSED;
}
#endif
