package daemon

import (
	"log/slog"
	"os"

	"github.com/gavel-ads/gavel/node/config"
)

// newLogger returns a logger to standard error: text on a terminal, JSON otherwise, unless the configuration selects
// one. An unknown level is impossible here, because the configuration refuses it.
func newLogger(c config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" || c.Format == "auto" && !isTerminal(os.Stderr) {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

// isTerminal reports whether f is a character device: a terminal is one, a pipe or a regular file is not.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
