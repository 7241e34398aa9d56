# cmake -DPROGRAM=tenon -DOUTPUT=FOLDER [-DEMULATOR=...] -P write_documents.cmake: writes manual
# pages of the program and its commands to FOLDER/man, and shell completions to FOLDER.
function(tenon_prints file)
  execute_process(COMMAND ${EMULATOR} ${PROGRAM} ${ARGN} OUTPUT_FILE ${file}
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${OUTPUT})
file(MAKE_DIRECTORY ${OUTPUT}/man)
tenon_prints(${OUTPUT}/tenon.bash completion bash)
tenon_prints(${OUTPUT}/_tenon completion zsh)
tenon_prints(${OUTPUT}/tenon.fish completion fish)
tenon_prints(${OUTPUT}/man/tenon.1 man)
file(STRINGS ${OUTPUT}/tenon.fish commands REGEX "__fish_use_subcommand -f -a [a-z-]+ ")
foreach(line ${commands})
  string(REGEX REPLACE ".* -a ([a-z-]+) .*" "\\1" command "${line}")
  if(NOT command STREQUAL "help")
    tenon_prints(${OUTPUT}/man/tenon-${command}.1 man ${command})
  endif()
endforeach()
