/*
 * litmus/test_mutation.c - is every order in weft needed, and would we notice if one were gone?
 *
 * For each label of order/order.h, and each drain, the litmus programs run on random schedules with
 * that label weakened to "relaxed" (or that drain dropped) until one of them fails. A label that no
 * program misses is a failure of this test: either it is superfluous, or a test is missing. First
 * all programs run unweakened, where none may fail but those that are wrong themselves.
 *
 * Usage: test_mutation [--seeds N] [--label NAME]
 */
#include "litmus.h"
#include "order/order.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_seeds(const char *text)
{
    char *end;

    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno != 0 || *end != 0 || n < 1 || n > 1000000) {
        fprintf(stderr, "--seeds takes a number from 1 to 1000000, not '%s'\n", text);
        exit(2);
    }
    return (int)n;
}

/* All programs, nothing weakened. */
static int check_sound(int seeds)
{
    int failures = 0;

    for (int i = 0; i < litmus_count; i++) {
        for (int seed = 1; seed <= seeds; seed++) {
            if (litmus_run(&litmus_table[i], (uint64_t)seed, "", 0) == 0)
                continue;
            printf("FAILED: %s on seed %d with nothing weakened\n", litmus_table[i].name, seed);
            failures++;
            break;
        }
    }
    printf("%d programs, %d schedules each, nothing weakened: %d failed\n\n", litmus_count, seeds,
           failures);
    return failures;
}

/* Programs that are wrong: each fails on most seeds. */
static int check_wrong(int seeds)
{
    int failures = 0;

    for (int i = 0; i < litmus_wrong_count; i++) {
        int found = 0;
        for (int seed = 1; seed <= seeds; seed++)
            found += litmus_run(&litmus_wrong[i], (uint64_t)seed, "", 1) != 0;
        printf("%-18s wrong, noticed on %d of %d schedules\n", litmus_wrong[i].name, found, seeds);
        failures += 2 * found <= seeds;
    }
    return failures;
}

/* One label: which program notices, on which seed? Seeds outside, so that all get their chance. */
static int check_label(enum weft_order label, int seeds)
{
    const char *name = weft_order_name(label);

    for (int seed = 1; seed <= seeds; seed++) {
        for (int i = 0; i < litmus_count; i++) {
            if (litmus_run(&litmus_table[i], (uint64_t)seed, name, 1) == 0)
                continue;
            printf("%-18s noticed by %-14s on seed %d\n", name, litmus_table[i].name, seed);
            fflush(stdout);
            return 0;
        }
    }
    printf("%-18s NOT NOTICED on %d schedules of each program\n", name, seeds);
    fflush(stdout);
    return 1;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seeds", required_argument, NULL, 's'}, {"label", required_argument, NULL, 'l'}, {0}};
    const char *only = NULL;
    int seeds = 20, option, failures = 0, labels = 0;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 's')
            seeds = parse_seeds(optarg);
        else if (option == 'l')
            only = optarg;
        else
            return 2;
    }
    if (only == NULL)
        failures += check_sound(seeds) + check_wrong(seeds);
    for (int label = 1; label <= ORDER_LITMUS_LAST; label++) {
        if (only != NULL && strcmp(only, weft_order_name((enum weft_order)label)) != 0)
            continue;
        failures += check_label((enum weft_order)label, seeds);
        labels++;
    }
    printf("\n%d labels and drains, %d failures\n", labels, failures);
    return failures != 0 || labels == 0;
}
