package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readFile sets what the file says and returns its list of providers. The file
// is walked by hand because a decoder's complaint about a struct of ours would
// not tell a person what to write instead.
func (e *Error) readFile(src Source, cfg *Config) []provider {
	name, named := src.Flags["config"]
	if !named {
		name = src.env("DOGWATCH_CONFIG")
		named = name != ""
	}
	if !named {
		name = DefaultFile
	}
	content, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil
	}
	if err != nil {
		e.add("the configuration file "+name, "", "it cannot be read: "+reason(err))
		return nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		e.add(name, "", "it is not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	if len(doc.Content) == 0 { // nothing but comments
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		e.add(name, "", "it has to be a list of `key: value`")
		return nil
	}
	var providers []provider
	seen := map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		at := fmt.Sprintf("%s:%d: %s", name, key.Line, key.Value)
		if seen[key.Value] {
			e.add(at, "", "the key is there twice")
			continue
		}
		seen[key.Value] = true
		if key.Value == "providers" {
			providers = e.readProviders(at, name, value)
			continue
		}
		at2 := slices.IndexFunc(keys, func(k Key) bool { return k.Name == key.Value })
		switch {
		case at2 < 0:
			e.unknown(at, key.Value, keyNames())
		case value.Kind != yaml.ScalarNode:
			e.add(at, "a list or a map", keys[at2].Allowed)
		case value.Tag == "!!null": // `key:` alone leaves the default
		case keys[at2].Name == "migrate" && value.Tag == "!!bool": // YAML 1.1 habits
			e.set(keys[at2], cfg, at, map[string]string{"true": "on", "false": "off"}[strings.ToLower(value.Value)])
		default:
			e.set(keys[at2], cfg, at, value.Value)
		}
	}
	return providers
}

func keyNames() []string {
	names := []string{"providers"}
	for _, k := range keys {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return names
}

func (e *Error) unknown(at, key string, known []string) {
	hint := ""
	if k := nearest(key, known); k != "" {
		hint = fmt.Sprintf("; did you mean %s?", k)
	}
	e.add(at, "", fmt.Sprintf("unknown key %q%s Known are %s", key, orStop(hint), strings.Join(known, ", ")))
}

func orStop(hint string) string {
	if hint == "" {
		return "."
	}
	return hint
}

// nearest returns the known word that key is most likely a slip of, "" for none.
func nearest(key string, known []string) string {
	best, least := "", 3 // two slips at most
	for _, k := range known {
		if strings.EqualFold(strings.NewReplacer("_", "", "-", "").Replace(key), k) {
			return k
		}
		if d := distance(key, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is Levenshtein's: inserts, deletes and replacements from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j+1]+1, row[j]+1, replaced)
		}
	}
	return row[len(b)]
}

// reason is the cause of a file error without the path, which is said already.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
