/* compat/gaspi/statistic.c - counters of what the process has done. */
#include "internal.h"

static const struct {
    const char *name, *description;
    bool by_rank;
} names[] = {
#define NAMES(name, text, what, by_rank) {text, what, by_rank},
    WEFTGASPI_COUNTER_MAP(NAMES)};
static unsigned level;

void weftgaspi_count(enum weftgaspi_counter counter, int rank, uint64_t more)
{
    if (__atomic_load_n(&level, __ATOMIC_RELAXED) != 0)
        __atomic_fetch_add(&weftgaspi.peer[rank].counters[counter], more, __ATOMIC_RELAXED);
}

#define NEED_COUNTER(counter)                                                                      \
    NEED((counter) < WEFTGASPI_COUNTERS, GASPI_ERR_INV_NUM, "counter %u of %d", counter,           \
         WEFTGASPI_COUNTERS)

API(statistic_verbosity_level, (const gaspi_number_t verbosity))
{
    TRY_OPEN();
    __atomic_store_n(&level, verbosity, __ATOMIC_RELAXED);
    return GASPI_SUCCESS;
}

SAY(statistic_counter_max, gaspi_number_t, WEFTGASPI_COUNTERS, (void)0)

API(statistic_counter_info, (const gaspi_statistic_counter_t counter,
                             gaspi_statistic_argument_t *const argument, gaspi_string_t *const name,
                             gaspi_string_t *const description, gaspi_number_t *const verbosity))
{
    TRY_PLACES(argument, name, description, verbosity);
    NEED_COUNTER(counter);
    *argument =
        names[counter].by_rank ? GASPI_STATISTIC_ARGUMENT_RANK : GASPI_STATISTIC_ARGUMENT_NONE;
    *name = (gaspi_string_t)(uintptr_t)names[counter].name;
    *description = (gaspi_string_t)(uintptr_t)names[counter].description;
    *verbosity = 1;
    return GASPI_SUCCESS;
}

API(statistic_counter_get, (const gaspi_statistic_counter_t counter, const gaspi_number_t argument,
                            unsigned long *const value))
{
    TRY_OPEN(value);
    NEED_COUNTER(counter);
    NEED(!names[counter].by_rank || argument < (gaspi_number_t)weftgaspi.ranks, GASPI_ERR_INV_RANK,
         "rank %u of %d", argument, weftgaspi.ranks);
    *value = __atomic_load_n(
        &weftgaspi.peer[names[counter].by_rank ? argument : 0].counters[counter], __ATOMIC_RELAXED);
    return GASPI_SUCCESS;
}

API(statistic_counter_reset, (const gaspi_statistic_counter_t counter))
{
    TRY_OPEN();
    NEED_COUNTER(counter);
    for (int rank = 0; rank < weftgaspi.ranks; rank++)
        __atomic_store_n(&weftgaspi.peer[rank].counters[counter], 0, __ATOMIC_RELAXED);
    return GASPI_SUCCESS;
}
