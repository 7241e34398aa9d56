#!/usr/bin/env bash
# Tests the Go binding with the library of a build folder. Then builds the package and uses it as
# its README says.
#   bindings/go/test.sh [BUILD_FOLDER] [GO_TEST_ARGUMENT...]   default: build-dev
# Ends with status 77 and a message if Go or its module proxy is missing. Without a C compiler the
# parts that need cgo are left out: the form tenon_cgo and the race detector. TENON_ORDERS: number
# of random orders (1000).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(realpath "${1:-$root/build-dev}")
[ $# -eq 0 ] || shift
skip() { echo "SKIPPED: $*"; exit 77; }

command -v go > /dev/null || skip "no go"
[ -e "$build/lib/libtenon.so" ] || skip "$build holds no library"
export GOFLAGS=-buildvcs=false
cd "$here"
go mod download > /dev/null 2>&1 || skip "go does not reach its module proxy"
export TENON_LIBRARY=$build/lib/libtenon.so
export MALLOC_ARENA_MAX=1  # so that leaked memory shows

[ -z "$(gofmt -l .)" ] || { echo "gofmt would change:" >&2; gofmt -l . >&2; exit 1; }
CGO_ENABLED=0 go vet ./...
CGO_ENABLED=0 go test -count=1 "$@" .
if command -v "${CC:-cc}" > /dev/null; then
  go vet -tags tenon_cgo ./...
  go test -count=1 -tags tenon_cgo "$@" .
  # Tests that start processes are not repeated.
  quick='(Readme|Examples|ALibrary|StaticProgram)'
  go test -count=1 -race -skip "$quick" "$@" .
  go test -count=1 -race -tags tenon_cgo -skip "$quick" "$@" .
else
  echo "no C compiler: tenon_cgo and the race detector are left out"
fi

# The package, used as its README says, in an empty folder. The program holds the library.
unset TENON_LIBRARY
BUILD=$build "$root/bindings/build_all.sh" go
alone=$(mktemp -d)
trap 'rm -rf "$alone"' EXIT
cd "$alone"
tar xf "$here"/dist/tenon-go-*.tar.gz
module=$(sed -n 's/^module //p' tenon-go/go.mod)
cat > main.go << EOF
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"$module"
)

func main() {
	model, err := tenon.OpenModel(os.Args[1], nil)
	if err != nil {
		panic(err)
	}
	session, err := tenon.NewSession(model, nil)
	if err != nil {
		panic(err)
	}
	for piece, err := range session.Generate(context.Background(), "Once upon a time", &tenon.GenerateOptions{
		MaxTokens: 4, Sampling: &tenon.SamplerOptions{Temperature: tenon.Set(0.0)}}) {
		if err != nil {
			panic(err)
		}
		fmt.Print(piece.Text)
	}
	library, _ := tenon.Library()
	fmt.Print(" by ", library)
	server, err := tenon.NewServer(nil)
	if err != nil {
		panic(err)
	}
	if err := errors.Join(server.Add("demo", model, nil, 0), server.Start(0)); err != nil {
		panic(err)
	}
	answer, err := server.Request(context.Background(), tenon.ServerRequest{Method: "GET", Target: "/v1/models"})
	if err != nil {
		panic(err)
	}
	fmt.Println(" server:", answer.Status)
}
EOF
go mod init example 2> /dev/null
go mod edit -require "$module@v0.0.0" -replace "$module=./tenon-go"
go mod tidy 2> /dev/null
CGO_ENABLED=0 go build -o program .
rm -r tenon-go
came=$(./program "$root/examples/models/demo-q8_0.gguf")
echo "$came"
[[ $came == " there was a lonely by the package's own libtenon.so."*" server: 200" ]]
