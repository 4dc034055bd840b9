/* Runs the kernel of templates.cu and prints a sum. */
#include "templates.h"

#include <cstdio>

int main(int argc, char **argv)
{
    weft_job *job;
    numbers user;
    double v[16 * RANKS];

    for (double &x : v)
        x = 1;
    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    user.a = static_cast<double *>(weft_malloc(job, sizeof(v)));
    if (user.a != nullptr && weft_prepare(job, &templates, 32, RANKS) == WEFT_OK &&
        weft_copy(job, user.a, v, sizeof(v)) == WEFT_OK &&
        weft_run(job, &user, sizeof(user), nullptr) == WEFT_OK &&
        weft_copy(job, v, user.a, sizeof(v)) == WEFT_OK)
        std::printf("%g\n", v[8]);
    return weft_close(job);
}
