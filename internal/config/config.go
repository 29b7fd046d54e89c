// Package config reads what an operator decided: flags before environment
// before file before defaults. What cannot be used is an error that names the
// key, the value and what is allowed; nothing is guessed and nothing ignored.
//
// There are few keys on purpose. What nobody has needed to change is a constant
// where it is used.
package config

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/infra/llm"
)

// Config is all that can be configured.
type Config struct {
	Listen        string // "host:port"; port 0 picks a free one
	Data          string // absolute
	DatabaseURL   string // "" runs the embedded Postgres
	RedisURL      string // "" runs the queue in this process
	AdminToken    string // "" makes one
	AdminEmail    string
	AdminPassword string // "" makes one
	SecretKey     []byte // 32 bytes; nil makes one
	BlobDir       string // absolute
	Models        llm.Config
	Log           slog.Level
	LogFormat     string // "text" or "json"
	TickInterval  time.Duration
	MinHeartbeat  time.Duration
	Drain         time.Duration
	Migrate       bool
	Operations    int // agents' steps at once in one process
}

// defaults, each with its reason. Models are the exception: what there is
// depends on which providers are configured (see models.go).
func defaults() Config {
	return Config{
		// Loopback: whoever wants to serve others says so. The port is unassigned,
		// and is not one of those that every other program starts on.
		Listen: "127.0.0.1:8420",
		// Beside the program, seen at once by who tries it out; a package sets /var/lib/dogwatch.
		Data: "data",
		// No mail is sent to it; the first admin changes it in the dashboard.
		AdminEmail: "admin@localhost",
		Log:        slog.LevelInfo,
		LogFormat:  "text",
		// Cron promises minutes and heartbeats seconds; one look a second costs one
		// index scan and keeps every start within a second of its time.
		TickInterval: time.Second,
		// The dashboards that this follows stop at ten minutes; somebody who tries
		// things out wants to see the second run before the coffee is cold.
		MinHeartbeat: 10 * time.Second,
		// Between what systemd (90 s) and Kubernetes (30 s) wait before they kill.
		Drain:   20 * time.Second,
		Migrate: true,
		// A step waits for a model nearly all of its life, so this is a bound on
		// memory (about 1 MB each) and on connections to providers, not on cores.
		Operations: 64,
	}
}

// DefaultFile is read when it is there and no other file is named.
const DefaultFile = "config/dogwatch.yaml"

// Source is where values come from.
type Source struct {
	Flags  map[string]string   // those that were given, by name
	Getenv func(string) string // nil: the process's environment
}

func (s Source) env(name string) string {
	if s.Getenv == nil {
		return os.Getenv(name)
	}
	return s.Getenv(name)
}

// Load reads the configuration. Its error is an *Error.
func Load(src Source) (Config, error) {
	cfg := defaults()
	var problems Error
	providers := problems.readFile(src, &cfg)
	for _, k := range keys {
		if v := src.env(k.Env); k.Env != "" && v != "" {
			problems.set(k, &cfg, k.Env, v)
		}
	}
	for _, k := range keys {
		if v, ok := src.Flags[k.Flag]; ok && k.Flag != "" {
			problems.set(k, &cfg, "--"+k.Flag, v)
		}
	}
	problems.models(src, &cfg, providers)
	if len(problems.Problems) > 0 {
		return Config{}, &problems
	}
	var err error
	if cfg.Data, err = filepath.Abs(cfg.Data); err != nil {
		return Config{}, err
	}
	if cfg.BlobDir == "" {
		cfg.BlobDir = filepath.Join(cfg.Data, "blobs")
	}
	cfg.BlobDir, err = filepath.Abs(cfg.BlobDir)
	return cfg, err
}

// Client is how the client commands reach an instance.
type Client struct {
	URL   string // without a slash at the end
	Token string
	Data  string // where URL and Token come from when they are not given; "" when they are
}

// Files in the data directory that tell programs of this host how to reach the
// instance that runs on it.
const (
	AddressFile    = "address"
	AdminTokenFile = "admin-token"
)

// LoadClient finds the instance that client commands talk to: DOGWATCH_URL and
// DOGWATCH_TOKEN, else the local instance. The local admin's token is never
// sent to an address that was named by hand.
func LoadClient(src Source) (Client, error) {
	c := Client{URL: src.env("DOGWATCH_URL"), Token: src.env("DOGWATCH_TOKEN")}
	for flag, to := range map[string]*string{"url": &c.URL, "token": &c.Token} {
		if v, ok := src.Flags[flag]; ok {
			*to = v
		}
	}
	if c.URL != "" {
		c.URL = strings.TrimRight(c.URL, "/")
		if !isHTTP(c.URL) {
			return Client{}, &Error{[]Problem{{"DOGWATCH_URL", strconv.Quote(c.URL), "an address such as http://127.0.0.1:8420"}}}
		}
		return c, nil
	}
	cfg, err := Load(src)
	if err != nil {
		return Client{}, err
	}
	c.Data = cfg.Data
	address, err := os.ReadFile(filepath.Join(cfg.Data, AddressFile))
	if err != nil {
		return Client{}, &NoInstanceError{Data: cfg.Data, Err: err}
	}
	c.URL = strings.TrimRight(strings.TrimSpace(string(address)), "/")
	if c.Token == "" {
		token, err := os.ReadFile(filepath.Join(cfg.Data, AdminTokenFile))
		if err != nil {
			return Client{}, &NoInstanceError{Data: cfg.Data, Err: err}
		}
		c.Token = strings.TrimSpace(string(token))
	}
	return c, nil
}

// NoInstanceError says that no instance was ever started on a data directory, or
// that its files are not ours to read. The command turns it into exit code 3.
type NoInstanceError struct {
	Data string
	Err  error
}

func (e *NoInstanceError) Error() string {
	return fmt.Sprintf("no instance was found in %s (%s); try: dogwatch up, --data or DOGWATCH_DATA for another directory, or DOGWATCH_URL and DOGWATCH_TOKEN",
		e.Data, reason(e.Err))
}

func (e *NoInstanceError) Unwrap() error { return e.Err }

// BaseURL is the address that people on this host open for a listener at addr.
func BaseURL(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "http://" + addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // a listener on [::] takes IPv4 as well
	}
	return "http://" + net.JoinHostPort(host, port)
}
