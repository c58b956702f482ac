# Ptlc.cmake - how folders of this project declare libraries, passes, tools and tests.
# SPDX-License-Identifier: Apache-2.0
#
#   ptlc_add_folders(<folder>...)             add each folder that has a CMakeLists.txt
#   ptlc_library(<Name> RANK n SRCS ... [DEPS ...] [LINK ...] [LANG] [PLAIN] [NO_PCH])
#   ptlc_dialect(<Dialect>)                   tablegen of <Dialect>{Dialect,Enums,Attrs,Types,Ops}.td
#   ptlc_interfaces([OP X...] [ATTR X...] [TYPE X...])   tablegen of interfaces in X.td
#   ptlc_passes(<Group>)                      tablegen of Passes.td; registration is registerPtlc<Group>Passes()
#   ptlc_tool(<name> SRCS ... DEPS ... [LINK ...])
#   ptlc_unittest(<name> SRCS ... DEPS ... [LINK ...] [LANG] [RUNTIME] [LABELS ...] [ENV ...])
#
# DEPS are libraries of this project, LINK anything else. Libraries form ranks: a library links lower ranks only,
# or a library before it in one of the written orders below. ptlc_check_layers() stops the configure otherwise.
# LANG means without MLIR, PLAIN without LLVM, too. Generated headers are included by their place in the tree, like hand-written ones.

# Same-rank edges that are allowed: each list is an order, earlier never sees later.
set(PTLC_ORDERS
    "PtlcDiag PtlcAST PtlcParse PtlcSema PtlcFormat PtlcLang"
    "PtlcInterfaces PtlcDialectPtl PtlcDialectSpmd PtlcDialectPipe PtlcDialectRt"
    "PtlcConversionKernelScalars PtlcConversionKernelToLoops"
    "PtlcConversionKernelScalars PtlcConversionKernelToGpu"
    "PtlcCodegen PtlcCodegenCPU"
    "PtlcCodegen PtlcCodegenCUDA"
    "PtlcPipelines PtlcDriver")
set(PTLC_MAY_LINK_LANG PtlcImport)  # the only user of both lang and dialects below the pipelines

function(ptlc_add_folders)
  foreach(folder ${ARGN})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      add_subdirectory(${folder})
    else()
      # Configure again as soon as the folder gets its file.
      file(GLOB unused CONFIGURE_DEPENDS ${folder}/CMakeLists.txt)
    endif()
  endforeach()
endfunction()

function(ptlc_use_llvm target)
  target_include_directories(${target} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS})
  separate_arguments(definitions UNIX_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_options(${target} PRIVATE ${definitions} -Xclang -fno-pch-timestamp)
  target_link_libraries(${target} PUBLIC LLVM)
endfunction()

# Shared MLIR and LLVM: a half static link would hold two copies of MLIR's registries.
function(ptlc_use_mlir target)
  ptlc_use_llvm(${target})
  target_include_directories(${target} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS})
  target_link_libraries(${target} PUBLIC MLIR)
endfunction()

# One precompiled header serves every target that uses MLIR. It isn't CMake's own: that one lies in the build folder,
# and its path in the command line keeps ccache from sharing results between build folders.
if(PTLC_COMPILER)
  add_library(PtlcPch OBJECT ${CMAKE_SOURCE_DIR}/compiler/cmake/Pch.h)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/compiler/cmake/Pch.h PROPERTIES LANGUAGE CXX HEADER_FILE_ONLY OFF
    COMPILE_OPTIONS "-xc++-header;-fpch-instantiate-templates")
  ptlc_use_mlir(PtlcPch)
  add_custom_target(PtlcPchReady DEPENDS $<TARGET_OBJECTS:PtlcPch>)  # waits for the file, not for the target's inputs
endif()

function(ptlc_use_pch target)
  target_compile_options(${target} PRIVATE "SHELL:-include-pch $<TARGET_OBJECTS:PtlcPch>")
  add_dependencies(${target} PtlcPchReady)
endfunction()

# For programs that hold code of LLVM.
function(ptlc_use_sanitizer_options target)
  if(PTLC_SANITIZE MATCHES address)
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/compiler/cmake/SanitizerOptions.cpp)
  endif()
endfunction()

# Links DEPS that exist: a missing one is reported by ptlc_check_layers() with the name of its user.
function(ptlc_link target deps link)
  foreach(dep ${deps})
    target_link_libraries(${target} PUBLIC $<TARGET_NAME_IF_EXISTS:${dep}>)
  endforeach()
  target_link_libraries(${target} PUBLIC ${link})
  set_property(TARGET ${target} PROPERTY PTLC_DEPS "${deps}")
endfunction()

function(ptlc_library name)
  cmake_parse_arguments(arg "LANG;PLAIN;NO_PCH" "RANK" "SRCS;DEPS;LINK" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS OR NOT DEFINED arg_RANK)
    message(FATAL_ERROR "ptlc_library(${name}): RANK is required, unknown: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  foreach(source ${arg_SRCS})
    if(NOT IS_ABSOLUTE ${source} AND NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      message(FATAL_ERROR "${name}: '${source}' is missing")
    endif()
  endforeach()
  add_library(${name} STATIC ${arg_SRCS})
  ptlc_link(${name} "${arg_DEPS}" "${arg_LINK}")
  set_property(TARGET ${name} PROPERTY PTLC_RANK ${arg_RANK})
  set_property(TARGET ${name} PROPERTY PTLC_LANG ${arg_LANG})
  set_property(GLOBAL APPEND PROPERTY PTLC_LIBRARIES ${name})
  ptlc_use_generated(${name})
  if(arg_LANG)
    ptlc_use_llvm(${name})
  elseif(NOT arg_PLAIN)
    ptlc_use_mlir(${name})
    if(NOT arg_NO_PCH)
      ptlc_use_pch(${name})
    endif()
  endif()
endfunction()

# Runs mlir-tblgen on <td> of this folder for each "output:arguments" in ARGN; one target per folder depends on all.
function(ptlc_tablegen td)
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${td})
    return()
  endif()
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(TABLEGEN_OUTPUT)
  foreach(output ${ARGN})
    string(REPLACE ":" ";" output "${output}")
    list(POP_FRONT output file)
    mlir_tablegen(${file} ${output} EXTRA_INCLUDES ${MLIR_INCLUDE_DIRS})
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY PTLC_GENERATED ${TABLEGEN_OUTPUT})
endfunction()

# Makes <target> wait for the generated headers of its own folder; those of other folders come with DEPS.
function(ptlc_use_generated target)
  get_property(generated DIRECTORY PROPERTY PTLC_GENERATED)
  if(generated)
    add_custom_target(${target}Gen DEPENDS ${generated})
    add_dependencies(${target} ${target}Gen)
  endif()
endfunction()

# Enums need a file of their own: unlike the others, their generator can't leave out what a file includes.
function(ptlc_dialect name)
  string(TOLOWER ${name} dialect)
  ptlc_tablegen(${name}Dialect.td ${name}Dialect.h.inc:-gen-dialect-decls:-dialect=${dialect}
                ${name}Dialect.cpp.inc:-gen-dialect-defs:-dialect=${dialect})
  ptlc_tablegen(${name}Enums.td ${name}Enums.h.inc:-gen-enum-decls ${name}Enums.cpp.inc:-gen-enum-defs)
  ptlc_tablegen(${name}Attrs.td ${name}Attrs.h.inc:-gen-attrdef-decls:-attrdefs-dialect=${dialect}
                ${name}Attrs.cpp.inc:-gen-attrdef-defs:-attrdefs-dialect=${dialect})
  ptlc_tablegen(${name}Types.td ${name}Types.h.inc:-gen-typedef-decls:-typedefs-dialect=${dialect}
                ${name}Types.cpp.inc:-gen-typedef-defs:-typedefs-dialect=${dialect})
  ptlc_tablegen(${name}Ops.td ${name}Ops.h.inc:-gen-op-decls ${name}Ops.cpp.inc:-gen-op-defs)
endfunction()

function(ptlc_interfaces)
  cmake_parse_arguments(arg "" "" "OP;ATTR;TYPE" ${ARGN})
  foreach(kind OP ATTR TYPE)
    string(TOLOWER ${kind} flag)
    foreach(name ${arg_${kind}})
      ptlc_tablegen(${name}.td ${name}.h.inc:-gen-${flag}-interface-decls ${name}.cpp.inc:-gen-${flag}-interface-defs)
    endforeach()
  endforeach()
endfunction()

function(ptlc_passes group)
  ptlc_tablegen(Passes.td Passes.h.inc:-gen-pass-decls:-name:Ptlc${group})
endfunction()

function(ptlc_tool name)
  cmake_parse_arguments(arg "LANG" "" "SRCS;DEPS;LINK" ${ARGN})
  add_executable(${name} ${arg_SRCS})
  ptlc_link(${name} "${arg_DEPS}" "${arg_LINK}")
  ptlc_use_sanitizer_options(${name})
  set_property(TARGET ${name} PROPERTY PTLC_RANK 6)
  set_property(GLOBAL APPEND PROPERTY PTLC_LIBRARIES ${name})
  if(arg_LANG)
    ptlc_use_llvm(${name})
  else()
    ptlc_use_mlir(${name})
    ptlc_use_pch(${name})
  endif()
endfunction()

function(ptlc_unittest name)
  cmake_parse_arguments(arg "LANG;RUNTIME;NO_PCH" "" "SRCS;DEPS;LINK;LABELS;ENV" ${ARGN})
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${arg_SRCS})
  ptlc_link(${name} "${arg_DEPS}" "${arg_LINK}")
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main)
  set_property(TARGET ${name} PROPERTY PTLC_RANK 6)
  set_property(TARGET ${name} PROPERTY RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/unit/bin)
  set_property(GLOBAL APPEND PROPERTY PTLC_LIBRARIES ${name})
  if(NOT arg_RUNTIME)
    ptlc_use_sanitizer_options(${name})
    if(arg_LANG)
      ptlc_use_llvm(${name})
    else()
      ptlc_use_mlir(${name})
      if(NOT arg_NO_PCH)
        ptlc_use_pch(${name})
      endif()
    endif()
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300 ENVIRONMENT "${arg_ENV}")
endfunction()

# Returns in <out> whether <orders> let <user> link <dep> of the same rank.
function(ptlc_order_allows user dep out)
  set(${out} FALSE PARENT_SCOPE)
  foreach(order ${PTLC_ORDERS})
    separate_arguments(order)
    list(FIND order ${user} user_place)
    list(FIND order ${dep} dep_place)
    if(dep_place GREATER -1 AND dep_place LESS user_place)
      set(${out} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

function(ptlc_check_edge user rank dep)
  if(NOT TARGET ${dep})
    message(WARNING "${user} depends on '${dep}', which no folder defines")
    return()
  endif()
  get_property(dep_rank TARGET ${dep} PROPERTY PTLC_RANK)
  if(NOT DEFINED dep_rank OR dep_rank STREQUAL "")
    return()
  endif()
  ptlc_order_allows(${user} ${dep} ordered)
  if(dep_rank GREATER rank OR (dep_rank EQUAL rank AND NOT ordered))
    message(FATAL_ERROR "layering: '${user}' (rank ${rank}) may not link '${dep}' (rank ${dep_rank})")
  endif()
  get_property(dep_lang TARGET ${dep} PROPERTY PTLC_LANG)
  get_property(user_lang TARGET ${user} PROPERTY PTLC_LANG)
  if(dep_lang AND NOT user_lang AND rank LESS 5 AND NOT user IN_LIST PTLC_MAY_LINK_LANG)
    message(FATAL_ERROR "layering: '${user}' may not link the language library '${dep}'")
  endif()
endfunction()

function(ptlc_check_layers)
  get_property(libraries GLOBAL PROPERTY PTLC_LIBRARIES)
  foreach(user ${libraries})
    get_property(rank TARGET ${user} PROPERTY PTLC_RANK)
    get_property(deps TARGET ${user} PROPERTY PTLC_DEPS)
    foreach(dep ${deps})
      ptlc_check_edge(${user} ${rank} ${dep})
    endforeach()
  endforeach()
endfunction()
