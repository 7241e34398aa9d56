package tenon

import "context"

// Backends, options, and models of random weights.

// Backends lists the backends of this machine; refused plugins with the reason. options: nil, or
// with Plugin.
func Backends(options *ModelOptions) ([]BackendInfo, error) {
	list, err := withOptions(options, backendsCreate)
	if err != nil {
		return nil, err
	}
	defer list.destroy()
	infos := make([]BackendInfo, backendsCount(list))
	for i := range infos {
		if infos[i], err = backendsGetInfo(list, i); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// KnownOptions lists the options of the library in use, with their ranges.
func KnownOptions() ([]OptionInfo, error) {
	infos := make([]OptionInfo, optionCount())
	for i := range infos {
		var err error
		if infos[i], err = optionGetInfo(i); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// WriteRandomModel writes a model file with random weights: to measure a machine or to test a
// program. progress, which may be nil, gets 0 to 1.
func WriteRandomModel(ctx context.Context, path, shape, format string, seed uint64,
	progress func(fraction float64) error) error {
	return randomModelWrite(path, shape, format, seed, func(fraction float64) error {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if progress != nil {
			return progress(fraction)
		}
		return nil
	})
}

// RandomModels lists the shapes and weight formats that WriteRandomModel takes.
func RandomModels() (shapes, formats []string) {
	for name := randomModelShape(0); name != ""; name = randomModelShape(len(shapes)) {
		shapes = append(shapes, name)
	}
	for name := randomModelFormat(0); name != ""; name = randomModelFormat(len(formats)) {
		formats = append(formats, name)
	}
	return shapes, formats
}
