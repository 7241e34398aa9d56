# Runs the portfile of cmake/packaging/vcpkg, and a stranger's program against what it installs. It
# builds the library, which takes minutes: not part of ctest, but of bindings/build_all.sh.
#   cmake -DWORK=FOLDER [-DVCPKG_ROOT=FOLDER] -P tests/consumer/vcpkg_port.cmake
# With a checkout of vcpkg its own scripts run the portfile, as its program would have them do
# (which need not be built; patchelf must be installed); without one, stand-ins for the functions
# that it calls. Dependencies come from the system in both, so what vcpkg does with other ports is
# not tried.
cmake_minimum_required(VERSION 3.25)
if(NOT WORK)
  message(FATAL_ERROR "usage: cmake -DWORK=FOLDER [-DVCPKG_ROOT=FOLDER] -P vcpkg_port.cmake")
endif()
cmake_path(ABSOLUTE_PATH WORK NORMALIZE)
cmake_path(SET root NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../..")
set(triplet x64-linux-dynamic)
if(CMAKE_HOST_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(triplet arm64-linux-dynamic)
endif()
set(PORT tenon)
set(CURRENT_PORT_DIR "${root}/cmake/packaging/vcpkg/tenon")
set(CURRENT_PACKAGES_DIR "${WORK}/packages/tenon_${triplet}")
file(READ "${CURRENT_PORT_DIR}/vcpkg.json" manifest)
string(JSON version GET "${manifest}" version)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(VCPKG_ROOT)
  set(helpers "${VCPKG_ROOT}/ports/vcpkg-cmake" "${VCPKG_ROOT}/ports/vcpkg-cmake-config")
  list(TRANSFORM helpers APPEND /vcpkg-port-config.cmake)
  set(original "${VCPKG_ROOT}/triplets/${triplet}.cmake")
  if(NOT EXISTS "${original}")
    set(original "${VCPKG_ROOT}/triplets/community/${triplet}.cmake")
  endif()
  # The release alone: with the debug build it would take twice the time.
  file(CONFIGURE OUTPUT "${WORK}/${triplet}.cmake" @ONLY CONTENT [[
include("@original@")
set(VCPKG_BUILD_TYPE release)
set(VCPKG_PORT_CONFIGS "@helpers@")
set(ALL_FEATURES server tools)
]])
  file(MAKE_DIRECTORY "${WORK}/installed/${triplet}")
  find_program(ninja ninja REQUIRED NO_CACHE)  # vcpkg would download both
  find_program(patchelf patchelf REQUIRED NO_CACHE)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  run(${CMAKE_COMMAND} -E env "VCPKG_ROOT=${VCPKG_ROOT}" ${CMAKE_COMMAND}
    -DCMD=BUILD -DPORT=tenon -DVERSION=${version} -DFEATURES=core
    -DCURRENT_PORT_DIR=${CURRENT_PORT_DIR} -DTARGET_TRIPLET=${triplet} -D_HOST_TRIPLET=${triplet}
    -DTARGET_TRIPLET_FILE=${WORK}/${triplet}.cmake -DVCPKG_ROOT_DIR=${VCPKG_ROOT}
    -DDOWNLOADS=${WORK}/downloads
    -DPACKAGES_DIR=${WORK}/packages -DBUILDTREES_DIR=${WORK}/buildtrees
    -D_VCPKG_INSTALLED_DIR=${WORK}/installed
    -DVCPKG_CONCURRENCY=${cores} -DVCPKG_BASE_VERSION=2099-01-01 -DVCPKG_PLATFORM_TOOLSET=external
    -DVCPKG_USE_HEAD_VERSION=0 -D_VCPKG_EDITABLE=0 -D_VCPKG_NO_DOWNLOADS=1
    -DNINJA=${ninja} -DPATCHELF=${patchelf}
    -DZ_VCPKG_CHAINLOAD_TOOLCHAIN_FILE=${VCPKG_ROOT}/scripts/toolchains/linux.cmake
    -P ${VCPKG_ROOT}/scripts/ports.cmake)
else()
  include("${CMAKE_CURRENT_LIST_DIR}/vcpkg_stand_ins.cmake")
  include("${CURRENT_PORT_DIR}/portfile.cmake")
endif()

if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/lib/libtenon.so.${version}"
   OR EXISTS "${CURRENT_PACKAGES_DIR}/bin/tenon"
   OR EXISTS "${CURRENT_PACKAGES_DIR}/lib/cmake"
   OR NOT EXISTS "${CURRENT_PACKAGES_DIR}/share/tenon/copyright")
  message(FATAL_ERROR "FAILED: the port installed something else")
endif()
# Elsewhere than where it was built, as vcpkg moves packages into its installed tree.
file(REMOVE_RECURSE "${WORK}/moved")
file(RENAME "${CURRENT_PACKAGES_DIR}" "${WORK}/moved")
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/c -B ${WORK}/consumer -G Ninja -DCOMPONENTS=shared
    -DLIBRARY=tenon::tenon -Dtenon_DIR=${WORK}/moved/share/tenon)
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/consumer ${root}/examples/models/demo-q8_0.gguf)
