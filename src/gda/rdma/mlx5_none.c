/* gda/rdma/mlx5_none.c - a build without infiniband/mlx5dv.h. It keeps nothing. */
#include "gda/rdma/rdma.h"

#include "base/say.h"

const char *weft_rdma_mlx5_missing(const struct weft_verbs_device *device)
{
    (void)device;
    return weft_rdma_about();
}

const char *weft_rdma_about(void)
{
    return "mlx5: not in this build, which had no infiniband/mlx5dv.h";
}

weft_status weft_rdma_mlx5_end(const struct weft_rdma_queue *queue, struct weft_gda_queue *end)
{
    (void)queue, (void)end;
    return weft_err(WEFT_ERR_CONFIG, "%s", weft_rdma_about());
}
