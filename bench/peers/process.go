package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startMax = time.Minute      // BOUND: how long a peer may take until it answers.
	stopMax  = 20 * time.Second // BOUND: how long it may take to stop before it is killed.
)

// process is a process of a peer.
type process struct {
	cmd    *exec.Cmd
	log    string
	exited chan error
}

// startProcess starts a program with its output in a file of dir. as is the user to run it as, nil for the own.
func startProcess(dir, name string, as *syscall.Credential, program string, args ...string) (*process, error) {
	p := &process{log: filepath.Join(dir, name+".log"), exited: make(chan error, 1)}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // The process has its own descriptor.
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	if as != nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.exited <- p.cmd.Wait() }()
	return p, nil
}

// await calls ready until it succeeds. The error is that the process has ended, or the last of ready after startMax.
func (p *process) await(ctx context.Context, ready func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	for {
		failed := ready()
		if failed == nil {
			return nil
		}
		select {
		case err := <-p.exited:
			p.exited <- err
			return fmt.Errorf("it has ended: %w\n%s", err, p.logEnd())
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w\n%s", failed, p.logEnd())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// logEnd returns the end of the log, or nothing when it cannot be read.
func (p *process) logEnd() []byte {
	text, _ := os.ReadFile(p.log)
	return text[max(0, len(text)-2_000):]
}

// stop ends the process with a signal, and kills it after stopMax.
func (p *process) stop(with os.Signal) error {
	if err := p.cmd.Process.Signal(with); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.exited: //nolint:errcheck // A status says nothing here: what it has counted was compared before.
		return nil
	case <-time.After(stopMax):
		return errors.Join(fmt.Errorf("%s did not end within %v", p.cmd.Path, stopMax), p.cmd.Process.Kill())
	}
}

// freePorts returns ports of loopback on which nothing listens at the moment.
func freePorts(n int) (all []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // It stays open until all are found, so that they differ.
		all = append(all, l.Addr().(*net.TCPAddr).Port)
	}
	return all, nil
}

// versionOf returns the first line that a program prints with --version; empty when it does not.
func versionOf(program string) string {
	text, err := exec.Command(program, "--version").Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

// usage is the CPU time of a process, and of its children that have ended.
type usage struct {
	parent int
	used   time.Duration
}

// treeCPU returns the CPU time that processes and all below them have used, those that have ended included. PostgreSQL has a process for
// each connection.
func treeCPU(roots []int) (sum time.Duration, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	all := map[int]usage{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // It has ended. Its parent has its time then.
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return 0, err
		}
		if all[pid], err = parseStat(text); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
	}
	return sumTree(all, roots)
}

// parseStat reads the text of /proc/PID/stat. The name in parentheses may hold spaces, and is field 2.
func parseStat(text []byte) (u usage, err error) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const parent, utime, cstime = 4 - 3, 14 - 3, 17 - 3
	if len(fields) <= cstime {
		return u, fmt.Errorf("%d fields behind the name", len(fields))
	}
	if u.parent, err = strconv.Atoi(string(fields[parent])); err != nil {
		return u, err
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on.
	for _, f := range fields[utime : cstime+1] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return u, err
		}
		u.used += time.Duration(n) * tick
	}
	return u, nil
}

// sumTree sums over the processes that are below the roots. The error says that a root is not there.
func sumTree(all map[int]usage, roots []int) (sum time.Duration, err error) {
	below := map[int]bool{}
	for _, root := range roots {
		if _, found := all[root]; !found {
			return 0, fmt.Errorf("process %d has ended", root)
		}
		below[root] = true
	}
	for pid, u := range all {
		for at := pid; ; at = all[at].parent {
			if below[at] {
				sum += u.used
				break
			}
			if _, found := all[at]; !found {
				break
			}
		}
	}
	return sum, nil
}

// diskUsage returns the bytes of disk that the files of a directory occupy. A file that goes away meanwhile is left out.
func diskUsage(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err != nil {
			return ignoreGone(err)
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			const block = 512
			sum += stat.Blocks * block
		}
		return nil
	})
	return sum, err
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
