package tenon

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// The functions of the library in use, by index; 0: it lacks the function. Written once: by load,
// and the server's by loadServer.
var functions [numFunctions]uintptr

var (
	isLoaded  atomic.Bool
	libraryMu sync.Mutex
	usedPath  string // "": none is in use
	wanted    string
)

// A library in the package itself; bindings/build_all.sh sets both.
var (
	embedded     []byte
	embeddedName string
)

//go:embed made_for.json
var madeForJSON []byte

// A library to compare with the interface this package was made for.
type comparison struct {
	name, describe string // names of the library and of its description function
	made           []byte
}

var comparedLibrary = comparison{"libtenon", "tenon_interface_description", madeForJSON}

// UseLibrary names the libtenon.so to use. Call it before everything else; another path is ErrState
// afterwards.
func UseLibrary(path string) error {
	libraryMu.Lock()
	defer libraryMu.Unlock()
	if usedPath != "" && usedPath != path {
		return failed(ErrState, "%s is in use already", usedPath)
	}
	wanted = path
	return nil
}

// Library loads the library, as the first call that needs it would, and returns its path: the one
// named by UseLibrary; the one inside the package; the one that the system's loader finds. The
// environment is not read.
func Library() (string, error) {
	err := load()
	libraryMu.Lock()
	defer libraryMu.Unlock()
	return usedPath, err
}

// Version is the library's version. It loads the library like the first call that needs it.
func Version() (string, error) {
	if err := load(); err != nil {
		return "", err
	}
	return versionText(), nil
}

func load() error {
	if isLoaded.Load() {
		return nil
	}
	libraryMu.Lock()
	defer libraryMu.Unlock()
	if isLoaded.Load() {
		return nil
	}
	path, name, err := findLibrary()
	if err != nil {
		return err
	}
	library, err := comparedLibrary.open(path, name)
	if err != nil {
		return err
	}
	findFunctions(library, 0, numLibraryFunctions)
	makeCallbacks()
	usedPath = name
	isLoaded.Store(true)
	return nil
}

// findFunctions looks up the functions [first, end).
func findFunctions(library uintptr, first, end int) {
	for index := first; index < end; index++ {
		functions[index] = symbolOf(library, functionNames[index])
	}
	registerWithFloats(first, end)
}

// findLibrary returns the path to open, and the name for messages.
func findLibrary() (path, name string, err error) {
	switch {
	case wanted != "":
		return wanted, wanted, nil
	case len(embedded) > 0:
		path, err = unpack(embedded)
		return path, "the package's own " + embeddedName, err
	}
	path, err = soname("libtenon")
	return path, path, err
}

// soname is the system loader's name of a library.
func soname(library string) (string, error) {
	var version struct{ Version string }
	if err := json.Unmarshal(madeForJSON, &version); err != nil {
		return "", err
	}
	parts := strings.Split(version.Version, ".")
	return fmt.Sprintf("%s.so.%s.%s", library, parts[0], parts[1]), nil
}

// unpack returns a path to bytes, without a place on a disk: memfd_create(2).
func unpack(library []byte) (string, error) {
	number := map[string]uintptr{"amd64": 319, "arm64": 279}[runtime.GOARCH]
	name := []byte("libtenon\x00")
	fd, _, errno := syscall.Syscall(number, uintptr(unsafe.Pointer(&name[0])), 1 /* MFD_CLOEXEC */, 0)
	if number == 0 || errno != 0 {
		return "", failed(ErrIO, "memfd_create: %v", errno)
	}
	file := os.NewFile(fd, "libtenon")
	if _, err := file.Write(library); err != nil {
		return "", &Error{Code: ErrIO, Message: err.Error(), cause: err}
	}
	keptFiles = append(keptFiles, file) // the path refers to it
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	if !isFile(path) {
		return "", failed(ErrUnsupported, "the package's own library is loaded by way of /proc, which is not mounted")
	}
	return path, nil
}

var keptFiles []*os.File

// isStatic reports whether this program has no shared library: then dlopen, if linked, crashes.
func isStatic() bool {
	mapped, err := os.ReadFile("/proc/self/maps")
	return err == nil && !strings.Contains(string(mapped), ".so")
}

// open opens a library, and refuses one that does not fit before anything else is called.
func (of *comparison) open(path, name string) (uintptr, error) {
	var library uintptr
	err := errors.New("this program is linked statically, so it cannot load libraries")
	if !isStatic() {
		library, err = openLibrary(path)
	}
	if err != nil {
		return 0, &Error{Code: ErrUnsupported, Message: fmt.Sprintf("%s cannot be loaded: %v", of.name, err), cause: err}
	}
	version := "?"
	if function := symbolOf(library, "tenon_version_text"); function != 0 {
		version = nameAt(callText(function))
	}
	function := symbolOf(library, of.describe)
	if function == 0 {
		return 0, failed(ErrUnsupported, "%s is %s %s, which does not describe its interface: "+
			"it is too old for this binding", name, of.name, version)
	}
	var ours madeFor
	var theirs description
	if err := json.Unmarshal(of.made, &ours); err != nil {
		return 0, err
	}
	if err := json.Unmarshal([]byte(nameAt(callText(function))), &theirs); err != nil {
		return 0, failed(ErrUnsupported, "%s is %s %s, whose description cannot be read: %v", name, of.name, version, err)
	}
	if reasons := misfits(&ours, &theirs); len(reasons) > 0 {
		more := ""
		if len(reasons) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(reasons)-1)
		}
		return 0, failed(ErrUnsupported, "%s is %s %s, which does not fit this binding made for %s: %s%s",
			name, of.name, version, ours.Version, reasons[0], more)
	}
	return library, nil
}
