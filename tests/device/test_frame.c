/*
 * The frame around the bodies of tests: a check that does not hold is counted and the body goes on;
 * once the job has failed, it does not.
 */
#ifndef __CUDACC__ /* no kernel */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

static int body(struct test_env *env)
{
    TEST(env, env->numbers == NULL);
    fprintf(stderr, "the body went on once\n");
    weft_abort(env->job, "the test wants it");
    while (TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK))
        continue; /* it takes a moment */
    fprintf(stderr, "the body went on twice\n");
    return TEST_PASSED;
}

static int child(int argc, char **argv)
{
    return test_main(argc, argv, body);
}

int main(int argc, char **argv)
{
    static const char *const lines[] = {"FAILED [p0]", "the body went on once",
                                        "the body went on twice"};
    static const int wanted[] = {2, 1, 0};
    char *text;
    const int result = test_capture(child, argc, argv, &text);
    bool right = result == TEST_FAILED;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        right &= test_lines_with(text, (const char *[]){lines[i], NULL}) == wanted[i];
    if (!right)
        fprintf(stderr, "exit code %d; the child printed:\n%s", result, text);
    free(text);
    return right ? TEST_PASSED : TEST_FAILED;
}
#endif
