package tenon

import (
	"fmt"
	"strings"
)

// Opt is an optional value: Set makes one.
type Opt[T any] struct {
	value T
	isSet bool
}

// Set is for options: tenon.SamplerOptions{Temperature: tenon.Set(0.0)}.
func Set[T any](value T) Opt[T] { return Opt[T]{value, true} }

type optionSet interface {
	apply(set func(key string, value any))
}

func applyExtra(extra map[string]any, set func(key string, value any)) {
	for key, value := range extra {
		set(key, value)
	}
}

// optionsHandle makes a set of options; nil for the defaults. The caller destroys it.
func optionsHandle(given optionSet) (*handle, error) {
	var options *handle
	var err error
	given.apply(func(key string, value any) {
		if options == nil && err == nil {
			options, err = optionsCreate()
		}
		if err == nil {
			err = setOption(options, key, value)
		}
	})
	if err != nil && options != nil {
		options.destroy()
	}
	return options, err
}

func setOption(options *handle, key string, value any) error {
	switch value := value.(type) {
	case bool:
		number := int32(0)
		if value {
			number = 1
		}
		return optionsSetBool(options, key, number)
	case int:
		return optionsSetInt(options, key, int64(value))
	case int64:
		return optionsSetInt(options, key, value)
	case float64:
		return optionsSetFloat(options, key, value)
	case string:
		return optionsSetString(options, key, value)
	case []string:
		for _, item := range value {
			if err := optionsAddString(options, key, item); err != nil {
				return err
			}
		}
		return nil
	}
	return notAnOption(key, value)
}

func notAnOption(key string, value any) error {
	return failed(ErrArgument, "option %s: a %T is no value of an option", key, value)
}

// optionLines are the options as lines of "key=value"; a list has a line per text.
func optionLines(given optionSet) (string, error) {
	var lines strings.Builder
	var err error
	given.apply(func(key string, value any) {
		texts, _ := value.([]string)
		switch value.(type) {
		case []string:
		case bool, int, int64, float64, string:
			texts = []string{fmt.Sprint(value)}
		default:
			err = notAnOption(key, value)
		}
		for _, text := range texts {
			if strings.ContainsRune(key+text, '\n') {
				err = failed(ErrArgument, "option %s: a line break cannot be in it here", key)
			}
			fmt.Fprintf(&lines, "%s=%s\n", key, text)
		}
	})
	return lines.String(), err
}

// withOptions makes an object with a set of options, which is freed afterwards.
func withOptions(given optionSet, create func(options *handle) (*handle, error)) (*handle, error) {
	options, err := optionsHandle(given)
	if err != nil {
		return nil, err
	}
	if options != nil {
		defer options.destroy()
	}
	return create(options)
}
