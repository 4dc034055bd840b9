/* net/verbs/dc/none.c - a build without infiniband/mlx5dv.h: there is no DC. */
#include "net/verbs/dc/dc.h"

#include "base/say.h"

#include <errno.h>

const char *weft_verbs_dc_missing(const struct weft_verbs_device *device)
{
    (void)device;
    return "this weft was built without infiniband/mlx5dv.h";
}

weft_status weft_verbs_dc_open(struct weft_net *net)
{
    return weft_err(WEFT_ERR_CONFIG, "verbs: no DC: %s", weft_verbs_dc_missing(&net->device));
}

void weft_verbs_dc_close(struct weft_net *net)
{
    (void)net;
}

/* The rest is called only where net->dc is set, which nothing sets here. */
weft_status weft_verbs_dc_way(struct weft_net *net, int process, struct ibv_ah **ah)
{
    (void)process, (void)ah;
    return weft_verbs_dc_open(net);
}

void weft_verbs_dc_choose(struct weft_net *net, int process)
{
    (void)net, (void)process;
}

int weft_verbs_dc_post(struct weft_net *net, struct weft_verbs_queue *queue)
{
    (void)net, (void)queue;
    return ENOTSUP;
}

weft_status weft_verbs_dc_responder(struct weft_net *net, int process)
{
    (void)process;
    return weft_verbs_dc_open(net);
}

int weft_verbs_dc_ack(struct weft_net *net, int process, const struct ibv_send_wr *wr)
{
    (void)net, (void)process, (void)wr;
    return ENOTSUP;
}
