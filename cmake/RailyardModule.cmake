# Targets shared by every module: compile options live on an interface target, never in globals.

add_library(railyard_options INTERFACE)
target_compile_features(railyard_options INTERFACE cxx_std_20)
target_compile_options(railyard_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -fPIC  # the Python module is a shared library of the same objects
  $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>  # and still inlines
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=  # complaints name files of the tree, not of this machine
  -ffp-contract=off  # equal results across compilers (docs/adr/0008)
  $<$<BOOL:${RAILYARD_WERROR}>:-Werror>)

# One translation unit for many files (docs/adr/0018): the presets that build everything turn it on.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 10 CACHE STRING "Files to a translation unit where CMAKE_UNITY_BUILD is on")
if(CMAKE_UNITY_BUILD)
  # Types of a file's own are one file's own here, too: no other unit includes that file.
  target_compile_options(railyard_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

# The headers nearly every file includes, parsed once a build (cmake/precompiled.hpp).
option(RAILYARD_PRECOMPILED_HEADERS "Parse the standard headers once a build" ON)
if(RAILYARD_PRECOMPILED_HEADERS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "// Empty: its target carries the headers.\n")
  # What ccache asks for, so that files that use them are found again.
  target_compile_options(railyard_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# railyard_precompiled(NAME HEADERS h… LIBRARIES lib… [DEFINITIONS d…]): headers to be shared by targets
# with the same definitions.
function(railyard_precompiled name)
  if(NOT RAILYARD_PRECOMPILED_HEADERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBRARIES;DEFINITIONS" ${ARGN})
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(${name} PRIVATE railyard_options ${ARG_LIBRARIES})
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINITIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# railyard_use_precompiled(TARGET NAME)
function(railyard_use_precompiled target name)
  if(RAILYARD_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

railyard_precompiled(railyard_precompiled_std HEADERS ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp LIBRARIES fmt::fmt)

# railyard_module(NAME SOURCES a.cpp b.cpp [PUBLIC lib…] [PRIVATE lib…])
# A static library railyard_NAME with the public headers of include/railyard/NAME.
function(railyard_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(railyard_${name} STATIC ${ARG_SOURCES})
  add_library(railyard::${name} ALIAS railyard_${name})
  target_include_directories(railyard_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(railyard_${name} PUBLIC ${ARG_PUBLIC} PRIVATE railyard_options ${ARG_PRIVATE})
  railyard_use_precompiled(railyard_${name} railyard_precompiled_std)
endfunction()

set(railyard_test_definitions RAILYARD_SOURCE_DIR="${PROJECT_SOURCE_DIR}" DOCTEST_CONFIG_SUPER_FAST_ASSERTS)

# railyard_test(NAME LABEL label SOURCES a.cpp … LIBRARIES lib…)
# A doctest program; each file has the derivation of its numbers.
function(railyard_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE ${railyard_test_definitions})
  railyard_use_precompiled(${name} railyard_precompiled_tests)
  # Where its headers come precompiled, g++ 12 sees std::string overrun itself (GCC PR 105329, 105651).
  target_compile_options(${name} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-restrict>)
  # Checks are compiled to be run once: a quarter less time to the same answers.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_link_libraries(${name} PRIVATE railyard_options railyard_test_main ${ARG_LIBRARIES})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} SKIP_RETURN_CODE 77)
endfunction()
