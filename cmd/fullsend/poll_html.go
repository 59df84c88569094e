package main

import (
	"errors"
	"os"

	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/report"
)

// writeHTML writes the status page; a file is for its owner alone, and replaced whole.
func writeHTML(e *env, v *statusView, to string) error {
	p := report.Page{Snapshot: v.Snapshot, Version: version}
	if v.Poller != nil {
		p.Holder = &report.Holder{PID: v.Poller.PID, Mode: v.Poller.Mode, Started: v.Poller.Started, Problem: v.Poller.Config}
		for _, d := range v.Poller.Drivers {
			p.Drivers = append(p.Drivers, report.Driver{Name: d.Name, Every: d.Every, Next: d.Next, Running: d.Running})
		}
	}
	if to == "-" {
		return exitWith(report.Write(e.out, &p))
	}
	// A device or a pipe is written to, never replaced by a file.
	if fi, err := os.Stat(to); err == nil && !fi.Mode().IsRegular() {
		out, err := os.OpenFile(to, os.O_WRONLY, 0)
		if err != nil {
			return exit{poll.ExitError, err}
		}
		return exitWith(errors.Join(report.Write(out, &p), out.Close()))
	}
	out, err := os.OpenFile(to+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return exit{poll.ExitError, err}
	}
	err = errors.Join(report.Write(out, &p), out.Close())
	if err == nil {
		err = os.Rename(to+".new", to)
	}
	if err != nil {
		os.Remove(to + ".new")
	}
	return exitWith(err)
}
