package config

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dogwatch/dogwatch/internal/infra/password"
	"github.com/dogwatch/dogwatch/internal/infra/queue"
)

// Key is one thing that can be configured.
type Key struct {
	Name    string // in the file
	Env     string // "" when it has none
	Flag    string // "" when it has none
	Allowed string // what a value may be, for errors
	Secret  bool   // errors do not repeat the value
	set     func(cfg *Config, value string) bool
}

// keys lists every key of the file but providers, which is a list.
var keys = []Key{
	{Name: "listen", Env: "DOGWATCH_LISTEN", Flag: "listen", Allowed: "host:port, such as 127.0.0.1:8420; port 0 picks a free one",
		set: func(c *Config, v string) bool { return setIf(&c.Listen, v, isAddress(v)) }},
	{Name: "data", Env: "DOGWATCH_DATA", Flag: "data", Allowed: "a directory",
		set: func(c *Config, v string) bool { return setIf(&c.Data, v, v != "" && !strings.ContainsRune(v, 0)) }},
	{Name: "databaseUrl", Env: "DOGWATCH_DATABASE_URL", Allowed: "the address of a Postgres 15 or newer, such as postgres://user:password@host:5432/dogwatch", Secret: true,
		set: func(c *Config, v string) bool { return setIf(&c.DatabaseURL, v, isPostgres(v)) }},
	{Name: "redisUrl", Env: "DOGWATCH_REDIS_URL", Allowed: "redis://host:6379/0, rediss://host:6380/0, redis-sentinel://host1:26379,host2:26379?master=name, or redis://host1:6379?addr=host2:6379 for a cluster", Secret: true,
		set: func(c *Config, v string) bool { return setIf(&c.RedisURL, v, isRedis(v)) }},
	{Name: "adminToken", Env: "DOGWATCH_ADMIN_TOKEN", Allowed: "24 to 200 printable ASCII characters without spaces", Secret: true,
		set: func(c *Config, v string) bool { return setIf(&c.AdminToken, v, isToken(v)) }},
	{Name: "adminEmail", Env: "DOGWATCH_ADMIN_EMAIL", Allowed: "an e-mail address",
		set: func(c *Config, v string) bool { return setIf(&c.AdminEmail, strings.ToLower(v), isEmail(v)) }},
	{Name: "adminPassword", Env: "DOGWATCH_ADMIN_PASSWORD", Allowed: fmt.Sprintf("%d to %d bytes", password.Min, password.Max), Secret: true,
		set: func(c *Config, v string) bool {
			return setIf(&c.AdminPassword, v, len(v) >= password.Min && len(v) <= password.Max)
		}},
	{Name: "secretKey", Env: "DOGWATCH_SECRET_KEY", Allowed: "32 bytes in hexadecimal or base64, such as `openssl rand -hex 32` prints", Secret: true,
		set: func(c *Config, v string) bool { var ok bool; c.SecretKey, ok = ParseSecretKey(v); return ok }},
	{Name: "blobUrl", Env: "DOGWATCH_BLOB_URL", Allowed: "a folder, as a path or file:// address",
		set: func(c *Config, v string) bool { return setFolder(&c.BlobDir, v) }},
	{Name: "model", Env: "DOGWATCH_MODEL", Allowed: modelAllowed,
		set: func(c *Config, v string) bool { return setIf(&c.Models.DefaultModel, v, isModel(v)) }},
	{Name: "prices", Env: "DOGWATCH_PRICES", Allowed: "the path of a price list like config/prices.yaml",
		set: func(c *Config, v string) bool { return setPrices(&c.Models, v) }},
	{Name: "log", Env: "DOGWATCH_LOG", Allowed: "debug, info, warn, error",
		set: func(c *Config, v string) bool {
			return slices.Contains([]string{"debug", "info", "warn", "error"}, v) && c.Log.UnmarshalText([]byte(v)) == nil
		}},
	{Name: "logFormat", Env: "DOGWATCH_LOG_FORMAT", Allowed: "text, json",
		set: func(c *Config, v string) bool { return setIf(&c.LogFormat, v, v == "text" || v == "json") }},
	duration("tickInterval", "DOGWATCH_TICK_INTERVAL", 10*time.Millisecond, time.Minute, func(c *Config) *time.Duration { return &c.TickInterval }),
	duration("minHeartbeat", "DOGWATCH_MIN_HEARTBEAT", time.Second, 24*time.Hour, func(c *Config) *time.Duration { return &c.MinHeartbeat }),
	duration("drain", "DOGWATCH_DRAIN", 0, time.Hour, func(c *Config) *time.Duration { return &c.Drain }),
	{Name: "migrate", Env: "DOGWATCH_MIGRATE", Allowed: "on, off",
		set: func(c *Config, v string) bool { return setIf(&c.Migrate, v == "on", v == "on" || v == "off") }},
	{Name: "operations", Env: "DOGWATCH_OPERATIONS", Allowed: "a number from 1 to 1000",
		set: func(c *Config, v string) bool {
			n, err := strconv.Atoi(v)
			return setIf(&c.Operations, n, err == nil && n >= 1 && n <= 1000)
		}},
}

// Keys lists the keys of the file, for those that describe them.
func Keys() []Key { return slices.Clone(keys) }

func duration(name, env string, least, most time.Duration, field func(*Config) *time.Duration) Key {
	return Key{Name: name, Env: env, Allowed: fmt.Sprintf("a duration from %s to %s, such as 90s", short(least), short(most)),
		set: func(c *Config, v string) bool {
			d, err := time.ParseDuration(v)
			return setIf(field(c), d, err == nil && d >= least && d <= most)
		}}
}

// short writes 1m0s as 1m.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func setIf[T any](to *T, v T, ok bool) bool {
	if ok {
		*to = v
	}
	return ok
}

func isAddress(v string) bool {
	_, port, err := net.SplitHostPort(v)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func isPostgres(v string) bool {
	if !strings.HasPrefix(v, "postgres://") && !strings.HasPrefix(v, "postgresql://") && !strings.Contains(v, "=") {
		return false // pgx would take any word as a list of no settings
	}
	_, err := pgxpool.ParseConfig(v)
	return err == nil
}

func isRedis(v string) bool {
	r, err := queue.Dial(v) // connects to nothing yet
	if err == nil {
		_ = r.Close()
	}
	return err == nil
}

// isToken takes what can travel in a header as it stands.
func isToken(v string) bool {
	return len(v) >= 24 && len(v) <= 200 && strings.IndexFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func isEmail(v string) bool {
	a, err := mail.ParseAddress(v)
	return err == nil && a.Address == v && len(v) <= 320
}

func isHTTP(v string) bool {
	u, err := url.Parse(v)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == ""
}

// ParseSecretKey reads 32 bytes as people's tools print them.
func ParseSecretKey(v string) ([]byte, bool) {
	v = strings.TrimSpace(v)
	if b, err := hex.DecodeString(v); err == nil && len(b) == 32 {
		return b, true
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(v); err == nil && len(b) == 32 {
			return b, true
		}
	}
	return nil, false
}

func setFolder(to *string, v string) bool {
	if scheme, _, ok := strings.Cut(v, "://"); ok {
		u, err := url.Parse(v)
		if err != nil || scheme != "file" || u.Host != "" || u.Path == "" {
			return false
		}
		v = u.Path
	}
	return setIf(to, v, v != "")
}
