package tenon

// Metadata is the metadata of the model's file: bool, int64, uint64, float64, string, or []any of
// them.
func (m *Model) Metadata() (map[string]any, error) {
	count := modelMetadataCount(m.handle)
	values := make(map[string]any, count)
	for index := range count {
		entry, err := modelMetadata(m.handle, index)
		if err != nil {
			return nil, err
		}
		if values[entry.Key], err = metadataOf(m.handle, index, entry); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// MetadataValue is the value of one key; ErrArgument if the model has no such key.
func (m *Model) MetadataValue(key string) (any, error) {
	index, err := modelFindMetadata(m.handle, key)
	if err != nil {
		return nil, err
	}
	entry, err := modelMetadata(m.handle, index)
	if err != nil {
		return nil, err
	}
	return metadataOf(m.handle, index, entry)
}

func metadataOf(model *handle, index int, entry metadataEntry) (any, error) {
	if entry.Type != ValueArray {
		value, err := modelMetadataValue(model, index, 0)
		return value.plain(), err
	}
	elements := make([]any, entry.NumElements)
	for i := range elements {
		value, err := modelMetadataValue(model, index, uint64(i))
		if err != nil {
			return nil, err
		}
		elements[i] = value.plain()
	}
	return elements, nil
}

func (v metadataValue) plain() any {
	switch v.Type {
	case ValueString:
		return v.Text
	case ValueBool:
		return v.Integer != 0
	case ValueFloat32, ValueFloat64:
		return v.Number
	case ValueUint64:
		return uint64(v.Integer)
	}
	return v.Integer
}
