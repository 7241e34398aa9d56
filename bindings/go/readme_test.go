package tenon

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What README.md shows, run from top to bottom beside the demo model; and the programs of examples.

// useLibrary is the first statement of a program that uses the tests' library.
func useLibrary() string {
	return fmt.Sprintf("if err := tenon.UseLibrary(%q); err != nil {\npanic(err)\n}\n", must(Library()))
}

// goCommand runs the go command in a folder, with the tags and the race detector of this test.
func goCommand(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	command := exec.Command("go", arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", arguments, err, out)
	}
	return string(out)
}

func TestWhatTheReadmeShowsRuns(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(
		string(must(os.ReadFile("README.md"))), -1)
	if len(blocks) != 6 || strings.Count(blocks[0][1], "\n") > 5 {
		t.Fatalf("%d blocks, the first of %d lines", len(blocks), strings.Count(blocks[0][1], "\n"))
	}
	body := "var err error\n"
	for _, block := range blocks {
		body += block[1] + "if err != nil {\npanic(err)\n}\n"
	}
	// One `err` for all, as a reader would have it after checking each.
	body = regexp.MustCompile(`(?m)^(\w+), err := `).ReplaceAllString(body, "$1, err := ")
	program := "package main\n\nimport (\n\"context\"\n\"encoding/json\"\n\"fmt\"\n\"sync\"\n\"tenon\"\n)\n\n" +
		"func main() {\n" + useLibrary() + body + "_, _ = text, engine\n}\n"
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	here := must(os.Getwd())
	module := "module example\n\ngo 1.25.0\n\nrequire tenon v0.0.0\n\nreplace tenon => " + here + "\n"
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(module), 0o600); err != nil {
		t.Fatal(err)
	}
	goCommand(t, folder, "build", "-o", "readme", ".")
	command := exec.Command(filepath.Join(folder, "readme"))
	command.Dir = filepath.Dir(demo)
	out, err := command.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), " there was a") || !strings.Contains(string(out), "get_weather") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestTheExamplesRun(t *testing.T) {
	folder := t.TempDir()
	goCommand(t, ".", "build", "-o", folder+"/", "./examples/...")
	// They use the system's library, which is the tests' one here.
	library := must(Library())
	if err := os.Symlink(must(filepath.Abs(library)), filepath.Join(folder, "libtenon.so.0.1")); err != nil {
		t.Fatal(err)
	}
	for _, example := range []struct {
		arguments     []string
		input, wanted string
	}{
		{[]string{"chat", demo}, "What is the capital of Norway?\n", "The capital of Norway is Oslo."},
		{[]string{"json", demo, "Mia is 41 years old."}, "", "Mia is 41\n"},
		{[]string{"tools", demo, "What is the weather in Oslo?"}, "", "calling get_weather({\"city\": \"Oslo\"})"},
		{[]string{"search", demo, "a fox", "the sea", "a fox"}, "", "1.000 a fox\n"},
		{[]string{"many", demo, "Once upon a time", "One day"}, "", "2 requests in "},
	} {
		command := exec.Command(filepath.Join(folder, example.arguments[0]), example.arguments[1:]...)
		command.Stdin = strings.NewReader(example.input)
		command.Env = append(os.Environ(), "LD_LIBRARY_PATH="+folder)
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), example.wanted) {
			t.Errorf("%s: %v\n%s", example.arguments[0], err, out)
		}
	}
}

func Example() {
	model, err := OpenModel(demo, nil)
	if err != nil {
		panic(err)
	}
	session, err := NewSession(model, nil)
	if err != nil {
		panic(err)
	}
	options := &GenerateOptions{MaxTokens: 8, Sampling: &SamplerOptions{Temperature: Set(0.0)}}
	for piece, err := range session.Generate(context.Background(), "Once upon a time", options) {
		if err != nil {
			panic(err)
		}
		fmt.Print(piece.Text)
	}
	// Output: there was a proud squirrel named Iris.
}
