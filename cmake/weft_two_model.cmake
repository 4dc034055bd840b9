# The two-model forms of the case studies: apps/<name>/two_model, linked with each network that is
# there. <name>_net and <name>_mpi run on the processor; <name>_net_cuda, <name>_mpi_cuda,
# <name>_nccl and <name>_nvshmem on GPUs. Of apps for messages: weft_message_app below.

# weft_two_model_package(<variable> <name>): the folder of a library of NVIDIA: <NAME>_HOME, or
# python3's package.
function(weft_two_model_package variable name)
  string(TOUPPER ${name} upper)
  set(home $ENV{${upper}_HOME})
  if(NOT home)
    execute_process(COMMAND python3 -c "import nvidia, os
print(next(p for p in (os.path.join(q, '${name}') for q in nvidia.__path__) if os.path.isdir(p)), end='')"
                    OUTPUT_VARIABLE home ERROR_QUIET)
  endif()
  set(${variable} "${home}" PARENT_SCOPE)
endfunction()

set(WEFT_NCCL AUTO CACHE STRING "two-model programs over NCCL: AUTO, ON or OFF")
set(WEFT_NVSHMEM AUTO CACHE STRING "two-model programs over NVSHMEM: AUTO, ON or OFF")
set(nccl_home)
set(nvshmem_home)
if(WEFT_CUDA_IN)
  weft_two_model_package(nccl_home nccl)
  weft_two_model_package(nvshmem_home nvshmem)
endif()
find_path(WEFT_NCCL_INCLUDE nccl.h HINTS ${nccl_home}/include)
find_library(WEFT_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${nccl_home}/lib)
find_path(WEFT_NVSHMEM_INCLUDE nvshmem.h HINTS ${nvshmem_home}/include)
find_library(WEFT_NVSHMEM_LIBRARY NAMES nvshmem_host libnvshmem_host.so.3 HINTS ${nvshmem_home}/lib)
set(found OFF)
if(WEFT_CUDA_IN AND WEFT_NCCL_INCLUDE AND WEFT_NCCL_LIBRARY)
  set(found ON)
endif()
weft_want(WEFT_NCCL ${found} "NCCL was not found (NCCL_HOME, or python3's package), or CUDA is not in")
set(found OFF)
if(WEFT_CUDA_IN AND WEFT_NVSHMEM_INCLUDE AND WEFT_NVSHMEM_LIBRARY)
  set(found ON)
endif()
weft_want(WEFT_NVSHMEM ${found} "NVSHMEM was not found (NVSHMEM_HOME, or python3's package), or CUDA is not in")

set(WEFT_TWO_MODEL ${PROJECT_SOURCE_DIR}/apps/common/two_model)

# weft_two_model_cuda(<library> <includes> <kernels>): what nvcc compiles, once for all that link it.
function(weft_two_model_cuda library includes)
  add_library(${library} STATIC)
  set_target_properties(${library} PROPERTIES LINKER_LANGUAGE C)
  weft_cuda_kernels(${library} "${WEFT_TWO_MODEL};${PROJECT_SOURCE_DIR}/apps/common;${includes}" ${ARGN})
endfunction()

# weft_two_model_program(<app> <variant> <machine> <sources of the network> <libraries>). The product of
# power_iteration is that of spmv.
function(weft_two_model_program app variant machine network libraries)
  set(apps ${PROJECT_SOURCE_DIR}/apps)
  set(phases ${apps}/${app}/two_model/phases.cu)
  set(phases_built ${app}_phases)
  file(GLOB sources CONFIGURE_DEPENDS ${apps}/${app}/two_model/*.c)
  if(app STREQUAL "power_iteration")
    list(APPEND sources ${apps}/power_iteration/check.c ${apps}/spmv/problem.c ${apps}/spmv/two_model/product.c)
    list(APPEND phases ${apps}/spmv/two_model/phases.cu)
    list(APPEND phases_built spmv_phases)
  else()
    file(GLOB problem CONFIGURE_DEPENDS ${apps}/${app}/problem*.c)
    list(APPEND sources ${problem})
  endif()
  list(TRANSFORM network PREPEND ${WEFT_TWO_MODEL}/)
  set(name ${app}_${variant})
  add_executable(${name} ${sources} ${WEFT_TWO_MODEL}/model.c ${WEFT_TWO_MODEL}/machine_${machine}.c ${network})
  target_include_directories(${name} PRIVATE ${WEFT_TWO_MODEL} ${apps}/${app} ${apps})
  if(app STREQUAL "power_iteration")
    target_include_directories(${name} PRIVATE ${apps}/spmv)
  endif()
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  if(machine STREQUAL "cpu")
    weft_kernels_as_c(${phases})
    target_sources(${name} PRIVATE ${phases})
  else()
    target_compile_definitions(${name} PRIVATE WEFT_TWO_MODEL_CUDA)
    target_include_directories(${name} SYSTEM PRIVATE ${WEFT_CUDA_INCLUDE})
    target_link_libraries(${name} PRIVATE ${phases_built})
  endif()
  target_link_libraries(${name} PRIVATE ${libraries} app_common weft m)
endfunction()

# weft_two_model(<app>): all variants of one application.
function(weft_two_model app)
  weft_two_model_program(${app} net cpu "exchange_net.c;hosts.c" "")
  if(WEFT_MPI_IN)
    weft_two_model_program(${app} mpi cpu exchange_mpi.c MPI::MPI_C)
  endif()
  if(NOT WEFT_CUDA_IN)
    return()
  endif()
  weft_two_model_cuda(${app}_phases ${PROJECT_SOURCE_DIR}/apps/${app}
                      ${PROJECT_SOURCE_DIR}/apps/${app}/two_model/phases.cu)
  weft_two_model_program(${app} net_cuda cuda "exchange_net.c;hosts.c" "")
  if(WEFT_MPI_IN)
    weft_two_model_program(${app} mpi_cuda cuda exchange_mpi.c MPI::MPI_C)
  endif()
  if(WEFT_NCCL_IN)
    weft_two_model_program(${app} nccl cuda "exchange_nccl.c;hosts.c" ${WEFT_NCCL_LIBRARY})
    target_include_directories(${app}_nccl SYSTEM PRIVATE ${WEFT_NCCL_INCLUDE})
  endif()
  if(WEFT_NVSHMEM_IN)
    weft_two_model_program(${app} nvshmem cuda hosts.c two_model_nvshmem)
  endif()
endfunction()

# weft_message_app(<app>): what has only this form, over weft's messages (<app>_msg; in double precision
# <app>_double) and over each MPI: Open MPI (<app>_mpi), MPICH and weft's own.
function(weft_message_app app)
  weft_two_model_program(${app} msg cpu "exchange_messages.c;hosts.c" "")
  weft_two_model_program(${app} double cpu "exchange_messages.c;hosts.c" "")
  target_compile_definitions(${app}_double PRIVATE WEFT_APP_DOUBLE)
  weft_two_model_program(${app} weftmpi cpu exchange_mpi.c weft-mpi)
  if(WEFT_MPI_IN)
    weft_two_model_program(${app} mpi cpu exchange_mpi.c MPI::MPI_C)
  endif()
  if("mpich" IN_LIST WEFT_MPI_MODULES)
    weft_two_model_program(${app} mpich cpu exchange_mpi.c "${WEFT_MPI_LINKS_mpich}")
    target_include_directories(${app}_mpich SYSTEM PRIVATE ${WEFT_MPI_INCLUDES_mpich})
    target_compile_options(${app}_mpich PRIVATE # its MPI_STATUSES_IGNORE
                           $<$<C_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
  endif()
  if(WEFT_CUDA_IN)
    weft_two_model_cuda(${app}_phases ${PROJECT_SOURCE_DIR}/apps/${app}
                        ${PROJECT_SOURCE_DIR}/apps/${app}/two_model/phases.cu)
    weft_two_model_program(${app} msg_cuda cuda "exchange_messages.c;hosts.c" "")
    if(WEFT_MPI_IN)
      weft_two_model_program(${app} mpi_cuda cuda exchange_mpi.c MPI::MPI_C)
    endif()
  endif()
endfunction()

# NVSHMEM's library has a device side, which wants relocatable code and a link of its own; so this
# file alone is compiled for the newest architecture of the list.
if(WEFT_NVSHMEM_IN)
  list(GET WEFT_CUDA_ARCHS -1 arch)
  string(REGEX REPLACE "-virtual$" "" arch ${arch})
  get_filename_component(nvshmem_lib ${WEFT_NVSHMEM_LIBRARY} DIRECTORY)
  set(object ${PROJECT_BINARY_DIR}/cuda/exchange_nvshmem)
  set(flags -std=c++17 -O3 -arch=sm_${arch} -Xcompiler -fPIC)
  add_custom_command(OUTPUT ${object}.o ${object}.link.o
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/cuda
    COMMAND ${WEFT_NVCC} ${flags} -rdc=true -c -I${PROJECT_SOURCE_DIR}/include -I${WEFT_TWO_MODEL}
            -isystem ${WEFT_NVSHMEM_INCLUDE} ${WEFT_TWO_MODEL}/exchange_nvshmem.cu -o ${object}.o
    COMMAND ${WEFT_NVCC} ${flags} -dlink ${object}.o ${nvshmem_lib}/libnvshmem_device.a -o ${object}.link.o
    DEPENDS ${WEFT_TWO_MODEL}/exchange_nvshmem.cu ${WEFT_TWO_MODEL}/exchange.h ${WEFT_TWO_MODEL}/hosts.h
    COMMENT "nvcc apps/common/two_model/exchange_nvshmem.cu" VERBATIM)
  add_library(two_model_nvshmem STATIC ${object}.o ${object}.link.o)
  set_target_properties(two_model_nvshmem PROPERTIES LINKER_LANGUAGE C)
  set_source_files_properties(${object}.o ${object}.link.o PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_link_libraries(two_model_nvshmem PRIVATE ${nvshmem_lib}/libnvshmem_device.a
                        ${WEFT_NVSHMEM_LIBRARY} ${WEFT_CUDART} rt dl Threads::Threads stdc++)
endif()
