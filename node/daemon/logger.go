package daemon

import (
	"log/slog"
	"os"

	"github.com/gavel-ads/gavel/node/config"
)

// newLogger writes to standard error: text for people, JSON for collectors. An unknown level was refused by the
// configuration.
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

// isTerminal is true for a character device, which is what a terminal is and a pipe or a file is not.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
