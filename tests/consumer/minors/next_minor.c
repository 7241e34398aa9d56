/* Stands in for the next minor version of libtenon.so. */
const char* tenon_version_text(void);
const char* tenon_version_text(void) { return "next"; }
