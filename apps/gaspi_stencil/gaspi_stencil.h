/* What the kernel and the host program of gaspi_stencil share. */
#ifndef GASPI_STENCIL_H
#define GASPI_STENCIL_H

#include <weft/types.h>

enum { SEGMENT = 0, LEFT = 0, RIGHT = 1 };

/* Each block has two rows of cells + 2 doubles in its process's segment; the ends are ghosts. */
struct rod {
    void *gaspi; /* of gaspi_gpu_table */
    int blocks;  /* of each process */
    int cells, steps;
};

#endif
