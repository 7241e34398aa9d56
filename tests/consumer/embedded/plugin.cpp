// A plug-in of a stranger's with libtenon.a inside, over the C++ headers. It shows one function, called
// as the command line says (-Dmain=NAME).
extern "C" __attribute__((visibility("default"))) int main(int argc, char** argv);
#include "../cpp/main.cpp"
