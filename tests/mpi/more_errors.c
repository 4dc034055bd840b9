/* tests/mpi/more_errors.c - classes and codes of errors of the program, and their handlers. */
#include "mpi_more.h"

#include <limits.h>

static int raised, raised_by;

static void handler(MPI_Comm *comm, int *code, ...)
{
    raised = *code;
    raised_by = *comm == MPI_COMM_SELF;
}

/* What is none is refused, and not followed. */
static void bad_arguments(void)
{
    char key[MPI_MAX_INFO_KEY + 1], value[2];
    int flag, index;
    MPI_Info info;

    FAILS(MPI_ERR_COUNT, MPI_Waitall(-1, NULL, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_COUNT, MPI_Testall(-1, NULL, &flag, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_COUNT, MPI_Waitany(-1, NULL, &index, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_COUNT, MPI_Testsome(-1, NULL, &flag, &index, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_COUNT, MPI_Startall(-1, NULL));
    FAILS(MPI_ERR_BUFFER, MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    FAILS(MPI_ERR_BUFFER, MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_SELF));
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce(&index, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    FAILS(MPI_ERR_BUFFER,
          MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, &index, 1, MPI_INT, 0, MPI_COMM_SELF));
    FAILS(MPI_ERR_COUNT,
          MPI_Send_c(&index, ((MPI_Count)1 << 62) + 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    FAILS(MPI_ERR_ARG, MPI_Wait(NULL, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Test(NULL, &flag, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Request_free(NULL));
    FAILS(MPI_ERR_ARG, MPI_Comm_free(NULL));
    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    MPI_Info_create(&info);
    FAILS(MPI_ERR_INFO_KEY, MPI_Info_set(info, NULL, "v"));
    FAILS(MPI_ERR_INFO_VALUE, MPI_Info_set(info, "k", NULL));
    FAILS(MPI_ERR_INFO_KEY, MPI_Info_get(info, NULL, 1, value, &flag));
    FAILS(MPI_ERR_INFO_KEY, MPI_Info_get_valuelen(info, key, &index, &flag));
    FAILS(MPI_ERR_INFO_KEY, MPI_Info_delete(info, key));
    FAILS(MPI_ERR_ARG, MPI_Info_free(NULL));
    MPI_Info_set(info, "k", "v");
    MPI_Info_get(info, "k", INT_MAX, value, &flag); /* as much as there is */
    CHECK(flag && strcmp(value, "v") == 0);
    MPI_Info_free(&info);
}

/* No place for a result, or no list where there are numbers. */
static void nowhere(void)
{
    const int one = 1, zero = 0;
    int got, edges[2] = {0, 0};
    const count_t many[1] = {1};
    const place_t at[1] = {1};
    count_t first = 0;
    MPI_Aint far = 0;
    char text[MPI_MAX_PROCESSOR_NAME];
    MPI_Comm grid, graph;
    MPI_Group world, made;
    MPI_Datatype type;
    MPI_Status status;
    MPI_Message message;

    FAILS(MPI_ERR_ARG, MPI_Get_processor_name(text, NULL));
    FAILS(MPI_ERR_ARG, MPI_Get_version(&got, NULL));
    FAILS(MPI_ERR_ARG, MPI_Get_library_version(NULL, &got));
    FAILS(MPI_ERR_ARG, MPI_Buffer_detach(text, NULL));
    FAILS(MPI_ERR_ARG, MPI_Iprobe(0, 0, MPI_COMM_SELF, NULL, &status));
    FAILS(MPI_ERR_ARG, MPI_Improbe(0, 0, MPI_COMM_SELF, NULL, &message, &status));
    FAILS(MPI_ERR_ARG, MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_SELF, NULL, &status));
    FAILS(MPI_ERR_ARG, MPI_Mrecv(text, 1, MPI_CHAR, NULL, &status));
    FAILS(MPI_ERR_ARG, MPI_Waitall(1, NULL, &status));
    FAILS(MPI_ERR_ARG, MPI_Waitany(0, NULL, NULL, &status));
    FAILS(MPI_ERR_ARG, MPI_Testany(0, NULL, &got, NULL, &status));
    FAILS(MPI_ERR_ARG, MPI_Testall(0, NULL, NULL, &status));
    FAILS(MPI_ERR_ARG, MPI_Waitsome(0, NULL, NULL, &got, &status));
    FAILS(MPI_ERR_ARG, MPI_Get_count(NULL, MPI_INT, &got));
    FAILS(MPI_ERR_ARG, MPI_Status_set_elements(NULL, MPI_INT, 1));
    FAILS(MPI_ERR_ARG, MPI_Status_set_cancelled(NULL, 1));
    FAILS(MPI_ERR_ARG, MPI_Status_c2f(&status, NULL));
    FAILS(MPI_ERR_ARG, MPI_Comm_get_name(MPI_COMM_SELF, text, NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_set_name(MPI_INT, NULL));
    FAILS(MPI_ERR_ARG, MPI_Comm_free_keyval(NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_commit(NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_get_envelope(MPI_INT, &got, &got, &got, NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_indexed(1, NULL, NULL, MPI_INT, &type));
    FAILS(MPI_ERR_ARG, MPI_Pack(text, 1, MPI_CHAR, text, 1, NULL, MPI_COMM_SELF));
    FAILS(MPI_ERR_BUFFER, MPI_Pack(NULL, 1, MPI_CHAR, text, 1, &first, MPI_COMM_SELF));
    FAILS(MPI_ERR_BUFFER, MPI_Pack(text, 1, MPI_CHAR, NULL, 1, &first, MPI_COMM_SELF));
    FAILS(MPI_ERR_BUFFER, MPI_Unpack(text, 1, &first, NULL, 1, MPI_CHAR, MPI_COMM_SELF));
    FAILS(MPI_ERR_BUFFER, MPI_Pack_external("external32", NULL, 1, MPI_CHAR, text, 1, &far));
    FAILS(MPI_ERR_BUFFER, MPI_Unpack_external("external32", NULL, 1, &far, text, 1, MPI_CHAR));
    FAILS(MPI_ERR_ARG, MPI_Dims_create(1, 1, NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_create_subarray(1, &one, &one, NULL, MPI_ORDER_C, MPI_INT, &type));
    FAILS(MPI_ERR_ARG, MPI_Info_get_nthkey(MPI_INFO_ENV, 0, NULL));
    FAILS(MPI_ERR_ARG, MPI_Info_get_valuelen(MPI_INFO_ENV, "command", NULL, &got));
    const MPI_Aint here = (MPI_Aint)&got;
    int mine = 17;
    FAILS(MPI_SUCCESS,
          MPI_Allgatherv_c(&mine, sizeof(mine), MPI_BYTE, MPI_BOTTOM, &(MPI_Count){sizeof(mine)},
                           &here, MPI_BYTE, MPI_COMM_SELF));
    CHECK(got == 17);
    FAILS(MPI_SUCCESS, MPI_Dist_graph_create(MPI_COMM_SELF, 1, &zero, &zero, NULL, MPI_UNWEIGHTED,
                                             MPI_INFO_NULL, 0, &graph));
    MPI_Comm_free(&graph);
    FAILS(MPI_ERR_BUFFER,
          MPI_Alltoallv(NULL, many, at, MPI_INT, text, many, at, MPI_INT, MPI_COMM_SELF));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    FAILS(MPI_ERR_ARG, MPI_Group_incl(world, 1, NULL, &made));
    FAILS(MPI_ERR_ARG, MPI_Group_translate_ranks(world, 1, &zero, world, NULL));
    MPI_Group_free(&world);
    FAILS(MPI_ERR_ARG, MPI_Cart_create(MPI_COMM_SELF, 1, &one, NULL, 0, &grid));
    MPI_Cart_create(MPI_COMM_SELF, 1, &one, &zero, 0, &grid);
    FAILS(MPI_ERR_ARG, MPI_Cart_get(grid, 1, &got, NULL, &got));
    FAILS(MPI_ERR_ARG, MPI_Cart_shift(grid, 0, 1, &got, NULL));
    FAILS(MPI_ERR_ARG, MPI_Cart_coords(grid, 0, 1, NULL));
    MPI_Comm_free(&grid);
    FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_SELF, 1, &one, NULL, 0, &graph));
    MPI_Graph_create(MPI_COMM_SELF, 1, &one, edges, 0, &graph);
    FAILS(MPI_ERR_ARG, MPI_Graphdims_get(graph, &got, NULL));
    FAILS(MPI_ERR_ARG, MPI_Graph_neighbors(graph, 0, 1, NULL));
    MPI_Comm_free(&graph);
}

void error_codes(void)
{
    int class_added, code, known, length, flag, *last;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Errhandler own, got;

    MPI_Add_error_class(&class_added);
    CHECK(class_added > MPI_ERR_LASTCODE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    CHECK(flag && *last == class_added);
    MPI_Add_error_code(class_added, &code);
    MPI_Add_error_string(code, "out of paint");
    MPI_Error_string(code, text, &length);
    CHECK(strcmp(text, "out of paint") == 0 && length == (int)strlen(text));
    MPI_Error_class(code, &known);
    CHECK(known == class_added);
    MPI_Error_class(class_added, &known);
    CHECK(known == class_added);
    MPI_Error_string(class_added, text, &length);
    CHECK(length == 0);
    MPI_Add_error_code(MPI_ERR_ARG, &code);
    MPI_Error_class(code, &known);
    CHECK(known == MPI_ERR_ARG);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_SELF, code) == MPI_SUCCESS);
    CHECK(raised == code && raised_by);
    MPI_Errhandler_get(MPI_COMM_SELF, &got);
    CHECK(got == own);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&own);
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_ARG, MPI_Add_error_string(MPI_ERR_ARG, "no"));
    FAILS(MPI_ERR_ARG, MPI_Add_error_string(code, NULL));
    FAILS(MPI_ERR_ARG, MPI_Error_class(code + 1, &known));
    FAILS(MPI_ERR_ARG, MPI_Error_string(-1, text, &length));
    bad_arguments();
    nowhere();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}
