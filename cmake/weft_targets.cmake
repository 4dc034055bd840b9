# How programs on weft are built.

# weft_program(<name> <sources>): a tool or test; may include src/. Kernels (.cu) are compiled as C.
function(weft_program name)
  add_executable(${name} ${ARGN})
  weft_kernels_as_c(${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_link_libraries(${name} PRIVATE weft m)
endfunction()

# The C compiler takes a kernel file as what it is for the CPU device: C.
function(weft_kernels_as_c)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "\\.cu$")
      set_source_files_properties(${source} PROPERTIES LANGUAGE C COMPILE_OPTIONS "-xc")
    endif()
  endforeach()
endfunction()

# weft_cuda_check(<include folders> <kernels>): the target cuda-kernels compiles them with nvcc, too.
function(weft_cuda_check includes)
  if(NOT WEFT_CUDA_IN)
    return()
  endif()
  if(NOT TARGET cuda-kernels)
    add_custom_target(cuda-kernels)
  endif()
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
    string(REPLACE "/" "_" name ${path})
    set(object ${PROJECT_BINARY_DIR}/cuda/${name}.o)
    set(flags -I${PROJECT_SOURCE_DIR}/include)
    foreach(include IN LISTS includes)
      list(APPEND flags -I${include})
    endforeach()
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/cuda
      COMMAND ${WEFT_NVCC} -dc -arch=sm_90 -std=c++17 -Werror all-warnings ${flags} -x cu ${source} -o ${object}
              -MD -MF ${object}.d
      DEPENDS ${source} DEPFILE ${object}.d COMMENT "nvcc ${path}" VERBATIM)
    add_custom_target(cuda-${name} DEPENDS ${object})
    add_dependencies(cuda-kernels cuda-${name})
  endforeach()
endfunction()

# weft_app(<folder>): a program of the folder's name, from its kernels (.cu) and C files.
function(weft_app dir)
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.c ${dir}/*.cu)
  if(NOT sources)
    return()
  endif()
  get_filename_component(name ${dir} NAME)
  add_executable(${name} ${sources})
  weft_kernels_as_c(${sources})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_link_libraries(${name} PRIVATE weft m)
  set(kernels ${sources})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  weft_cuda_check("${dir}" ${kernels})
endfunction()
