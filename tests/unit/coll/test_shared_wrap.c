/*
 * Steps of collectives by shared memory (coll/host/shared.h) go on from 2^32 - 1 to 0: a team whose
 * calls are of few bytes for more than half of that, between two of many, waits for nobody who has
 * long been there. So many steps are left out here: each member moves its numbers alike.
 */
#include "coll/host/shared.h"

#include "weft/weft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MEMBERS = 2, MANY = 3000, FEW = 8, BETWEEN = 6 };

/* Words in memory that all map stay what they are. */
static void leave_out(weft_team *team, uint32_t steps)
{
    struct weft_team_parts *parts = team->parts;

    parts->step += steps;
    parts->least += steps;
    for (int i = 0; i < parts->members; i++)
        parts->of[i].base -= steps;
}

static int broadcasts(weft_team *team, uint32_t times, size_t bytes)
{
    unsigned char data[MANY];

    for (uint32_t i = 0; i < times; i++) {
        const int root = (int)(i % MEMBERS);
        memset(data, team->me == root ? (int)i + 1 : 0, bytes);
        if (weft_team_broadcast(team, root, data, bytes, NULL) != WEFT_OK ||
            data[0] != (unsigned char)(i + 1) || data[bytes - 1] != (unsigned char)(i + 1))
            return 1;
    }
    return 0;
}

static int member(void *argument)
{
    weft_job *job;
    weft_team *team;

    (void)argument;
    if (weft_open(&job, NULL, NULL) != WEFT_OK ||
        weft_team_open(job, WEFT_COMM_HOST, MEMBERS, weft_numbers_of(job)->process, "all", NULL,
                       &team) != WEFT_OK)
        return 1;
    int result = broadcasts(team, 3, MANY);
    if (team->parts == NULL) /* it did not go by shared memory */
        return 1;
    for (int turn = 0; turn < 5 && result == 0; turn++) {
        leave_out(team, 3u << 28);
        result = broadcasts(team, BETWEEN, FEW);
    }
    result |= broadcasts(team, BETWEEN, MANY);
    result |= weft_team_close(&team) != WEFT_OK;
    return weft_close(job) != WEFT_OK || result;
}

static void wraps(void **state)
{
    (void)state;
    assert_int_equal(weft_local_job(MEMBERS, member, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wraps)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
