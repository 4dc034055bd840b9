/*
 * weft-info - what this build of weft holds and how it is configured: its version, devices and
 * networks; with --config every setting with its value, where that comes from, default and range;
 * with --tune it measures what some settings depend on.
 *
 * It opens each part as a job of one process would, so that what it prints is known to work here.
 */
#include "base/config.h"
#include "base/say.h"
#include "device/device.h"
#include "manual.h"
#include "net/transport.h"
#include "tune.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

#define TEXT(x)  #x
#define DIGIT(x) TEXT(x)
#define VERSION                                                                                    \
    "weft " DIGIT(WEFT_VERSION_MAJOR) "." DIGIT(WEFT_VERSION_MINOR) "." DIGIT(WEFT_VERSION_PATCH)

const char *argp_program_version = VERSION;

struct options {
    bool config, tune;
    const char *tune_file; /* NULL: none */
};

static const struct argp_option option_list[] = {
    {"config", 'c', NULL, 0, "print every setting: value, meaning, default, range and unit", 0},
    {"tune", 't', "FILE", OPTION_ARG_OPTIONAL,
     "measure what settings depend on here, some seconds; FILE is then for a shell to read before "
     "later jobs; as two processes (weftrun -n 2 weft-info --tune) also what is between two",
     0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'c':
        options->config = true;
        return 0;
    case 't':
        options->tune = true;
        options->tune_file = text;
        return 0;
    case ARGP_KEY_END:
        if (options->config && options->tune)
            argp_error(state, "--config and --tune do not go together");
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\": no arguments are expected", text);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static weft_status print_device(const struct weft_device_ops *ops, const struct weft_config *config,
                                int index)
{
    struct weft_device *device;
    char text[256];
    weft_status status = ops->open(&device, config, index, false);

    if (status != WEFT_OK)
        return status;
    ops->describe(device, text, sizeof(text));
    ops->close(device);
    printf("  %-6s %s\n", ops->name, text);
    return WEFT_OK;
}

static weft_status print_devices(const struct weft_config *config)
{
    const char *reason = weft_device_no_gpu();

    if (reason != NULL && config->device == WEFT_DEVICE_CUDA)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_DEVICE=cuda: %s", reason);
    printf("devices\n");
    weft_status status = print_device(&weft_cpu_device, config, 0);
    if (reason != NULL)
        printf("  %-6s none: %s\n", "cuda", reason);
    else if (status == WEFT_OK)
        status = print_device(&weft_cuda_device, config, 0);
    return status;
}

/* Networks that this build could have and has not. */
static void print_left_out(void)
{
    static const char *const all[] = {"ofi", "verbs", "mpi"};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (weft_transport_find(all[i]) == NULL)
            printf("  %-6s not in this build\n", all[i]);
}

/* Lines of text, indented. */
static void print_lines(char *text)
{
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        printf("         %s\n", line);
}

/*
 * A network may only say what it can do once it is open: here as a job of one process. The status
 * is that of the network that WEFT_NET asks for; that another is not there is no error.
 */
static weft_status print_networks(const struct weft_config *config)
{
    const struct weft_config_word word = weft_config_word(WEFT_CONFIG_AT_NET, config->net);
    const char *const asked = word.text;
    const struct weft_net_open alone = {.config = config, .processes = 1};
    const struct weft_transport_ops *ops;
    bool between_hosts = false;
    weft_status result = weft_transport_find(asked) == NULL && config->net != WEFT_NET_AUTO
                             ? WEFT_ERR_CONFIG
                             : WEFT_OK;

    printf("networks\n");
    for (int i = 0; (ops = weft_transport_at(i)) != NULL; i++) {
        struct weft_net_caps caps;
        struct weft_net *net;
        char text[2048];
        const bool is_asked = strcmp(asked, ops->name) == 0;
        if (!weft_transport_is_here(ops, text, sizeof(text))) {
            printf("  %-6s cannot be used here:\n", ops->name);
            print_lines(text);
            if (is_asked)
                result = WEFT_ERR_CONFIG;
            continue;
        }
        const enum weft_level before = weft_err_level(WEFT_SAY_INFO); /* it is printed */
        const weft_status status = weft_net_open(&net, ops, &alone);
        weft_err_level(before);
        if (status != WEFT_OK) {
            printf("  %-6s cannot be used here: %s\n", ops->name, weft_err_last());
            if (is_asked)
                result = status;
            continue;
        }
        weft_net_caps(net, &caps);
        weft_net_close(net);
        between_hosts |= !caps.same_host_only;
        printf("  %-6s %s%s%s\n", ops->name,
               caps.same_host_only ? "between processes of one host"
               : caps.launched     ? "between hosts, for jobs that its own launcher has started"
                                   : "between hosts",
               caps.about[0] != 0 ? ": " : "", caps.about);
        print_lines(text);
    }
    print_left_out();
    if (!between_hosts)
        printf("  none between hosts can be used here\n");
    printf("queues of ranks: softnic\n");
    if (result != WEFT_OK)
        fprintf(stderr, "weft-info: WEFT_NET=%s cannot be used here\n", asked);
    return result;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = parse,
        .doc = "Prints the version of weft, its devices and its networks. The exit status is not 0 "
               "when a WEFT_* variable is wrong, or a device or network that one asks for cannot "
               "be opened."};
    struct options options = {0};
    struct weft_config config;

    const error_t error = argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (error != 0) {
        fprintf(stderr, "weft-info: options: %s\n", strerror(error));
        return 1;
    }
    if (weft_config_load(&config, NULL, NULL) != WEFT_OK)
        return 1;
    if (options.tune) {
        if (!tune(&config, options.tune_file))
            return 1;
    } else if (options.config) {
        print_manual(stdout, &config);
    } else {
        printf("%s\n", VERSION);
        if (print_devices(&config) != WEFT_OK || print_networks(&config) != WEFT_OK)
            return 1;
    }
    if (fflush(stdout) != 0) {
        perror("weft-info: standard output");
        return 1;
    }
    return 0;
}
