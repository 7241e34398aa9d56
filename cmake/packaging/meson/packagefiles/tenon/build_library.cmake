# Builds the shared library in the folder BUILD from the sources SOURCE with the C++ compiler
# COMPILER, as TYPE (always optimised: an unoptimised library is a hundred times slower), and puts
# it into OUTPUT under its soname.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -G Ninja -DCMAKE_BUILD_TYPE=${TYPE}
                        -DCMAKE_CXX_COMPILER=${COMPILER} -DTENON_UNITY=ON -DTENON_TESTS=OFF -DTENON_EXAMPLES=OFF
                        -DTENON_SERVER=OFF -DTENON_INSTALL=OFF
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target tenon_shared COMMAND_ERROR_IS_FATAL ANY)
file(GLOB library ${BUILD}/lib/libtenon.so.*.*.*)
cmake_path(GET library FILENAME name)
string(REGEX REPLACE "\\.[0-9]+$" "" soname ${name})
file(COPY_FILE ${library} ${OUTPUT}/${soname})
file(CREATE_LINK ${soname} ${OUTPUT}/libtenon.so SYMBOLIC)
