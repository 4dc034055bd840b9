/*
 * main.c - weft-cuda: runs an unchanged CUDA program on GPUs of other hosts, lists them, or tells
 * beforehand what a program needs.
 */
#include "weft_cuda.h"

#include "base/config.h"
#include "base/say.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPTION_SECRET = 256 };

static const struct argp_option option_list[] = {
    {"servers", 's', "HOST:PORT,...", 0,
     "weft-gpud of each host; their GPUs are the program's devices, in this order", 0},
    {"secret-file", OPTION_SECRET, "FILE", 0, "file with the secret of these servers", 0},
    {0},
};

static struct {
    const char *verb;
    char **rest;
} asked;

static const struct {
    const char *name;
    int (*run)(char **program);
    bool takes_program;
} verbs[] = {{"run", run_program, true},
             {"list", list_devices, false},
             {"status", show_status, false},
             {"functions", list_functions, false},
             {"check", check_program, true}};

static void set(struct argp_state *state, const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        argp_error(state, "%s: %s", name, strerror(errno));
}

/* The program may be run elsewhere. */
static void set_file(struct argp_state *state, const char *name, const char *file)
{
    char path[PATH_MAX];

    set(state, name, realpath(file, path) != NULL ? path : file);
}

static error_t take_option(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 's':
        set(state, "WEFT_REMOTE_SERVERS", text);
        return 0;
    case OPTION_SECRET:
        set_file(state, "WEFT_REMOTE_SECRET_FILE", text);
        return 0;
    case ARGP_KEY_ARG:
        if (asked.verb == NULL) {
            asked.verb = text;
            return 0;
        }
        asked.rest = state->argv + state->next - 1; /* the program's own options follow */
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = take_option,
        .args_doc = "run -s HOST:PORT,... --secret-file FILE -- PROGRAM [ARGUMENT...]\n"
                    "list -s HOST:PORT,... --secret-file FILE\n"
                    "status -s HOST:PORT,... --secret-file FILE\n"
                    "check PROGRAM\n"
                    "functions",
        .doc = "Runs CUDA programs on GPUs of other hosts, where weft-gpud runs.\vSee "
               "docs/remote.md."};

    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, NULL);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].name, asked.verb) != 0)
            continue;
        if (verbs[i].takes_program == (asked.rest != NULL)) {
            const int status = verbs[i].run(asked.rest);
            if (fflush(stdout) == 0)
                return status;
            perror("weft-cuda: standard output");
            return EXIT_FAILURE;
        }
        fprintf(stderr, "weft-cuda: %s: %s; see weft-cuda --help\n", asked.verb,
                verbs[i].takes_program ? "no program is named" : "it takes options alone");
        return EXIT_FAILURE;
    }
    fprintf(stderr,
            "weft-cuda: \"%s\" is none of run, list, status, check and functions; see weft-cuda "
            "--help\n",
            asked.verb);
    return EXIT_FAILURE;
}
