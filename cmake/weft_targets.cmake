# How programs on weft are built.

# weft_program(<name> <sources>): a tool or test; may include src/. Kernels (.cu) are compiled as C.
function(weft_program name)
  add_executable(${name} ${ARGN})
  weft_kernels_as_c(${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_link_libraries(${name} PRIVATE weft_internal m)
endfunction()

# The C compiler takes a kernel file as what it is for the CPU device: C.
function(weft_kernels_as_c)
  set(options -xc)
  if(NOT WEFT_SANITIZE)
    list(APPEND options -O3)
  endif()
  foreach(source IN LISTS ARGN)
    if(source MATCHES "\\.cu$")
      set_source_files_properties(${source} PROPERTIES LANGUAGE C COMPILE_OPTIONS "${options}")
    endif()
  endforeach()
endfunction()

# weft_cuda_flags(<result>): how this build compiles for GPUs, beside weft_nvcc_flags.
function(weft_cuda_flags result)
  set(${result} ${WEFT_CUDA_EFFORT} -lineinfo -Werror all-warnings -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
      PARENT_SCOPE)
endfunction()

# weft_cuda_image(<kernel> <source>): the library carries the kernel itself, as a fat binary that
# <source> includes by the name WEFT_BLOCK_IMAGE.
function(weft_cuda_image kernel source)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${kernel})
  string(REPLACE "/" "_" name ${name})
  set(image ${PROJECT_BINARY_DIR}/cuda/${name}.fatbin)
  weft_nvcc_flags(flags "${WEFT_CUDA_ARCHS}")
  weft_cuda_flags(own_flags)
  add_custom_command(OUTPUT ${image}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/cuda
    COMMAND ${WEFT_NVCC} -fatbin ${flags} ${own_flags} ${kernel} -o ${image} -MD -MF ${image}.d
    DEPENDS ${kernel} DEPFILE ${image}.d COMMENT "nvcc ${name}" VERBATIM)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${image}
    COMPILE_DEFINITIONS "WEFT_BLOCK_IMAGE=\"${image}\"")
endfunction()

# weft_cuda_kernels(<target> <include folders> <sources>): nvcc compiles the kernels in the sources,
# and the program carries them beside those that the C compiler made.
function(weft_cuda_kernels target includes)
  if(NOT WEFT_CUDA_IN)
    return()
  endif()
  weft_cuda_flags(flags)
  if(WEFT_CUDA_REGISTERS)
    list(APPEND flags -maxrregcount=${WEFT_CUDA_REGISTERS})
  endif()
  foreach(include IN LISTS includes)
    list(APPEND flags -I${include})
  endforeach()
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
    string(REPLACE "/" "_" name ${path})
    weft_nvcc(${target} ${PROJECT_BINARY_DIR}/cuda/${name}.o ${source} "${WEFT_CUDA_ARCHS}" ${flags})
  endforeach()
  target_link_libraries(${target} PRIVATE ${WEFT_CUDART} rt dl Threads::Threads)
endfunction()

# weft_app_common(<folder>): the front end that the case studies share, as a library.
function(weft_app_common dir)
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.c)
  add_library(app_common STATIC ${sources})
  target_include_directories(app_common PUBLIC ${dir})
  target_compile_definitions(app_common PRIVATE _GNU_SOURCE)
  target_link_libraries(app_common PUBLIC weft m)
endfunction()

# weft_app(<folder>): a program of the folder's name, from its kernels (.cu) and C files.
function(weft_app dir)
  if(NOT EXISTS ${dir}/main.c) # a program of another language
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.c ${dir}/*.cu)
  get_filename_component(name ${dir} NAME)
  add_executable(${name} ${sources})
  weft_kernels_as_c(${sources})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_link_libraries(${name} PRIVATE app_common weft m)
  set(includes ${dir})
  foreach(interface gaspi dart)
    if(name MATCHES "^${interface}_|_${interface}$")
      target_link_libraries(${name} PRIVATE weft-${interface})
      list(APPEND includes ${PROJECT_SOURCE_DIR}/include/weft-${interface})
    endif()
  endforeach()
  set(kernels ${sources})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  weft_cuda_kernels(${name} "${includes}" ${kernels})
endfunction()
