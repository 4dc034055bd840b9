/* gda/rdma/none.c - a build without libibverbs. It keeps nothing. */
#include "gda/rdma/check.h"

#include "base/say.h"

const char *weft_rdma_about(void)
{
    return "mlx5: not in this build, which had no libibverbs";
}

weft_status weft_rdma_check(const struct weft_config *config, FILE *file)
{
    (void)config, (void)file;
    return weft_err(WEFT_ERR_CONFIG, "%s", weft_rdma_about());
}
