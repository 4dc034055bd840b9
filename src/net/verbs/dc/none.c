/* net/verbs/dc/none.c - a build without infiniband/mlx5dv.h: there is no DC. It keeps nothing. */
#include "net/verbs/dc/dc.h"

#include "base/say.h"

const char *weft_verbs_dc_missing(const struct weft_verbs_device *device)
{
    (void)device;
    return "this weft was built without infiniband/mlx5dv.h";
}

weft_status weft_verbs_dc_open(struct weft_transport *t)
{
    return weft_err(WEFT_ERR_CONFIG, "verbs: no DC: %s", weft_verbs_dc_missing(&t->device));
}
