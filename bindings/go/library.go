package tenon

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// The functions of the library in use, by index; 0: it lacks the function. Written once, by load.
var functions [numFunctions]uintptr

var (
	isLoaded  atomic.Bool
	libraryMu sync.Mutex
	usedPath  string // "": none is in use
	wanted    string
)

// A library in the package itself; the package that bindings/build_all.sh makes sets both.
var (
	embedded     []byte
	embeddedName string
)

//go:embed made_for.json
var madeForJSON []byte

// UseLibrary names the libtenon.so to use. It comes before everything else: afterwards another path is ErrState.
func UseLibrary(path string) error {
	libraryMu.Lock()
	defer libraryMu.Unlock()
	if usedPath != "" && usedPath != path {
		return failed(ErrState, "%s is in use already", usedPath)
	}
	wanted = path
	return nil
}

// Library loads the library, as the first call that needs it would, and says which it is: the one named by
// UseLibrary; the one inside the package; what the system's loader finds. The environment is not asked.
func Library() (string, error) {
	err := load()
	libraryMu.Lock()
	defer libraryMu.Unlock()
	return usedPath, err
}

// Version is that of the library, which it loads like the first call that needs it.
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
	library, err := checkLibrary(path, name)
	if err != nil {
		return err
	}
	for index, function := range functionNames {
		functions[index] = symbolOf(library, function)
	}
	registerWithFloats()
	makeCallbacks()
	usedPath = name
	isLoaded.Store(true)
	return nil
}

// findLibrary says what to open, and what to call it.
func findLibrary() (path, name string, err error) {
	switch {
	case wanted != "":
		return wanted, wanted, nil
	case len(embedded) > 0:
		path, err = unpack(embedded)
		return path, "the package's own " + embeddedName, err
	}
	var version struct{ Version string }
	if err := json.Unmarshal(madeForJSON, &version); err != nil {
		return "", "", err
	}
	parts := strings.Split(version.Version, ".")
	path = fmt.Sprintf("libtenon.so.%s.%s", parts[0], parts[1])
	return path, path, nil
}

// unpack gives a path to bytes, which need no place on a disk: memfd_create(2).
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
	keptFile = file // the path leads there
	return fmt.Sprintf("/proc/self/fd/%d", fd), nil
}

var keptFile *os.File

// checkLibrary opens a library, and refuses one that does not fit before anything else is called.
func checkLibrary(path, name string) (uintptr, error) {
	library, err := openLibrary(path)
	if err != nil {
		return 0, &Error{Code: ErrUnsupported, Message: fmt.Sprintf("no libtenon was found: %v", err), cause: err}
	}
	version := "?"
	if function := symbolOf(library, "tenon_version_text"); function != 0 {
		version = nameAt(callText(function))
	}
	function := symbolOf(library, "tenon_interface_description")
	if function == 0 {
		return 0, failed(ErrUnsupported, "%s is libtenon %s, which does not describe its interface: "+
			"it is too old for this binding", name, version)
	}
	var ours madeFor
	var theirs description
	if err := json.Unmarshal(madeForJSON, &ours); err != nil {
		return 0, err
	}
	if err := json.Unmarshal([]byte(nameAt(callText(function))), &theirs); err != nil {
		return 0, failed(ErrUnsupported, "%s is libtenon %s, whose description cannot be read: %v", name, version, err)
	}
	if reasons := misfits(&ours, &theirs); len(reasons) > 0 {
		more := ""
		if len(reasons) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(reasons)-1)
		}
		return 0, failed(ErrUnsupported, "%s is libtenon %s, which does not fit this binding made for %s: %s%s",
			name, version, ours.Version, reasons[0], more)
	}
	return library, nil
}
