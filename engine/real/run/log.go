package run

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
)

// NewLog is a log for people on a terminal: time, the level unless it is information, what happened, and its fields.
//
//	20:41:04.744 checkpoint confirmed generation=1 checkpoint=1 after=378ms transactions=2
func NewLog(w io.Writer, debugLog bool) *slog.Logger {
	level := slog.LevelInfo
	if debugLog {
		level = slog.LevelDebug
	}
	return slog.New(&lines{out: &out{w: w}, level: level})
}

// lines is the handler: one line for each record, written at once, so that a log is whole up to the instant of a kill.
type lines struct {
	out    *out
	level  slog.Level
	fields string // of With, each with a space before it
	group  string // of WithGroup, with a dot at the end
}

type out struct {
	sync.Mutex
	w io.Writer
}

func (h *lines) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

func (h *lines) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Time.Format("15:04:05.000 "))
	if r.Level != slog.LevelInfo {
		b.WriteString(r.Level.String() + " ")
	}
	b.WriteString(r.Message)
	b.WriteString(h.fields)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(field(h.group, a))
		return true
	})
	b.WriteByte('\n')
	h.out.Lock()
	defer h.out.Unlock()
	_, err := io.WriteString(h.out.w, b.String())
	return err
}

func (h *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	for _, a := range attrs {
		next.fields += field(h.group, a)
	}
	return &next
}

func (h *lines) WithGroup(name string) slog.Handler {
	next := *h
	next.group += name + "."
	return &next
}

func field(group string, a slog.Attr) string {
	v := fmt.Sprint(a.Value.Resolve().Any())
	if v == "" || strings.ContainsAny(v, " \t\n\"=") {
		v = strconv.Quote(v)
	}
	return " " + group + a.Key + "=" + v
}
