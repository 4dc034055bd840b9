# The wheel (python/): weft.py with a libweft.so, and weftrun. Made with all else where there are tests.
function(weft_python)
  set(library weft)
  if(NOT BUILD_SHARED_LIBS) # its objects are compiled as those of a shared one
    set(library weft_python)
    add_library(weft_python SHARED $<TARGET_OBJECTS:weft>)
    target_link_libraries(weft_python PRIVATE Threads::Threads m ${CMAKE_DL_LIBS} ${WEFT_NET_LIBRARIES})
    set_target_properties(weft_python PROPERTIES OUTPUT_NAME weft LINKER_LANGUAGE C EXCLUDE_FROM_ALL ON
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python)
  endif()
  set(python ${PROJECT_SOURCE_DIR}/python)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/python/made
    COMMAND ${Python3_EXECUTABLE} ${python}/weft_wheel.py ${PROJECT_BINARY_DIR}/python $<TARGET_FILE:${library}>
            $<TARGET_FILE:weftrun> > ${PROJECT_BINARY_DIR}/python/made
    DEPENDS ${library} weftrun ${python}/weft.py ${python}/weft_wheel.py ${PROJECT_SOURCE_DIR}/LICENSE
    COMMENT "weft_wheel.py" VERBATIM)
  if(WEFT_TESTS)
    set(all ALL)
  endif()
  add_custom_target(weft_wheel ${all} DEPENDS ${PROJECT_BINARY_DIR}/python/made)
endfunction()
