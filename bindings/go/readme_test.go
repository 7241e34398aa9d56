package tenon

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What README.md shows, run from top to bottom beside the demo model; and the programs of examples.

// useLibrary is the first statement of a program that uses the tests' library.
func useLibrary() string {
	return fmt.Sprintf("if err := tenon.UseLibrary(%q); err != nil {\npanic(err)\n}\n", must(Library()))
}

// goCommand runs the go command in a folder.
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
	if len(blocks) != 8 || strings.Count(blocks[0][1], "\n") > 5 {
		t.Fatalf("%d blocks, the first of %d lines", len(blocks), strings.Count(blocks[0][1], "\n"))
	}
	body := "var err error\n"
	for _, block := range blocks {
		body += block[1] + "if err != nil {\npanic(err)\n}\n"
	}
	// One `err` for all, as a reader would have it after checking each.
	body = regexp.MustCompile(`(?m)^(\w+), err := `).ReplaceAllString(body, "$1, err := ")
	program := "package main\n\nimport (\n\"context\"\n\"encoding/json\"\n\"fmt\"\n\"sync\"\n\"time\"\n\n" + quotedModule() + "\n)\n\n" +
		"func main() {\n" + useLibrary() + body + "_, _ = text, engine\n}\n"
	folder := t.TempDir()
	moduleOf(t, folder, program)
	goCommand(t, folder, "build", "-o", "readme", ".")
	command := exec.Command(filepath.Join(folder, "readme"))
	command.Dir = filepath.Dir(demo)
	out, err := command.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "The capital of Norway is") || !strings.Contains(string(out), " there was a") || !strings.Contains(string(out), "get_weather") ||
		!strings.Contains(string(out), "data: [DONE]") {
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

// A static program that calls dlopen crashes in it.
func TestAStaticProgramIsRefusedWithASentence(t *testing.T) {
	folder := t.TempDir()
	program := "package main\n\nimport (\n\"fmt\"\n\n" + quotedModule() + "\n)\n\nfunc main() {\n" + useLibrary() +
		"_, err := tenon.Version()\nfmt.Println(err)\n}\n"
	moduleOf(t, folder, program)
	for _, tags := range []string{"", "tenon_cgo"} {
		command := exec.Command("go", "build", "-tags", tags, "-ldflags", "-extldflags=-static", "-o", "static", ".")
		command.Dir = folder
		command.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "CGO_ENABLED=1")
		if out, err := command.CombinedOutput(); err != nil {
			t.Skipf("nothing here links static programs: %s", out)
		}
		out, err := exec.Command(filepath.Join(folder, "static")).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "this program is linked statically") {
			t.Errorf("tags %q: %v: %.500s", tags, err, out)
		}
	}
}

// quotedModule is the path of this module, as go.mod has it, in quotes.
func quotedModule() string {
	line, _, _ := strings.Cut(string(must(os.ReadFile("go.mod"))), "\n")
	return strconv.Quote(strings.TrimPrefix(line, "module "))
}

// moduleOf makes a module of a program that uses this package.
func moduleOf(t *testing.T, folder, program string) {
	t.Helper()
	module := fmt.Sprintf("module example\n\ngo 1.25.0\n\nrequire %[1]s v0.0.0\n\nreplace %[1]s => %[2]s\n", quotedModule(),
		must(os.Getwd()))
	for name, text := range map[string]string{"main.go": program, "go.mod": module} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
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
	// Output: there was a lonely owl named Omar.
}
