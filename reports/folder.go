package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/onefold/onefold/checker"
)

// Folder is all that is kept of one failure.
type Folder struct {
	Run     *Run
	Trace   func(io.Writer) error // lines of the trace; nil: none
	History *checker.History      // nil: none
}

// Names of the files of a failure folder.
const (
	PlanFile    = "plan"
	ShrunkFile  = "plan.shrunk"
	TraceFile   = "trace.txt"
	HistoryFile = "history.jsonl"
)

// WriteFolder writes a failure's folder below dir and returns its path. It appears whole or not at all; an older one of
// the same seed is replaced.
func WriteFolder(dir string, f Folder) (path string, err error) {
	path = filepath.Join(dir, fmt.Sprintf("%s-%d-%s", f.Run.Scenario, f.Run.Seed, f.Run.Verdict))
	if f.Run.Engine != "" && f.Run.Engine != "sound" {
		path += "-" + f.Run.Engine
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("failure folder: %w", err)
	}
	tmp, err := os.MkdirTemp(dir, ".tmp-")
	if err != nil {
		return "", fmt.Errorf("failure folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", fmt.Errorf("failure folder: %w", err)
	}
	if err := f.fill(tmp); err != nil {
		return "", fmt.Errorf("failure folder: %w", err)
	}
	if err := os.RemoveAll(path); err != nil {
		return "", fmt.Errorf("failure folder: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return "", fmt.Errorf("failure folder: %w", err)
	}
	return path, nil
}

// fill writes the files into an empty folder.
func (f Folder) fill(dir string) error {
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	files := []struct {
		name  string
		write func(io.Writer) error
	}{
		{"report.txt", f.Run.WriteText},
		{"report.json", f.Run.WriteJSON},
		{PlanFile, text(f.Run.Plan)},
	}
	add := func(name string, write func(io.Writer) error) {
		files = append(files, struct {
			name  string
			write func(io.Writer) error
		}{name, write})
	}
	if f.Run.ShrunkPlan != "" {
		add(ShrunkFile, text(f.Run.ShrunkPlan))
	}
	if f.Trace != nil {
		add(TraceFile, f.Trace)
	}
	if f.History != nil {
		add(HistoryFile, f.History.Write)
	}
	for _, x := range files {
		if err := writeFile(filepath.Join(dir, x.name), x.write); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// WriteCampaign writes campaign.json, campaign.txt, campaign.html and junit.xml into dir, each whole or not at all.
func WriteCampaign(dir string, c *Campaign) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("campaign: %w", err)
	}
	for _, x := range []struct {
		name  string
		write func(io.Writer) error
	}{{"campaign.json", c.WriteJSON}, {"campaign.txt", c.WriteText}, {"campaign.html", c.WriteHTML}, {"junit.xml", c.WriteJUnit}} {
		if err := replaceFile(dir, x.name, x.write); err != nil {
			return fmt.Errorf("campaign: %s: %w", x.name, err)
		}
	}
	return nil
}

// replaceFile writes a file beside its place and moves it there.
func replaceFile(dir, name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".tmp-*-"+name)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
