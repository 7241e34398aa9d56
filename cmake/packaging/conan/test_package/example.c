/* The library answers, and knows its options; no model is needed. */
#include <stdio.h>
#include <tenon/tenon.h>

int main(void) {
  printf("Tenon %s, %zu options\n", tenon_version_text(), tenon_option_count());
  return tenon_option_count() > 0 ? 0 : 1;
}
