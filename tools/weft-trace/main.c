/*
 * weft-trace - reads the timeline that a job has written with WEFT_TRACE=FILE.
 */
#include "weft-trace.h"

#include "weft/types.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT(x)  #x
#define DIGIT(x) TEXT(x)

const char *argp_program_version =
    "weft " DIGIT(WEFT_VERSION_MAJOR) "." DIGIT(WEFT_VERSION_MINOR) "." DIGIT(WEFT_VERSION_PATCH);

struct options {
    const char *command, *file, *output;
    int most;
    struct draw_options draw;
};

static const struct argp_option option_list[] = {
    {"longest", 'n', "COUNT", 0,
     "summary: how many of the longest waits, and of the pairs of ranks that sent most (10)", 0},
    {"output", 'o', "SVG", 0, "draw: where the picture goes", 0},
    {"ranks", 'r', "FIRST-LAST", 0, "draw: which ranks (the first 16)", 0},
    {"from", 'f', "US", 0, "draw: from this time on, in microseconds (the first event)", 0},
    {"until", 'u', "US", 0, "draw: until this time (the last event)", 0},
    {"width", 'w', "PIXELS", 0, "draw: of the picture (1200)", 0},
    {"host", 'H', NULL, 0, "draw: the host's services and the network, too", 0},
    {0},
};

/* A number in a range, and nothing after it. */
static double number(struct argp_state *state, const char *name, const char *text, double least,
                     double most)
{
    char *end;

    errno = 0;
    const double value = strtod(text, &end);
    if (errno != 0 || end == text || *end != 0 || !(value >= least && value <= most))
        argp_error(state, "--%s %s: a number from %.0f to %.0f is expected", name, text, least,
                   most);
    return value;
}

static void ranks(struct argp_state *state, const char *text, struct draw_options *draw)
{
    int used = 0;

    if (sscanf(text, "%8d-%8d%n", &draw->first, &draw->last, &used) == 2 && text[used] == 0 &&
        draw->first >= 0 && draw->first <= draw->last)
        return;
    if (sscanf(text, "%8d%n", &draw->first, &used) == 1 && text[used] == 0 && draw->first >= 0)
        draw->last = draw->first;
    else
        argp_error(state, "--ranks %s: FIRST-LAST or one rank is expected", text);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'n':
        options->most = (int)number(state, "longest", text, 0, 1e6);
        return 0;
    case 'o':
        options->output = text;
        return 0;
    case 'r':
        ranks(state, text, &options->draw);
        return 0;
    case 'f':
        options->draw.from = number(state, "from", text, 0, 1e12);
        return 0;
    case 'u':
        options->draw.until = number(state, "until", text, 0, 1e12);
        return 0;
    case 'w':
        options->draw.width = (int)number(state, "width", text, 100, 20000);
        return 0;
    case 'H':
        options->draw.host = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->command == NULL)
            options->command = text;
        else if (options->file == NULL)
            options->file = text;
        else
            argp_error(state, "\"%s\": one FILE is expected", text);
        return 0;
    case ARGP_KEY_END:
        if (options->file == NULL)
            argp_error(state, "a command and a FILE are expected");
        else if (strcmp(options->command, "summary") != 0 && strcmp(options->command, "draw") != 0)
            argp_error(state, "\"%s\": the commands are summary and draw", options->command);
        else if (strcmp(options->command, "draw") == 0 && options->output == NULL)
            argp_error(state, "draw needs --output SVG");
        else if (options->output != NULL && is_same_file(options->file, options->output))
            argp_error(state, "--output %s: the picture would overwrite FILE", options->output);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool draw(const struct trace *trace, const struct options *options)
{
    FILE *out = fopen(options->output, "we");

    if (out == NULL) {
        fprintf(stderr, "weft-trace: %s: %s\n", options->output, strerror(errno));
        return false;
    }
    bool good = trace_draw(trace, out, &options->draw);
    const bool written = !ferror(out);
    if ((fclose(out) != 0 || !written) && good) {
        fprintf(stderr, "weft-trace: %s: it cannot be written: %s\n", options->output,
                strerror(errno));
        good = false;
    }
    return good;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = parse,
        .args_doc = "summary FILE\ndraw FILE -o SVG",
        .doc = "Reads the timeline that a job has written with WEFT_TRACE=FILE. summary prints for "
               "each rank which share of its time it waited, the longest waits, waiting by tag, "
               "what each rank sent to each, and the program's regions; draw makes a picture. "
               "Perfetto (ui.perfetto.dev) opens FILE itself.\vThe exit status is not 0 when FILE "
               "cannot be read, or is not of weft's form."};
    struct options options = {.most = 10, .draw = {.last = -1, .width = 1200}};
    struct trace trace;

    const error_t error = argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (error != 0) {
        fprintf(stderr, "weft-trace: options: %s\n", strerror(error));
        return 1;
    }
    FILE *in = fopen(options.file, "re");
    if (in == NULL) {
        fprintf(stderr, "weft-trace: %s: %s\n", options.file, strerror(errno));
        return 1;
    }
    bool good = trace_read(in, options.file, &trace);
    fclose(in);
    if (!good)
        return 1;
    good = strcmp(options.command, "draw") == 0 ? draw(&trace, &options)
                                                : trace_summary(&trace, options.most);
    trace_free(&trace);
    if (fflush(stdout) != 0) {
        perror("weft-trace: standard output");
        return 1;
    }
    return good ? 0 : 1;
}
