# Joins all objects of the library. Names except tenon_* become local and tenon_* hidden: a program
# that links libtenon.a never collides with another version of fmt, JSON or utf8proc, and the
# program's own plug-ins export no name of the library.
#   cmake -DOUTPUT=... -DLINKER=... -DNM=... -DOBJCOPY=... -DCOMPILER=... -P one_object.cmake --
#   INPUT... [-- ARCHIVE...]
# Inputs are taken whole, and from the archives what these need.
set(inputs "")
set(archives "")
set(list "")
foreach(index RANGE ${CMAKE_ARGC})
  if(CMAKE_ARGV${index} STREQUAL "--" AND list STREQUAL "")
    set(list inputs)
  elseif(CMAKE_ARGV${index} STREQUAL "--")
    set(list archives)
  elseif(list AND CMAKE_ARGV${index})
    list(APPEND ${list} "${CMAKE_ARGV${index}}")
  endif()
endforeach()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Dissolve groups: a group with a local name would still be merged with a program's group of that
# name.
run(${LINKER} -r --force-group-allocation -o ${OUTPUT}.all
    --whole-archive ${inputs} --no-whole-archive --start-group ${archives} --end-group)

function(defined_symbols file result)
  execute_process(COMMAND ${NM} --defined-only --extern-only --format=posix ${file}
                  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(STRIP "${symbols}" symbols)
  string(REPLACE "\n" ";" symbols "${symbols}")
  set(${result} "${symbols}" PARENT_SCOPE)
endfunction()

# The most constraining visibility among all mentions of a symbol wins, so mentions are enough.
set(mentions ".section .note.GNU-stack,\"\",%progbits\n")
set(unique "")
defined_symbols(${OUTPUT}.all symbols)
foreach(symbol ${symbols})
  if(symbol MATCHES "^(tenon_[a-z0-9_]+) T ")
    string(APPEND mentions ".hidden ${CMAKE_MATCH_1}\n")
  elseif(symbol MATCHES "^([^ ]+) u ")  # objcopy makes these local only when they are weak
    string(APPEND unique "${CMAKE_MATCH_1}\n")
  endif()
endforeach()
file(WRITE ${OUTPUT}.s "${mentions}")
file(WRITE ${OUTPUT}.unique "${unique}")
run(${COMPILER} -c ${OUTPUT}.s -o ${OUTPUT}.mentions)
run(${LINKER} -r -o ${OUTPUT} ${OUTPUT}.all ${OUTPUT}.mentions)
if(unique)  # objcopy fails without a word at an empty file
  run(${OBJCOPY} --weaken-symbols=${OUTPUT}.unique ${OUTPUT})
endif()
# The section names symbols by their old places.
run(${OBJCOPY} --wildcard "--keep-global-symbol=tenon_*" --remove-section=.llvm_addrsig ${OUTPUT})
file(REMOVE ${OUTPUT}.all ${OUTPUT}.s ${OUTPUT}.unique ${OUTPUT}.mentions)

defined_symbols(${OUTPUT} symbols)
list(FILTER symbols EXCLUDE REGEX "^tenon_")
if(symbols)
  file(REMOVE ${OUTPUT})
  message(FATAL_ERROR "still to be seen in libtenon.a: ${symbols}")
endif()
