/* tests/mpi/types_environment.c - info objects, and what a process asks of its library. */
#include "mpi_types.h"

void infos(void)
{
    MPI_Info info, copy;
    char value[MPI_MAX_INFO_VAL], key[MPI_MAX_INFO_KEY];
    int flag, count, length;

    MPI_Info_create(&info);
    MPI_Info_set(info, "one", "1");
    MPI_Info_set(info, "two", "2");
    MPI_Info_set(info, "one", "eins");
    MPI_Info_get(info, "one", 10, value, &flag);
    CHECK(flag && strcmp(value, "eins") == 0);
    MPI_Info_get(info, "three", 10, value, &flag);
    CHECK(!flag);
    MPI_Info_get_valuelen(info, "one", &length, &flag);
    CHECK(flag && length == 4);
    length = 3;
    MPI_Info_get_string(info, "one", &length, value, &flag);
    CHECK(flag && length == 5 && strcmp(value, "ei") == 0);
    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, "one");
    MPI_Info_get_nkeys(info, &count);
    CHECK(count == 1);
    MPI_Info_get_nthkey(info, 0, key);
    CHECK(strcmp(key, "two") == 0);
    MPI_Info_get_nkeys(copy, &count);
    CHECK(count == 2);
    MPI_Info_free(&info);
    MPI_Info_free(&copy);
    CHECK(copy == MPI_INFO_NULL);
}

void environment(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_OBJECT_NAME];
    int length, version, subversion, flag, error_class;
    void *block;
    MPI_Aint a, b;

    MPI_Get_version(&version, &subversion);
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    MPI_Get_library_version(text, &length);
    CHECK((int)strlen(text) == length && length > 0);
    MPI_Get_processor_name(text, &length);
    CHECK((int)strlen(text) == length && length > 0);
    MPI_Error_string(MPI_ERR_TRUNCATE, text, &length);
    CHECK(strstr(text, "MPI_ERR_TRUNCATE") != NULL && (int)strlen(text) == length);
    MPI_Error_class(MPI_ERR_TAG, &error_class);
    CHECK(error_class == MPI_ERR_TAG);
    const struct {
        MPI_Datatype type;
        const char *name;
    } named[] = {{MPI_DOUBLE, "MPI_DOUBLE"}, /* of synonyms the name that the standard has first */
                 {MPI_LONG_LONG, "MPI_LONG_LONG_INT"},
                 {MPI_C_FLOAT_COMPLEX, "MPI_C_COMPLEX"}};
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        MPI_Type_get_name(named[i].type, name, &length);
        CHECK(strcmp(name, named[i].name) == 0);
    }
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0);
    MPI_Alloc_mem(100, MPI_INFO_NULL, &block);
    MPI_Get_address(block, &a);
    MPI_Get_address((char *)block + 7, &b);
    CHECK(b - a == 7);
    MPI_Free_mem(block);
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Finalized(&flag);
    CHECK(!flag);
    const double before = MPI_Wtime();
    CHECK(MPI_Wtime() >= before && MPI_Wtick() > 0 && PMPI_Wtime() >= before);
}
