# Manual pages and shell completions, printed by the program after its build.
if(WIN32)  # it has no place for them
  return()
endif()
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS
          "Manual pages and completion are left out: the program does not run where it is built")
  return()
endif()
set(made ${PROJECT_BINARY_DIR}/program_documents)
set(program_documents ${made}/tenon.bash ${made}/_tenon ${made}/tenon.fish ${made}/man/tenon.1)
add_custom_command(OUTPUT ${program_documents}
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:tenon_program> -DOUTPUT=${made}
          "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
          -P ${PROJECT_SOURCE_DIR}/cmake/write_documents.cmake
  DEPENDS tenon_program ${PROJECT_SOURCE_DIR}/cmake/write_documents.cmake
  COMMENT "Writing manual pages and completion" VERBATIM)
add_custom_target(tenon_program_documents ALL DEPENDS ${program_documents})
install(DIRECTORY ${made}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${made}/tenon.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME tenon COMPONENT program)
install(FILES ${made}/_tenon DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
        COMPONENT program)
install(FILES ${made}/tenon.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT program)
