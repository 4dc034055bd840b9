/*
 * fuzz_config.c - settings from a command line and from the environment: lines of bytes become
 * arguments, and those that begin with WEFT_ variables. Whatever is accepted lies in its range.
 */
#include "fuzz.h"

#include "base/config.h"

enum { WORDS = 16 };

extern char **environ;

static void check(const struct weft_config *config)
{
#define WEFT_CONFIG_INT(name, field, def, min, max, unit, doc)                                     \
    MUST(config->field >= (int64_t)(min) && config->field <= (int64_t)(max));
#define WEFT_CONFIG_SIZE(name, field, def, min, max, doc)                                          \
    MUST(config->field + 1 > (uint64_t)(min) && config->field <= (uint64_t)(max));
#define WEFT_CONFIG_REAL(name, field, def, min, max, unit, doc)                                    \
    MUST(config->field >= (min) && config->field <= (max));
#define WEFT_CONFIG_CHOICE(name, field, def, words, doc)                                           \
    MUST(config->field >= 0 && config->field < 8 && sizeof(words) > 1);
#define WEFT_CONFIG_TEXT(name, field, def, doc)                                                    \
    MUST(memchr(config->field, 0, sizeof(config->field)) != NULL);
#include "base/config.def"
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *arguments[WORDS + 2] = {(char *)"program"}, *variables[WORDS + 1] = {NULL};
    char **const before = environ;
    struct weft_config config;
    uint64_t seed;
    int argc = 1, count = 0;
    char *text = malloc(size + 1), *at = text, *line;

    MUST(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    while ((line = strsep(&at, "\n")) != NULL && argc + count < WORDS) {
        if (strncmp(line, "WEFT_", 5) == 0)
            variables[count++] = line;
        else
            arguments[argc++] = line;
    }
    environ = variables;
    const int given = argc;
    if (weft_config_load(&config, &argc, arguments) == WEFT_OK) {
        check(&config);
        MUST(argc >= 1 && argc <= given && arguments[argc] == NULL);
        (void)weft_config_random(&config, &seed);
    } else {
        MUST(argc == given);
    }
    environ = before;
    free(text);
    return 0;
}
