//go:build tenon_cgo

package tenon

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

static uintptr_t open_library(const char* path) {
  return (uintptr_t)dlopen(path, RTLD_NOW | RTLD_LOCAL);
}
static uintptr_t symbol_of(uintptr_t library, const char* name) {
  return (uintptr_t)dlsym((void*)library, name);
}
static void call_task(uintptr_t task, uintptr_t argument) { ((void (*)(uintptr_t))task)(argument); }
static const void* call_text(uintptr_t function) { return ((const char* (*)(void))function)(); }
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

func openLibrary(path string) (uintptr, error) {
	runtime.LockOSThread() // dlerror reports per thread
	defer runtime.UnlockOSThread()
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	library := uintptr(C.open_library(text))
	if library == 0 {
		return 0, errors.New(C.GoString(C.dlerror()))
	}
	return library, nil
}

// symbolOf returns the address of a function; 0 if the library lacks it.
func symbolOf(library uintptr, name string) uintptr {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return uintptr(C.symbol_of(C.uintptr_t(library), text))
}

// callTask calls a tenon_task.
func callTask(task, argument uintptr) { C.call_task(C.uintptr_t(task), C.uintptr_t(argument)) }

// callText calls a function without parameters that returns a text.
func callText(function uintptr) unsafe.Pointer {
	return C.call_text(C.uintptr_t(function))
}

// registerWithFloats is needed by purego only.
func registerWithFloats(first, end int) {}
