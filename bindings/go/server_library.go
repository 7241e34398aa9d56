package tenon

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// libtenon-server is a separate library, searched when the first server is made.

var isServerLoaded atomic.Bool

// The library in the package itself, like `embedded` in library.go.
var embeddedServer []byte

//go:embed made_for_server.json
var madeForServerJSON []byte

var comparedServer = comparison{"libtenon-server", "tenon_server_interface_description", madeForServerJSON}

func loadServer() error {
	if isServerLoaded.Load() {
		return nil
	}
	if err := load(); err != nil {
		return err
	}
	libraryMu.Lock()
	defer libraryMu.Unlock()
	if isServerLoaded.Load() {
		return nil
	}
	path, name, err := findServer(usedPath)
	if err != nil {
		return err
	}
	library, err := openServer(path, name)
	if err != nil {
		return err
	}
	findFunctions(library, numLibraryFunctions, numFunctions)
	isServerLoaded.Store(true)
	return nil
}

// openServer refuses a library that would bring another libtenon into the process: each has its own
// models.
func openServer(path, name string) (uintptr, error) {
	library, err := comparedServer.open(path, name)
	if err != nil {
		return 0, err
	}
	if symbolOf(library, functionNames[fnVersionText]) != functions[fnVersionText] {
		return 0, failed(ErrUnsupported, "%s works with another libtenon than %s, which is in use", name, usedPath)
	}
	return library, nil
}

// findServer returns the path to open, and the name for messages: the package's own beside the
// package's own libtenon, the one beside the libtenon in use, or the one that the system's loader
// finds.
func findServer(used string) (path, name string, err error) {
	known, err := soname("libtenon-server")
	if err != nil {
		return "", "", err
	}
	if wanted == "" && len(embedded) > 0 && len(embeddedServer) > 0 {
		path, err = unpack(embeddedServer)
		return path, "the package's own " + known, err
	}
	if wanted != "" && strings.ContainsRune(used, '/') {
		folder, file := filepath.Split(used)
		for _, beside := range []string{strings.Replace(file, "libtenon.", "libtenon-server.", 1), known} {
			if path = folder + beside; beside != file && isFile(path) {
				return path, path, nil
			}
		}
	}
	return known, known, nil
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
