/* compat/mpi/dynamic.c - memory that is attached to dynamic windows. */
#include "win.h"

/* The dynamic window of a handle, in a function of MPI: declares it. */
#define DYNAMIC_IN(win, handle)                                                                    \
    WIN_IN(win, handle);                                                                           \
    if ((win)->flavor != MPI_WIN_FLAVOR_DYNAMIC)                                                   \
    return weftmpi_fail(MPI_ERR_RMA_FLAVOR, "the window is not dynamic")

static void set(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE); /* origins may get the row meanwhile */
}

API(Win_attach, (MPI_Win handle, void *base, MPI_Aint bytes))
{
    DYNAMIC_IN(win, handle);
    if (bytes < 0 || (base == NULL && bytes > 0))
        return weftmpi_fail(MPI_ERR_ARG, "%td bytes at %p", (ptrdiff_t)bytes, base);
    LOCKED;
    struct weftmpi_table *table = win->table;
    struct weftmpi_region *row = NULL;
    if (bytes == 0)
        return MPI_SUCCESS;
    for (int i = WEFTMPI_REGIONS - 1; i >= 0; i--) {
        struct weftmpi_region *r = &table->regions[i];
        if (r->bytes == 0)
            row = r;
        else if ((uintptr_t)base < r->base + r->bytes && r->base < (uintptr_t)base + (size_t)bytes)
            return weftmpi_fail(MPI_ERR_RMA_ATTACH, "%td bytes at %p overlap what is attached",
                                (ptrdiff_t)bytes, base);
    }
    if (row == NULL)
        return weftmpi_fail(MPI_ERR_RMA_ATTACH, "%d regions are attached", WEFTMPI_REGIONS);
    const uint32_t number = weftmpi_exposure_number();
    TRY(weftmpi_failed(weft_expose(weftmpi.job, base, (size_t)bytes, number)));
    set(&row->base, (uintptr_t)base);
    set(&row->number, number);
    set(&row->bytes, (uint64_t)bytes);
    if ((uint64_t)(row - table->regions) >= table->used)
        set(&table->used, (uint64_t)(row - table->regions) + 1);
    return MPI_SUCCESS;
}

int weftmpi_win_detach(struct weftmpi_region *row)
{
    const uint32_t number = (uint32_t)row->number;

    set(&row->bytes, 0);
    return weftmpi_failed(weft_unexpose(weftmpi.job, number));
}

API(Win_detach, (MPI_Win handle, const void *base))
{
    DYNAMIC_IN(win, handle);
    LOCKED;
    for (int i = 0; i < WEFTMPI_REGIONS; i++) {
        struct weftmpi_region *row = &win->table->regions[i];
        if (row->bytes != 0 && row->base == (uintptr_t)base)
            return weftmpi_win_detach(row);
    }
    return base == NULL ? MPI_SUCCESS
                        : weftmpi_fail(MPI_ERR_RMA_ATTACH, "nothing is attached at %p", base);
}
