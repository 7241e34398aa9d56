/* A plug-in of a stranger's with libtenon.a inside: answers as the program beside this folder does.
 * The function is called as the command line says (-Dmain=NAME). */
#include "../c/main.c"
