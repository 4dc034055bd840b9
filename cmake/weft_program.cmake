# Programs with kernels: part of weft's CMake package, and of weft's own build.

# weft_find_cuda(): sets WEFT_CUDA_FOUND, and where nvcc (WEFT_NVCC), cuda.h (WEFT_CUDA_INCLUDE), the
# static runtime (WEFT_CUDART) and CUDA's other libraries (WEFT_CUDA_LIBRARY_DIRS) are.
macro(weft_find_cuda)
  set(WEFT_CUDA_FOUND OFF)
  find_program(WEFT_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  if(WEFT_NVCC)
    file(REAL_PATH ${WEFT_NVCC} weft_cuda_root)
    get_filename_component(weft_cuda_root ${weft_cuda_root}/../.. ABSOLUTE)
    set(WEFT_CUDA_LIBRARY_DIRS ${weft_cuda_root}/lib64 ${weft_cuda_root}/lib
        ${weft_cuda_root}/targets/x86_64-linux/lib ${weft_cuda_root}/targets/sbsa-linux/lib)
    find_path(WEFT_CUDA_INCLUDE cuda.h HINTS ${weft_cuda_root}/include)
    find_library(WEFT_CUDART cudart_static HINTS ${WEFT_CUDA_LIBRARY_DIRS})
    if(WEFT_CUDA_INCLUDE AND WEFT_CUDART)
      set(WEFT_CUDA_FOUND ON)
    endif()
  endif()
endmacro()

# weft_nvcc_flags(<result> <architectures>): without these a C compiler cannot link what nvcc makes.
# Architectures are written as in CMAKE_CUDA_ARCHITECTURES: N, N-real, N-virtual, native, all.
function(weft_nvcc_flags result architectures)
  set(flags -std=c++17 -Xcompiler -fPIC,-fno-exceptions,-fno-threadsafe-statics)
  foreach(arch IN LISTS architectures)
    if(NOT arch MATCHES "^([0-9]+[a-z]?)(-real|-virtual|)$")
      list(APPEND flags -arch=${arch})
    elseif(CMAKE_MATCH_2 STREQUAL "-virtual")
      list(APPEND flags -gencode arch=compute_${CMAKE_MATCH_1},code=compute_${CMAKE_MATCH_1})
    elseif(CMAKE_MATCH_2 STREQUAL "-real")
      list(APPEND flags -gencode arch=compute_${CMAKE_MATCH_1},code=sm_${CMAKE_MATCH_1})
    else()
      list(APPEND flags -gencode "arch=compute_${CMAKE_MATCH_1},code=[compute_${CMAKE_MATCH_1},sm_${CMAKE_MATCH_1}]")
    endif()
  endforeach()
  set(${result} ${flags} PARENT_SCOPE)
endfunction()

# weft_nvcc(<target> <object> <source> <architectures> <flags>): nvcc makes the object, and the target
# links it.
function(weft_nvcc target object source architectures)
  weft_nvcc_flags(flags "${architectures}")
  get_filename_component(folder ${object} DIRECTORY)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${WEFT_NVCC} -c ${flags} ${ARGN} -x cu ${source} -o ${object} -MD -MF ${object}.d
    DEPENDS ${source} DEPFILE ${object}.d COMMENT "nvcc ${source}" VERBATIM COMMAND_EXPAND_LISTS)
  target_sources(${target} PRIVATE ${object})
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endfunction()

# weft_add_kernels(<target> [CXX] [NVCC_FLAGS <flags>] <sources>): adds kernels (.cu) to a program or
# library, which links weft then. They are compiled as C, or with CXX as C++, for the CPU device and,
# where weft has GPUs and nvcc is here, by nvcc for CMAKE_CUDA_ARCHITECTURES (default: native, the GPU
# of this machine). No CUDA language has to be enabled. nvcc sees the target's include folders and
# definitions, and -O3 before NVCC_FLAGS.
function(weft_add_kernels name)
  cmake_parse_arguments(weft "CXX" "" "NVCC_FLAGS" ${ARGN})
  set(kernels ${weft_UNPARSED_ARGUMENTS})
  set(language C)
  set(option -xc)
  if(weft_CXX)
    set(language CXX)
    set(option -xc++)
  endif()
  if(NOT CMAKE_${language}_COMPILER_LOADED)
    message(FATAL_ERROR "${name}: its kernels are ${language} on the CPU device, and project() has no language ${language}")
  endif()
  target_sources(${name} PRIVATE ${kernels})
  target_link_libraries(${name} PUBLIC weft::weft)
  set_source_files_properties(${kernels} PROPERTIES LANGUAGE ${language} COMPILE_OPTIONS ${option})
  get_target_property(cuda weft::weft WEFT_CUDA)
  if(NOT cuda)
    return()
  endif()
  weft_find_cuda()
  if(NOT WEFT_CUDA_FOUND)
    message(STATUS "${name}: kernels for the CPU device only: nvcc, or its headers and libraries, were not found")
    return()
  endif()
  set(architectures ${CMAKE_CUDA_ARCHITECTURES})
  if(NOT architectures)
    set(architectures native)
  endif()
  message(STATUS "${name}: kernels for the CPU device and, by ${WEFT_NVCC}, for GPUs (${architectures})")
  set(folders $<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>)
  set(definitions $<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>)
  get_target_property(type ${name} TYPE)
  foreach(source IN LISTS kernels)
    get_filename_component(path ${source} ABSOLUTE)
    string(MAKE_C_IDENTIFIER ${source} object)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}_cuda/${object}.o)
    weft_nvcc(${name} ${object} ${path} "${architectures}" -O3
              "$<$<BOOL:${folders}>:-I$<JOIN:${folders},$<SEMICOLON>-I>>"
              "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},$<SEMICOLON>-D>>" ${weft_NVCC_FLAGS})
    if(type STREQUAL "STATIC_LIBRARY") # kernels name it weakly, which takes nothing out of a library
      target_link_libraries(${name} INTERFACE ${object})
    endif()
  endforeach()
  target_link_libraries(${name} PUBLIC ${WEFT_CUDART} rt ${CMAKE_DL_LIBS})
endfunction()

# weft_add_program(<name> [CXX] [NVCC_FLAGS <flags>] <sources>): an executable that links weft, of
# kernels (as weft_add_kernels) and other sources.
function(weft_add_program name)
  cmake_parse_arguments(weft "CXX" "" "NVCC_FLAGS" ${ARGN})
  set(kernels ${weft_UNPARSED_ARGUMENTS})
  set(others ${weft_UNPARSED_ARGUMENTS})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  list(FILTER others EXCLUDE REGEX "\\.cu$")
  add_executable(${name} ${others})
  target_link_libraries(${name} PRIVATE weft::weft)
  if(kernels)
    if(weft_CXX)
      list(PREPEND kernels CXX)
    endif()
    weft_add_kernels(${name} ${kernels} NVCC_FLAGS ${weft_NVCC_FLAGS})
  endif()
endfunction()
