package config

import (
	"slices"
	"strings"
)

// others are names in the environment that are read elsewhere: by the client
// commands, by what looks for Postgres, and by the project's own tests.
var others = []string{
	"DOGWATCH_CONFIG", "DOGWATCH_URL", "DOGWATCH_TOKEN", "DOGWATCH_PG_BINDIR",
	"DOGWATCH_KILL", "DOGWATCH_CI", "DOGWATCH_SOAK", "DOGWATCH_MEASURE", "DOGWATCH_CASES", "DOGWATCH_E2E_", "DOGWATCH_TEST_",
}

// Strangers returns the names in an environment (as [os.Environ] gives it) that look
// like settings and are none, sorted: most are settings that somebody mistyped.
func Strangers(environ []string) []string {
	var out []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "DOGWATCH_") || slices.ContainsFunc(keys, func(k Key) bool { return k.Env == name }) {
			continue
		}
		if !slices.ContainsFunc(others, func(o string) bool { return name == o || strings.HasSuffix(o, "_") && strings.HasPrefix(name, o) }) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
