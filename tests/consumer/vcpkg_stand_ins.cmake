# Stand-ins for the functions of vcpkg that the portfile of cmake/packaging/vcpkg calls, each as far
# as it goes there (vcpkg_port.cmake).
set(CURRENT_BUILDTREES_DIR "${WORK}/buildtrees/tenon")
set(FEATURES core)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}")

function(vcpkg_check_linkage)
  if(NOT "ONLY_DYNAMIC_LIBRARY" IN_LIST ARGN)
    message(FATAL_ERROR "the port says something else of its linkage: ${ARGN}")
  endif()
endfunction()

# For each pair FEATURE OPTION -DOPTION=ON or OFF.
function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(options "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    set(value OFF)
    if(feature IN_LIST FEATURES)
      set(value ON)
    endif()
    list(APPEND options -D${option}=${value})
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_find_acquire_program name)
  find_program(found pkg-config REQUIRED NO_CACHE)
  set(${name} "${found}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS;MAYBE_UNUSED_VARIABLES")
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR} -G Ninja
      -DCMAKE_BUILD_TYPE=Release
      -DTENON_UNITY=ON -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_LIBDIR:STRING=lib
      -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${CURRENT_BUILDTREES_DIR} --parallel)
  run(${CMAKE_COMMAND} --install ${CURRENT_BUILDTREES_DIR})
endfunction()

# The package's files go to share/NAME, and the way from there up to the prefix is one folder
# shorter.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  set(share "${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME}")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*.cmake")
  if(NOT files)
    message(FATAL_ERROR "no CMake package in ${arg_CONFIG_PATH}")
  endif()
  file(COPY ${files} DESTINATION "${share}")
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib/cmake")
  file(READ "${share}/tenon-config.cmake" text)
  string(REGEX REPLACE "CMAKE_CURRENT_LIST_DIR}/[./]*\" ABSOLUTE"
         "CMAKE_CURRENT_LIST_DIR}/../../\" ABSOLUTE" text "${text}")
  file(WRITE "${share}/tenon-config.cmake" "${text}")
endfunction()

function(vcpkg_fixup_pkgconfig)
  run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${CURRENT_PACKAGES_DIR}/lib/pkgconfig
      pkg-config --exists --print-errors tenon)
endfunction()

function(vcpkg_copy_tools)
  message(FATAL_ERROR "copies tools without the feature")
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(COPY_FILE ${arg_FILE_LIST} "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright")
endfunction()
