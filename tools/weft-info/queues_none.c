/* weft-info/queues_none.c - a build without libibverbs. It keeps nothing. */
#include "queues.h"

#include "base/say.h"

const char *queues_about(void)
{
    return "mlx5: not in this build, which had no libibverbs";
}

weft_status queues_check(const struct weft_config *config, FILE *file)
{
    (void)config, (void)file;
    return weft_err(WEFT_ERR_CONFIG, "%s", queues_about());
}
