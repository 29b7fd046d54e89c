package app

import (
	"io"
	"log/slog"

	"github.com/dogwatch/dogwatch/internal/config"
)

// NewLog makes the log as it is configured.
func NewLog(cfg config.Config, to io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: cfg.Log}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, opts))
	}
	return slog.New(slog.NewTextHandler(to, opts))
}
