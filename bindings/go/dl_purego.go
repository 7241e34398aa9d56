//go:build !tenon_cgo

package tenon

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

func openLibrary(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// symbolOf returns the address of a function; 0 if the library lacks it.
func symbolOf(library uintptr, name string) uintptr {
	address, err := purego.Dlsym(library, name)
	if err != nil {
		return 0
	}
	return address
}

// callTask calls a tenon_task.
func callTask(task, argument uintptr) { purego.SyscallN(task, argument) }

// callText calls a function without parameters that returns a text.
func callText(function uintptr) unsafe.Pointer {
	result, _, _ := purego.SyscallN(function)
	return *(*unsafe.Pointer)(unsafe.Pointer(&result))
}
