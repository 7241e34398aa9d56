# tenon_embed_description(TARGET FILE): embeds bindings/FILE, a description of a C interface,
# without its prose as kInterfaceJson of <interface_json.h>. The library returns it
# (docs/bindings.md).
function(tenon_embed_description target file)
  set(described ${PROJECT_SOURCE_DIR}/bindings/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${described})
  file(READ ${described} text)
  string(REGEX REPLACE ", \"doc\": \"([^\"\\]|\\\\.)*\"" "" text "${text}")
  string(REGEX REPLACE "\n *" "\n" text "${text}")
  string(REPLACE ", \"" ",\"" text "${text}")
  string(REPLACE "\": " "\":" text "${text}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/interface_json.h.in
                 ${CMAKE_CURRENT_BINARY_DIR}/description/interface_json.h @ONLY)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/description)
endfunction()
