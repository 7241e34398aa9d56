package tenon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// What all tests share. TENON_LIBRARY names the library; TENON_TEST_EXIT has the process be a child that ends while
// its requests run (scenarios_test.go).

const once = "Once upon a time"

var root = func() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}()

var demo = filepath.Join(root, "examples/models/demo-q8_0.gguf")

func TestMain(m *testing.M) {
	if path := os.Getenv("TENON_LIBRARY"); path != "" {
		if err := UseLibrary(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	if os.Getenv("TENON_TEST_EXIT") != "" {
		exitUnderWay()
	}
	status := m.Run()
	reportLeaks()
	os.Exit(status)
}

// reportLeaks has LeakSanitizer write its report where bindings/asan.sh has put it into the process: Go ends without
// what C does at exit.
func reportLeaks() {
	if os.Getenv("TENON_REPORT_LEAKS") == "" {
		return
	}
	for range 5 {
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
	check := symbolOf(0, "__lsan_do_recoverable_leak_check") // 0: in the whole process
	if check == 0 {
		panic("no LeakSanitizer is in the process")
	}
	callText(check)
}

// must is for what a test takes for granted.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func openDemo(t testing.TB, options *ModelOptions) *Model {
	t.Helper()
	model, err := OpenModel(demo, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return model
}

func openSession(t testing.TB) *Session {
	t.Helper()
	return must(NewSession(openDemo(t, &ModelOptions{Threads: Set(2)}), nil))
}

func wantCode(t *testing.T, err error, code Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("got %v, not %v", err, code)
	}
}

var greedy = &SamplerOptions{Temperature: Set(0.0)}

// exitUnderWay is a process that ends while its requests run, and says when it began to.
func exitUnderWay() {
	engine := must(NewEngine(must(OpenModel(demo, nil)), nil))
	prompt := ""
	for range 400 {
		prompt += "word "
	}
	for range 4 {
		go func() {
			for range engine.Stream(context.Background(), prompt, nil) {
				continue
			}
		}()
	}
	if os.Getenv("TENON_TEST_EXIT") == "server" {
		server := must(NewServer(nil))
		must(server.Listen("127.0.0.1", 0))
		if err := errors.Join(server.AddEngine("demo", engine, 0), server.Start(0)); err != nil {
			panic(err)
		}
		must(server.Request(context.Background(), ServerRequest{Method: "POST", Target: chatPath, Body: endless}))
	}
	time.Sleep(20 * time.Millisecond)
	fmt.Println(time.Now().UnixNano())
	os.Exit(3)
}
