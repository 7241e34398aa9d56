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
	os.Exit(m.Run())
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
	time.Sleep(20 * time.Millisecond)
	fmt.Println(time.Now().UnixNano())
	os.Exit(3)
}
