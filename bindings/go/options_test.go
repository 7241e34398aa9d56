package tenon

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// sampleOption is a value of an option, and what recording.py's library writes of it.
type sampleOption struct {
	Scope, Name string
	Value       json.RawMessage
	Lines       []string
}

// set puts the value into the field of a struct of options.
func (s sampleOption) set(t *testing.T, options optionSet) {
	t.Helper()
	fields := reflect.ValueOf(options).Elem()
	if strings.Contains(s.Name, ".") {
		var value any
		parseJSON(t, s.Value, &value)
		fields.FieldByName("Extra").Set(reflect.ValueOf(map[string]any{s.Name: value}))
		return
	}
	wanted := strings.ReplaceAll(s.Name, "_", "")
	field := fields.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, wanted) })
	if !field.IsValid() {
		t.Fatalf("%T has no %s", options, s.Name)
	}
	switch field := field.Addr().Interface().(type) {
	case *Opt[int]:
		parseJSON(t, s.Value, &field.value)
		field.isSet = true
	case *Opt[int64]:
		parseJSON(t, s.Value, &field.value)
		field.isSet = true
	case *Opt[float64]:
		parseJSON(t, s.Value, &field.value)
		field.isSet = true
	case *Opt[bool]:
		parseJSON(t, s.Value, &field.value)
		field.isSet = true
	case *Opt[string]:
		parseJSON(t, s.Value, &field.value)
		field.isSet = true
	case *[]string:
		parseJSON(t, s.Value, field)
	default:
		t.Fatalf("%s is a %T", s.Name, field)
	}
}

func parseJSON(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// Every option comes to the library as it was given: name, kind and value. The library that writes them down is used by
// a process of its own, which runs this test again.
func TestEveryOptionComesToTheLibraryAsItWasGiven(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	record := os.Getenv("TENON_RECORD")
	if record == "" {
		folder := t.TempDir()
		library := must(filepath.EvalSymlinks(must(Library())))
		if out, err := exec.Command(python, "-B", "../recording.py", library, folder).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		again := exec.Command(must(os.Executable()), "-test.run", "^"+t.Name()+"$", "-test.v")
		again.Env = append(os.Environ(), "TENON_RECORD="+filepath.Join(folder, "record"),
			"TENON_LIBRARY="+filepath.Join(folder, "libtenon.so"))
		if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	var samples []sampleOption
	parseJSON(t, must(exec.Command(python, "-B", "../recording.py", "--samples").Output()), &samples)
	if len(samples) < 79 {
		t.Fatalf("%d options", len(samples))
	}
	for _, sample := range samples {
		options := map[string]optionSet{"model": &ModelOptions{}, "session": &SessionOptions{}, "engine": &EngineOptions{},
			"sampler": &SamplerOptions{}, "chat": &ChatOptions{}, "embedder": &EmbedderOptions{}}[sample.Scope]
		sample.set(t, options)
		if err := os.WriteFile(record, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if set, err := optionsHandle(options); err == nil && set != nil {
			set.destroy()
		}
		lines := strings.FieldsFunc(string(must(os.ReadFile(record))), func(letter rune) bool { return letter == '\n' })
		if !slices.Equal(lines, sample.Lines) {
			t.Errorf("%s: %q came, not %q", sample.Name, lines, sample.Lines)
		}
	}
}
