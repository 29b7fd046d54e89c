package config

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// given is a source with a file of that content ("" for none), an environment
// and flags.
func given(t *testing.T, file string, env, flags map[string]string) Source {
	t.Helper()
	t.Chdir(t.TempDir())
	if file != "" {
		if err := os.MkdirAll("config", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(DefaultFile, []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Source{Flags: flags, Getenv: func(k string) string { return env[k] }}
}

type m = map[string]string

func TestFlagBeforeEnvironmentBeforeFileBeforeDefault(t *testing.T) {
	file := "listen: 127.0.0.1:1\ndrain: 1s\n"
	for _, tt := range []struct {
		name       string
		file       string
		env, flags m
		want       string
	}{
		{name: "default", want: "127.0.0.1:8420"},
		{name: "file", file: file, want: "127.0.0.1:1"},
		{name: "environment", file: file, env: m{"DOGWATCH_LISTEN": "127.0.0.1:2"}, want: "127.0.0.1:2"},
		{name: "flag", file: file, env: m{"DOGWATCH_LISTEN": "127.0.0.1:2"}, flags: m{"listen": ":0"}, want: ":0"},
		{name: "an empty variable is none", file: file, env: m{"DOGWATCH_LISTEN": ""}, want: "127.0.0.1:1"},
		{name: "a key without a value is none", file: "listen:\n", want: "127.0.0.1:8420"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := Load(given(t, tt.file, tt.env, tt.flags))
			if err != nil || cfg.Listen != tt.want {
				t.Errorf("got %q, %v; want %q", cfg.Listen, err, tt.want)
			}
		})
	}
}

func TestEveryKeyIsTaken(t *testing.T) {
	key := strings.Repeat("ab", 32)
	cfg, err := Load(given(t, `
# everything at once
listen: "[::1]:9000"
data: /srv/watch
databaseUrl: postgres://u:p@db/dogwatch
redisUrl: rediss://:secret@cache:6380/2
adminToken: dw_0123456789012345678901234
adminEmail: Night@Example.org
adminPassword: correct horse
secretKey: `+key+`
blobUrl: file:///srv/blobs
model: house/llama
providers:
  - name: house
    baseUrl: http://127.0.0.1:11434/v1
    dialect: ollama
log: debug
logFormat: json
tickInterval: 250ms
minHeartbeat: 1m
drain: 5s
migrate: off
operations: 8
`, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Listen != "[::1]:9000" || cfg.Data != "/srv/watch" || cfg.DatabaseURL != "postgres://u:p@db/dogwatch" ||
		cfg.RedisURL != "rediss://:secret@cache:6380/2" || cfg.AdminToken != "dw_0123456789012345678901234" ||
		cfg.AdminEmail != "night@example.org" || cfg.AdminPassword != "correct horse" || len(cfg.SecretKey) != 32 ||
		cfg.BlobDir != "/srv/blobs" || cfg.Log != slog.LevelDebug || cfg.LogFormat != "json" ||
		cfg.TickInterval != 250*time.Millisecond || cfg.MinHeartbeat != time.Minute || cfg.Drain != 5*time.Second ||
		cfg.Migrate || cfg.Operations != 8 {
		t.Errorf("got %+v", cfg)
	}
	if len(cfg.Models.Providers) != 1 || cfg.Models.Providers[0].Name != "house" || cfg.Models.DefaultModel != "house/llama" {
		t.Errorf("models: got %+v", cfg.Models)
	}
}

func TestDirectoriesAreAbsolute(t *testing.T) {
	cfg, err := Load(given(t, "", nil, m{"data": "here"}))
	if err != nil {
		t.Fatal(err)
	}
	wd, _ := os.Getwd()
	if cfg.Data != filepath.Join(wd, "here") || cfg.BlobDir != filepath.Join(wd, "here", "blobs") {
		t.Errorf("data %s, blobs %s", cfg.Data, cfg.BlobDir)
	}
}

// An error names the key as it was given, the value, and what is allowed.
func TestErrorsNameKeyValueAndWhatIsAllowed(t *testing.T) {
	for _, tt := range []struct {
		name       string
		file       string
		env, flags m
		want       []string
		hidden     string
	}{
		{name: "unknown key", file: "\nlisten: :0\nlisen: :1\n",
			want: []string{"config/dogwatch.yaml:3: lisen", "unknown key", "did you mean listen?"}},
		{name: "unknown key in another spelling", file: "database_url: x\n", want: []string{"did you mean databaseUrl?"}},
		{name: "unknown key of a provider", file: "providers:\n  - name: a\n    base_url: http://x\n",
			want: []string{":3: providers[0].base_url", "did you mean baseUrl?"}},
		{name: "key twice", file: "listen: :0\nlisten: :1\n", want: []string{":2: listen", "twice"}},
		{name: "not YAML", file: "listen: [", want: []string{"config/dogwatch.yaml", "not YAML"}},
		{name: "not a map", file: "- a\n", want: []string{"key: value"}},
		{name: "list for a value", file: "listen: [a]\n", want: []string{"listen", "host:port"}},
		{name: "file named but missing", flags: m{"config": "nowhere.yaml"}, want: []string{"nowhere.yaml", "no such file"}},
		{name: "file named by the environment", env: m{"DOGWATCH_CONFIG": "gone.yaml"}, want: []string{"gone.yaml"}},
		{name: "flag", flags: m{"listen": "nine"}, want: []string{"--listen", `"nine"`, "host:port"}},
		{name: "port out of range", env: m{"DOGWATCH_LISTEN": "x:70000"}, want: []string{"DOGWATCH_LISTEN", `"x:70000"`}},
		{name: "duration", env: m{"DOGWATCH_DRAIN": "20"}, want: []string{"DOGWATCH_DRAIN", `"20"`, "such as 90s"}},
		{name: "duration too short", env: m{"DOGWATCH_MIN_HEARTBEAT": "1ms"}, want: []string{"from 1s to 24h"}},
		{name: "level", env: m{"DOGWATCH_LOG": "loud"}, want: []string{`"loud"`, "debug, info, warn, error"}},
		{name: "format", env: m{"DOGWATCH_LOG_FORMAT": "xml"}, want: []string{`"xml"`, "text, json"}},
		{name: "switch", env: m{"DOGWATCH_MIGRATE": "maybe"}, want: []string{`"maybe"`, "on, off"}},
		{name: "number", env: m{"DOGWATCH_OPERATIONS": "0"}, want: []string{`"0"`, "1 to 1000"}},
		{name: "size of the pool", env: m{"DOGWATCH_DATABASE_URL": "postgres://u:hunter22@h/d?pool_max_conns=many"}, want: []string{"DOGWATCH_DATABASE_URL"}, hidden: "hunter22"},
		{name: "database", env: m{"DOGWATCH_DATABASE_URL": "mysql://u:hunter22@h/d"}, want: []string{"DOGWATCH_DATABASE_URL", "Postgres 15"}, hidden: "hunter22"},
		{name: "queue", env: m{"DOGWATCH_REDIS_URL": "http://:hunter22@h"}, want: []string{"DOGWATCH_REDIS_URL", "rediss://"}, hidden: "hunter22"},
		{name: "short token", env: m{"DOGWATCH_ADMIN_TOKEN": "hunter22"}, want: []string{"a value of 8 characters", "24 to 200"}, hidden: "hunter22"},
		{name: "short password", env: m{"DOGWATCH_ADMIN_PASSWORD": "hunter2"}, want: []string{"10 to 512"}, hidden: "hunter2"},
		{name: "e-mail", env: m{"DOGWATCH_ADMIN_EMAIL": "nobody"}, want: []string{`"nobody"`, "e-mail"}},
		{name: "secret key", env: m{"DOGWATCH_SECRET_KEY": "hunter22"}, want: []string{"32 bytes"}, hidden: "hunter22"},
		{name: "blobs elsewhere", env: m{"DOGWATCH_BLOB_URL": "ftp://x/y"}, want: []string{`"ftp://x/y"`, "a folder"}},
		{name: "model without provider", env: m{"DOGWATCH_MODEL": "gpt"}, want: []string{`"gpt"`, "provider/model"}},
		{name: "model of nobody", env: m{"DOGWATCH_MODEL": "openai/gpt-5.4-mini"}, want: []string{"OPENAI_API_KEY"}},
		{name: "offline model", env: m{"DOGWATCH_MODEL": "offline/large"}, want: []string{`"offline/large"`, "offline/extractive"}},
		{name: "base URL", env: m{"OPENAI_BASE_URL": "localhost"}, want: []string{"OPENAI_BASE_URL", "base URL"}},
		{name: "provider without name", file: "providers:\n  - kind: openai\n", want: []string{"providers[0].name", "missing"}},
		{name: "provider of an unknown kind", file: "providers:\n  - {name: a, kind: magic}\n", want: []string{"providers[0]", `"magic"`, "openai, anthropic"}},
		{name: "prices", env: m{"DOGWATCH_PRICES": "none.yaml"}, want: []string{`"none.yaml"`, "price list"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(given(t, tt.file, tt.env, tt.flags))
			var ce *Error
			if !errors.As(err, &ce) {
				t.Fatalf("got %v, want a configuration error", err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if tt.hidden != "" && strings.Contains(err.Error(), tt.hidden) {
				t.Errorf("%q shows a secret", err)
			}
		})
	}
}

func TestAllProblemsAreSaidAtOnce(t *testing.T) {
	_, err := Load(given(t, "what: 1\n", m{"DOGWATCH_LOG": "loud"}, m{"listen": "x"}))
	var ce *Error
	if !errors.As(err, &ce) || len(ce.Problems) != 3 {
		t.Errorf("got %v", err)
	}
}

func TestProvidersOfTheEnvironmentComeFirstAndWin(t *testing.T) {
	file := `
providers:
  - {name: house, baseUrl: "http://127.0.0.1:1/v1"}
  - {name: openai, model: big, apiKey: old-key-from-file, baseUrl: "http://127.0.0.1:2/v1"}
`
	cfg, err := Load(given(t, file, m{"OPENAI_API_KEY": "new-key-from-env", "ANTHROPIC_API_KEY": "another-key"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range cfg.Models.Providers {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"openai", "anthropic", "house"}) {
		t.Errorf("got %v", names)
	}
	if p := cfg.Models.Providers[0]; p.APIKey != "new-key-from-env" || p.BaseURL != "http://127.0.0.1:2/v1" || p.DefaultModel != "big" {
		t.Errorf("got %+v", p)
	}
}

func TestSecretKeyAsPeoplesToolsPrintIt(t *testing.T) {
	for _, v := range []string{
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
		"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n",
	} {
		b, ok := ParseSecretKey(v)
		if !ok || len(b) != 32 || b[31] != 31 {
			t.Errorf("%q: %v %v", v, b, ok)
		}
	}
}

func TestClientFindsTheLocalInstance(t *testing.T) {
	src := given(t, "", m{"DOGWATCH_DATA": "d"}, nil)
	_, err := LoadClient(src)
	var none *NoInstanceError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "dogwatch up") {
		t.Errorf("without an instance: got %v", err)
	}
	for name, content := range (m{AddressFile: "http://127.0.0.1:8420\n", AdminTokenFile: "dw_local\n"}) {
		if err := os.MkdirAll("d", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("d", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := LoadClient(src)
	if err != nil || c.URL != "http://127.0.0.1:8420" || c.Token != "dw_local" {
		t.Errorf("got %+v, %v", c, err)
	}
	c, err = LoadClient(Source{Getenv: func(k string) string {
		return m{"DOGWATCH_DATA": "d", "DOGWATCH_URL": "https://elsewhere.example/"}[k]
	}})
	if err != nil || c.URL != "https://elsewhere.example" || c.Token != "" {
		t.Errorf("the local token must not go elsewhere: got %+v, %v", c, err)
	}
	_, err = LoadClient(Source{Getenv: func(k string) string { return m{"DOGWATCH_URL": "elsewhere"}[k] }})
	var ce *Error
	if !errors.As(err, &ce) {
		t.Errorf("a URL without a scheme: got %v", err)
	}
}

func TestBaseURL(t *testing.T) {
	for addr, want := range (m{
		"127.0.0.1:8420": "http://127.0.0.1:8420",
		"0.0.0.0:80":     "http://127.0.0.1:80",
		"[::]:80":        "http://127.0.0.1:80",
		"[::1]:80":       "http://[::1]:80",
	}) {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := BaseURL(a); got != want {
			t.Errorf("%s: got %s, want %s", addr, got, want)
		}
	}
}

// The example describes every key once, is what it says the defaults are, and
// can be used when its comments are taken away.
func TestExampleDescribesEveryKey(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "config", "dogwatch.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var bare []string
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "#"); ok && !strings.HasPrefix(rest, " ") {
			bare = append(bare, rest)
		}
	}
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(strings.Join(bare, "\n")), &doc); err != nil {
		t.Fatal(err)
	}
	var described []string
	for k := range doc {
		described = append(described, k)
	}
	slices.Sort(described)
	if known := keyNames(); !slices.Equal(described, known) {
		t.Errorf("the example describes %v, there are %v", described, known)
	}
	if len(keyNames()) > 20 {
		t.Errorf("%d keys; at most twenty until somebody proves the need for more", len(keyNames()))
	}
	var values []string // those that are not examples of addresses and secrets
	for _, line := range bare {
		for _, k := range []string{"listen", "adminEmail", "log", "logFormat", "tickInterval", "minHeartbeat", "drain", "migrate", "operations"} {
			if strings.HasPrefix(line, k+":") {
				values = append(values, line)
			}
		}
	}
	cfg, err := Load(given(t, strings.Join(values, "\n"), nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	want, err := Load(given(t, "", nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Data, cfg.BlobDir = want.Data, want.BlobDir
	if cfg.Listen != want.Listen || cfg.AdminEmail != want.AdminEmail || cfg.Log != want.Log || cfg.LogFormat != want.LogFormat ||
		cfg.TickInterval != want.TickInterval || cfg.MinHeartbeat != want.MinHeartbeat || cfg.Drain != want.Drain ||
		cfg.Migrate != want.Migrate || cfg.Operations != want.Operations {
		t.Errorf("the example's values are not the defaults: %+v, want %+v", cfg, want)
	}
	given(t, strings.Join(bare, "\n"), nil, nil)
	cfg, err = Load(Source{Getenv: func(string) string { return "" }, Flags: m{}})
	var ce *Error
	if errors.As(err, &ce) {
		for _, p := range ce.Problems {
			if !strings.Contains(p.Key, ": prices") { // names a file that is not there
				t.Errorf("the example, taken as it stands: %s", p)
			}
		}
	} else if err != nil {
		t.Error(err)
	}
}
