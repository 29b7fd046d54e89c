package config

import (
	"fmt"
	"strings"
)

// Problem is one value that cannot be used.
type Problem struct {
	Key     string // as it was given: --listen, DOGWATCH_LISTEN, config/dogwatch.yaml:3: listen
	Value   string // as it was given, or what may be shown of it
	Allowed string
}

func (p Problem) String() string {
	if p.Value == "" {
		return fmt.Sprintf("%s: %s", p.Key, p.Allowed)
	}
	return fmt.Sprintf("%s: %s is not usable; allowed is %s", p.Key, p.Value, p.Allowed)
}

// Error says everything that is wrong with the configuration at once, so that it
// is mended in one go. The command turns it into exit code 2.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (e *Error) add(key, value, allowed string) {
	e.Problems = append(e.Problems, Problem{key, value, allowed})
}

// set gives a key its value, or notes what is wrong with it.
func (e *Error) set(k Key, cfg *Config, as, value string) {
	if k.set(cfg, value) {
		return
	}
	shown := fmt.Sprintf("%q", value)
	if k.Secret {
		shown = fmt.Sprintf("a value of %d characters", len([]rune(value)))
	}
	e.add(as, shown, k.Allowed)
}
