/*
 * A program with dCUDA's names of the thesis (test_cxx.sh): each rank puts its number, in bytes,
 * into its right neighbour's window, tells rank 0, and logs what it received.
 */
#include <dcuda.h>

enum { WORDS = 4 }; /* of a rank: received, and from WORDS / 2 on what it sends */

struct user {
    double *data;
};

__global__ void pass(dcuda_context_handle dcuda)
{
    __shared__ dcuda_state gst;
    dcuda_win win;
    user *u;
    int size, rank, here;

    dcuda_gpu_init(dcuda, gst);
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &here);
    dcuda_get_data(gst, reinterpret_cast<void **>(&u));
    double *mine = u->data + WORDS * here;
    mine[WORDS / 2] = rank + 0.5;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, mine, WORDS * sizeof(double), &win);
    dcuda_put_notify(gst, win, (rank + 1) % size, sizeof(double), sizeof(double), mine + WORDS / 2,
                     3);
    dcuda_wait_notifications(gst, 3, 1);
    dcuda_notify(gst, 0, DCUDA_COMM_WORLD, 4);
    if (rank == 0)
        dcuda_wait_notifications(gst, 4, size);
    dcuda_log log = dcuda_log_get(gst);
    log << "of " << size << " got " << mine[1] << log.flush;
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

int main(int argc, char **argv)
{
    dcuda_host_context_handle context;
    dcuda_rank_info info;
    user u;

    if (dcuda_host_init(argc, argv, &context, pass, 128) != WEFT_OK)
        return 1;
    dcuda_host_get_rank_info(context, &info);
    const size_t bytes = WORDS * sizeof(double) * static_cast<size_t>(info.rank_responsible);
    if (cudaMalloc(&u.data, bytes) == 0)
        dcuda_host_run(context, &u, sizeof(u));
    return dcuda_host_finish(context);
}
